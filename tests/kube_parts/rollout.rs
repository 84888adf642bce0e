//! A stuck target's workload is rolled out anew, once, and its new pod is available before traffic returns.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use allclear::{
    engine::recovery::{left_behind, pools},
    model::{
        event::CheckOutcome,
        kubernetes::WorkloadKind,
        playbook::{Playbook, Restart, RolloutOf},
        recovery::{Certainty, StepState},
        undo::ChangeIntent,
    },
};

use crate::{
    part::{Cluster, by_hand, shared},
    parts_support::Staged,
    stage::{OF_STATEFUL_SET, PATIENCE, STUCK, restarts},
};

pub const RESTARTED_AT: &str = ".spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt";

/// A pool that is stuck after a while, and whose target is then rolled out anew.
fn rolls(kind: WorkloadKind, name: &str) -> Playbook {
    let mut playbook = restarts(OF_STATEFUL_SET, STUCK);
    playbook.pools[0].if_stuck = Some(Restart::Rollout(RolloutOf {
        namespace: None,
        kind,
        name: name.to_owned(),
    }));
    playbook
}

/// A target of its own Deployment, whose controller has said its last word about it.
async fn deployment(cluster: &Cluster, app: &str) -> Staged {
    cluster.deployment(app, 1).await;
    let field = |path: &str| format!("get deployment {app} -o jsonpath={{{path}}}");
    let reason = field(".status.conditions[?(@.type==\"Progressing\")].reason");
    cluster
        .until(&reason, |seen| seen == "NewReplicaSetAvailable")
        .await;
    cluster
        .until(&field(".status.availableReplicas"), |seen| seen == "1")
        .await;
    Staged::new(
        cluster.of("bob"),
        &[app],
        rolls(WorkloadKind::Deployment, "{target}"),
    )
}

/// The pool, stuck so far, is idle as soon as no pod of before is left.
async fn idle_once_replaced(cluster: &Cluster, staged: &Staged, app: &str, old: &str) {
    cluster.until_replaced(app, old).await;
    staged.ledger.busy.store(0, Relaxed);
}

async fn generation(cluster: &Cluster, what: &str) -> u32 {
    cluster.field(what, ".metadata.generation").await.parse().unwrap()
}

#[tokio::test]
async fn a_stuck_target_is_rolled_out_anew_once_and_its_new_pod_is_available() {
    let cluster = shared().await;
    let mut staged = deployment(&cluster, "rolled").await;
    let checks = staged.prepare().await;
    let shown: Vec<_> = checks.iter().map(|c| (c.outcome, c.found.en())).collect();
    assert_eq!(
        shown,
        [(
            CheckOutcome::Passed,
            "deployment shop/rolled, 1 of 1 available; may be rolled out anew (dry run)"
        )]
    );
    let (what, old) = ("deployment rolled", cluster.uids("rolled").await);
    assert_eq!(
        cluster.field(what, RESTARTED_AT).await,
        "",
        "preflight touches nothing"
    );
    let before = generation(&cluster, what).await;
    let scene = &staged.scene;
    staged.ledger.busy.store(50, Relaxed);
    let (end, ()) = tokio::join!(
        pools(scene),
        idle_once_replaced(&cluster, &staged, "rolled", &old)
    );
    assert_eq!(
        (end.state, &end.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        end.detail.en()
    );
    assert!(end.detail.en().ends_with("restarted once"), "{}", end.detail.en());
    assert_eq!(left_behind(scene).await, vec![]);
    assert_eq!(generation(&cluster, what).await, before + 1, "one change");
    let intents = staged.intents();
    let [
        ChangeIntent::Rollout {
            instance,
            workload,
            at,
        },
    ] = intents.as_slice()
    else {
        panic!("{intents:?}")
    };
    assert_eq!(
        (instance.as_str(), workload.to_string().as_str()),
        ("rolled", "deployment shop/rolled")
    );
    assert_eq!(cluster.field(what, RESTARTED_AT).await, *at);
}

#[tokio::test]
async fn a_stateful_set_is_rolled_out_too_and_it_is_said_that_its_old_pod_goes_first() {
    let cluster = shared().await;
    cluster.service("rolled-set", 1).await;
    let playbook = rolls(WorkloadKind::StatefulSet, "rolled-set");
    let mut staged = Staged::new(cluster.of("bob"), &["rolled-set-0"], playbook);
    let checks = staged.prepare().await;
    assert_eq!(checks[0].outcome, CheckOutcome::Warned, "{checks:?}");
    assert!(
        checks[0]
            .next
            .as_ref()
            .unwrap()
            .en()
            .contains("old pod goes before"),
        "{checks:?}"
    );
    let old = cluster.uids("rolled-set").await;
    staged.ledger.busy.store(50, Relaxed);
    let (end, ()) = tokio::join!(
        pools(&staged.scene),
        idle_once_replaced(&cluster, &staged, "rolled-set", &old)
    );
    assert_eq!(
        (end.state, &end.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        end.detail.en()
    );
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

#[tokio::test]
async fn a_rollout_that_would_hit_other_pods_or_none_is_refused_before_the_start() {
    let cluster = shared().await;
    cluster.deployment("three", 3).await;
    cluster.deployment("halted", 1).await;
    cluster.kubectl("rollout pause deployment/halted").await;
    cluster.service("kept", 1).await;
    let on_delete = r#"patch statefulset kept --type=merge -p {"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}"#;
    cluster.kubectl(on_delete).await;
    cluster.deployment("other-rights", 1).await;
    let (deployment, set) = (WorkloadKind::Deployment, WorkloadKind::StatefulSet);
    for (user, kind, target, why) in [
        ("bob", deployment, "three", "3 replicas are wanted"),
        ("bob", deployment, "halted", "it is paused"),
        ("bob", set, "kept", "OnDelete"),
        ("bob", deployment, "missing", "not there"),
        ("bob", set, "three", "not there"),
        (
            "alice",
            deployment,
            "other-rights",
            "User \"alice\" cannot get resource \"deployments\"",
        ),
    ] {
        let staged = Staged::new(cluster.of(user), &[target], rolls(kind, "{target}"));
        let refused = staged.refusals().await;
        assert_eq!(refused.len(), 1, "{target}: {refused:?}");
        assert!(refused[0].contains(why), "{target}: {refused:?}");
    }
}

#[tokio::test]
async fn what_was_scaled_up_since_the_snapshot_is_not_restarted() {
    let cluster = shared().await;
    let staged = deployment(&cluster, "scaled-up").await.ready().await;
    cluster.kubectl("scale deployment/scaled-up --replicas=2").await;
    cluster.ready("scaled-up", 2).await;
    let pods_before = cluster.uids("scaled-up").await;
    staged.ledger.busy.store(50, Relaxed);
    let end = pools(&staged.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    let why = end.leftovers[0].why.en();
    assert!(why.contains("2 replicas are wanted"), "{why}");
    assert_eq!(staged.intents(), vec![]);
    assert_eq!(cluster.uids("scaled-up").await, pods_before);
}

#[tokio::test]
async fn what_somebody_has_rolled_out_since_the_snapshot_is_not_rolled_out_again() {
    let cluster = shared().await;
    let staged = deployment(&cluster, "by-another").await.ready().await;
    cluster.kubectl("rollout restart deployment/by-another").await;
    cluster.kubectl("rollout status deployment/by-another").await;
    let before = generation(&cluster, "deployment by-another").await;
    staged.ledger.busy.store(50, Relaxed);
    let end = pools(&staged.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert_eq!(staged.intents(), vec![]);
    assert_eq!(generation(&cluster, "deployment by-another").await, before);
    // Somebody types what is listed.
    by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    assert_eq!(generation(&cluster, "deployment by-another").await, before + 1);
    staged.ledger.busy.store(0, Relaxed);
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

#[tokio::test]
async fn a_keeper_that_died_between_intent_and_rollout_is_followed_by_one_that_rolls_out() {
    let cluster = shared().await;
    let staged = deployment(&cluster, "died").await.ready().await;
    let (what, old) = ("deployment died", cluster.uids("died").await);
    let before = generation(&cluster, what).await;
    staged.ledger.busy.store(50, Relaxed);
    staged.dies_at(1);
    tokio::select! {
        end = pools(&staged.scene) => panic!("it was to die: {end:?}"),
        () = staged.died() => {}
    }
    assert_eq!(generation(&cluster, what).await, before);
    staged.lives();
    let (end, ()) = tokio::join!(
        pools(&staged.scene),
        idle_once_replaced(&cluster, &staged, "died", &old)
    );
    assert_eq!(
        (end.state, &end.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        end.detail.en()
    );
    assert_eq!(generation(&cluster, what).await, before + 1);
    assert_eq!(staged.intents().len(), 1, "one intent, one rollout");
}

#[tokio::test]
async fn two_recoveries_at_once_roll_out_once() {
    let cluster = shared().await;
    let one = deployment(&cluster, "both").await.ready().await;
    let other = one.from(cluster.of("bob"), PATIENCE);
    let (what, old) = ("deployment both", cluster.uids("both").await);
    let before = generation(&cluster, what).await;
    one.ledger.busy.store(50, Relaxed);
    other.ledger.busy.store(50, Relaxed);
    let (first, second, (), ()) = tokio::join!(
        pools(&one.scene),
        pools(&other.scene),
        idle_once_replaced(&cluster, &one, "both", &old),
        idle_once_replaced(&cluster, &other, "both", &old),
    );
    assert_eq!(
        (first.state, second.state),
        (StepState::Done, StepState::Done),
        "{first:?} {second:?}"
    );
    assert_eq!(generation(&cluster, what).await, before + 1);
}

#[tokio::test]
async fn a_new_pod_that_is_not_available_keeps_traffic_away_and_is_a_leftover() {
    let cluster = shared().await;
    let staged = deployment(&cluster, "unavailable").await.ready().await;
    // From now on a pod has to be Ready for an hour.
    let available_after = |seconds| {
        let spec = format!("{{\"minReadySeconds\":{seconds},\"progressDeadlineSeconds\":7200}}");
        format!("patch deployment unavailable --type=merge -p {{\"spec\":{spec}}}")
    };
    cluster.kubectl(&available_after(3600)).await;
    staged.ledger.busy.store(50, Relaxed);
    let idle = async {
        let at = format!("get deployment unavailable -o jsonpath={{{RESTARTED_AT}}}");
        cluster.until(&at, |at| !at.is_empty()).await;
        staged.ledger.busy.store(0, Relaxed);
    };
    let (end, ()) = tokio::join!(pools(&staged.scene), idle);
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(end.leftovers[0].why.en().contains("available"), "{end:?}");
    let left = left_behind(&staged.scene).await;
    assert_eq!(left[0].certainty, Certainty::Seen, "{left:?}");
    assert!(
        left[0].what.en().starts_with("deployment shop/unavailable ("),
        "{left:?}"
    );
    cluster.kubectl(&available_after(0)).await;
    by_hand(left[0].by_hand.as_deref().unwrap()).await;
    tokio::time::timeout(Duration::from_secs(30), async {
        while !left_behind(&staged.scene).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    })
    .await
    .unwrap();
}

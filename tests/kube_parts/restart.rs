//! A stuck target's pod is deleted once, this one and never its successor, and its successor is Ready before traffic returns.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use allclear::{
    engine::recovery::{left_behind, pools},
    model::{
        recovery::{Certainty, StepState},
        undo::ChangeIntent,
    },
};

use crate::{
    part::{Cluster, by_hand, shared},
    parts_support::Staged,
    stage::{OF_STATEFUL_SET, PATIENCE, STUCK, restarts},
};

/// The pool, stuck so far, is idle as soon as the pod has another UID.
async fn idle_once_replaced(cluster: &Cluster, staged: &Staged, pod: &str, old: &str) {
    let args = format!("get pod {pod} --ignore-not-found -o jsonpath={{.metadata.uid}}");
    cluster.until(&args, |uid| !uid.is_empty() && uid != old).await;
    staged.ledger.busy.store(0, Relaxed);
}

#[tokio::test]
async fn a_stuck_pod_is_deleted_once_and_its_successor_is_ready() {
    let cluster = shared().await;
    cluster.service("stuck", 2).await;
    let mut staged = Staged::new(cluster.of("bob"), &["stuck-0"], restarts(OF_STATEFUL_SET, STUCK));
    let checks = staged.prepare().await;
    let shown: Vec<&str> = checks.iter().map(|c| c.found.en()).collect();
    assert_eq!(
        shown,
        ["pod shop/stuck-0, Ready, kept by StatefulSet stuck; may be deleted (dry run)"]
    );
    let (old, other) = (cluster.uid("stuck-0").await, cluster.uid("stuck-1").await);
    let scene = &staged.scene;
    staged.ledger.busy.store(50, Relaxed);
    let (end, ()) = tokio::join!(
        pools(scene),
        idle_once_replaced(&cluster, &staged, "stuck-0", &old)
    );
    assert_eq!(
        (end.state, &end.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        end.detail.en()
    );
    assert!(end.detail.en().ends_with("restarted once"), "{}", end.detail.en());
    assert_eq!(cluster.uid("stuck-1").await, other);
    assert_eq!(left_behind(scene).await, vec![]);
    let intents = staged.intents();
    let [
        ChangeIntent::Restart {
            instance,
            pod: Some(pod),
        },
    ] = intents.as_slice()
    else {
        panic!("{intents:?}")
    };
    assert_eq!((instance.as_str(), &pod.uid), ("stuck-0", &old));
}

#[tokio::test]
async fn a_pod_of_a_deployment_is_found_again_under_another_name() {
    let cluster = shared().await;
    cluster.deployment("renamed", 1).await;
    let staged = Staged::new(cluster.of("bob"), &["renamed"], restarts("app={target}", STUCK));
    let staged = staged.ready().await;
    let old = staged.scene.snapshot.kubernetes.pods[0].pod.clone();
    staged.ledger.busy.store(50, Relaxed);
    let replaced = async {
        cluster.until_replaced("renamed", &old.uid).await;
        staged.ledger.busy.store(0, Relaxed);
    };
    let (end, ()) = tokio::join!(pools(&staged.scene), replaced);
    assert_eq!(
        (end.state, &end.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        end.detail.en()
    );
    assert_eq!(left_behind(&staged.scene).await, vec![]);
    let now = cluster.kubectl("get pod -l app=renamed -o name").await;
    assert_ne!(now.trim(), format!("pod/{}", old.name));
}

#[tokio::test]
async fn a_pod_that_was_replaced_since_the_snapshot_is_not_deleted() {
    let cluster = shared().await;
    cluster.service("replaced", 1).await;
    let staged = Staged::new(
        cluster.of("bob"),
        &["replaced-0"],
        restarts(OF_STATEFUL_SET, STUCK),
    );
    let staged = staged.ready().await;
    cluster.replace("replaced-0").await;
    cluster.ready("replaced", 1).await;
    let successor = cluster.uid("replaced-0").await;
    staged.ledger.busy.store(50, Relaxed);
    let end = pools(&staged.scene).await;
    // It is as stuck as the first: somebody has restarted it already, and a second time is no cure.
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert_eq!(end.leftovers[0].certainty, Certainty::Seen);
    assert_eq!(cluster.uid("replaced-0").await, successor);
    assert_eq!(staged.intents(), vec![]);
    by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    cluster.ready("replaced", 1).await;
    assert_ne!(cluster.uid("replaced-0").await, successor);
}

#[tokio::test]
async fn a_keeper_that_died_between_intent_and_deletion_is_followed_by_one_that_deletes() {
    let cluster = shared().await;
    cluster.service("between", 1).await;
    let staged = Staged::new(
        cluster.of("bob"),
        &["between-0"],
        restarts(OF_STATEFUL_SET, STUCK),
    );
    let staged = staged.ready().await;
    let old = cluster.uid("between-0").await;
    staged.ledger.busy.store(50, Relaxed);
    staged.dies_at(1);
    tokio::select! {
        end = pools(&staged.scene) => panic!("it was to die: {end:?}"),
        () = staged.died() => {}
    }
    assert_eq!(cluster.uid("between-0").await, old);
    staged.lives();
    let scene = &staged.scene;
    staged.ledger.busy.store(50, Relaxed);
    let (end, ()) = tokio::join!(
        pools(scene),
        idle_once_replaced(&cluster, &staged, "between-0", &old)
    );
    assert_eq!(
        (end.state, &end.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        end.detail.en()
    );
    assert_eq!(staged.intents().len(), 1, "one intent, one deletion");
}

#[tokio::test]
async fn two_recoveries_at_once_delete_one_pod() {
    let cluster = shared().await;
    cluster.service("twice", 1).await;
    let one = Staged::new(cluster.of("bob"), &["twice-0"], restarts(OF_STATEFUL_SET, STUCK));
    let one = one.ready().await;
    let other = one.from(cluster.of("bob"), PATIENCE);
    let old = cluster.uid("twice-0").await;
    one.ledger.busy.store(50, Relaxed);
    let uids = async {
        let (mut seen, mut quiet) = (vec![old.clone()], 0);
        // All pods that ever were, until both have had time to do it again.
        while quiet < 40 {
            let uid = cluster
                .kubectl("get pod twice-0 --ignore-not-found -o jsonpath={.metadata.uid}")
                .await;
            if !uid.is_empty() && !seen.contains(&uid) {
                seen.push(uid);
                one.ledger.busy.store(0, Relaxed);
                other.ledger.busy.store(0, Relaxed);
            }
            quiet += usize::from(seen.len() > 1);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        seen
    };
    other.ledger.busy.store(50, Relaxed);
    let (first, second, uids) = tokio::join!(pools(&one.scene), pools(&other.scene), uids);
    assert_eq!(
        (first.state, second.state),
        (StepState::Done, StepState::Done),
        "{first:?} {second:?}"
    );
    assert_eq!(uids.len(), 2, "the old pod and one successor");
}

#[tokio::test]
async fn a_successor_that_is_not_ready_is_a_leftover() {
    let cluster = shared().await;
    cluster.service("unready", 1).await;
    let staged = Staged::new(
        cluster.of("bob"),
        &["unready-0"],
        restarts(OF_STATEFUL_SET, STUCK),
    );
    let staged = staged.ready().await;
    let old = cluster.uid("unready-0").await;
    // The next pod goes to a node that nobody has.
    let patch = r#"patch statefulset unready --type=merge -p {"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null},"template":{"spec":{"nodeName":"nowhere"}}}}"#;
    cluster.kubectl(patch).await;
    let scene = &staged.scene;
    staged.ledger.busy.store(50, Relaxed);
    let (end, ()) = tokio::join!(
        pools(scene),
        idle_once_replaced(&cluster, &staged, "unready-0", &old)
    );
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(
        end.leftovers[0].why.en().contains("Pending, not Ready"),
        "{end:?}"
    );
    let left = left_behind(scene).await;
    assert!(
        left[0].what.en().contains("unready-0 (Pending, not Ready)"),
        "{left:?}"
    );
    let shown = by_hand(left[0].by_hand.as_deref().unwrap()).await;
    assert!(shown.contains("unready-0"), "{shown}");
}

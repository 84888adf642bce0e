//! Bad luck: never a false all clear, never a value that was not there before.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use allclear::{
    drivers::Patience,
    engine::recovery::{drain, left_behind, needs_repair, pools, traffic},
    model::{
        environment::Kubernetes,
        playbook::Playbook,
        recovery::{Certainty, StepState},
        time::Span,
    },
};
use tokio::time::timeout;

use crate::{
    part::{Cluster, at, by_hand, shared},
    parts_support::Staged,
    proxy::{CUTS, PASSES, Proxy, STALLS, page},
    stage::{OF_STATEFUL_SET, PATIENCE, restarts, served},
};

pub const SHORT: Patience = Patience {
    connect: Span::seconds(1),
    call: Span::seconds(1),
    step: Span::seconds(3),
    guard: Span::seconds(2),
    ..PATIENCE
};

impl Staged {
    /// The same with short patience.
    pub fn with_short_patience(&self) -> Staged {
        let cluster = self.scene.plan.environment.kubernetes.clone().unwrap();
        self.from(cluster, SHORT)
    }
}

/// A gateway of pods and a pool whose restart deletes them, once they are stuck for so long.
fn both(wait: Span) -> Playbook {
    Playbook {
        pools: restarts(OF_STATEFUL_SET, wait).pools,
        ..served(OF_STATEFUL_SET, Span::millis(200))
    }
}

/// Drained by an earlier keeper, and stuck: everything there is to put back.
async fn sick(cluster: &Cluster, app: &str) -> Staged {
    cluster.service(app, 3).await;
    let target = format!("{app}-0");
    let staged = Staged::new(cluster.of("bob"), &[&target], both(Span::seconds(1)))
        .ready()
        .await;
    assert_eq!(drain(&staged.scene, true).await.state, StepState::Done);
    staged
}

#[tokio::test]
async fn an_api_server_in_trouble_is_never_called_recovered() {
    let cluster = shared().await;
    let staged = sick(&cluster, "trouble").await;
    let uid = cluster.uid("trouble-0").await;
    let (slow, cut) = (Proxy::to(cluster.port).await, Proxy::to(cluster.port).await);
    slow.is(STALLS);
    cut.is(CUTS);
    let nobody = cluster.kubeconfig("nobody");
    let alice = std::fs::read_to_string(cluster.kubeconfig("alice")).unwrap();
    std::fs::write(&nobody, alice.replace("alice-token", "no-token")).unwrap();
    let missing = Kubernetes {
        kubeconfig: Some("/nowhere/kubeconfig".into()),
        ..cluster.of("bob")
    };
    let cases = [
        ("down", cluster.behind("bob", "https://127.0.0.1:1")),
        ("slow", cluster.behind("bob", &slow.url())),
        ("cut", cluster.behind("bob", &cut.url())),
        ("a page", cluster.behind("bob", &page().await)),
        ("401", at(&nobody)),
        ("no kubeconfig", missing),
    ];
    for (case, place) in cases {
        let other = staged.from(place, SHORT);
        other.ledger.busy.store(50, Relaxed);
        let scene = &other.scene;
        let steps = async { (drain(scene, true).await, pools(scene).await, traffic(scene).await) };
        let reads = async { tokio::join!(left_behind(scene), needs_repair(scene)) };
        let all = async { (steps.await, reads.await) };
        let ((out, pool, back), (left, repair)) = timeout(Duration::from_secs(120), all).await.expect(case);
        for end in [&out, &pool, &back] {
            assert_eq!(end.state, StepState::Failed, "{case}: {end:?}");
            assert!(!end.leftovers.is_empty(), "{case}");
        }
        assert!(
            left.iter().all(|l| l.certainty == Certainty::Unknown),
            "{case}: {left:?}"
        );
        let hand = |l: &allclear::model::recovery::Leftover| {
            l.by_hand.as_deref().is_some_and(|h| h.contains("serving=true"))
        };
        assert!(left.iter().any(hand), "{case}: {left:?}");
        assert!(repair.is_needed(), "{case}");
        assert!(
            other.intents().is_empty(),
            "{case}: nothing is changed that cannot be read"
        );
    }
    assert_eq!(cluster.uid("trouble-0").await, uid);
    assert_eq!(
        cluster.field("pod trouble-0", ".metadata.labels.serving").await,
        "false"
    );
    // The luck is over: the next recovery finishes it.
    assert_eq!(traffic(&staged.scene).await.leftovers, vec![]);
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

#[tokio::test]
async fn a_user_who_may_only_read_sees_what_is_left_and_changes_nothing() {
    let cluster = shared().await;
    let staged = sick(&cluster, "readonly").await;
    let alice = staged.from(cluster.of("alice"), SHORT);
    alice.ledger.busy.store(50, Relaxed);
    let (pool, back) = (pools(&alice.scene).await, traffic(&alice.scene).await);
    assert_eq!(
        (pool.state, back.state),
        (StepState::Failed, StepState::Failed),
        "{pool:?} {back:?}"
    );
    let why = pool.leftovers[0].why.en();
    assert!(
        why.contains("User \"alice\" cannot delete resource \"pods\""),
        "{why}"
    );
    let left = left_behind(&alice.scene).await;
    assert_eq!(left[0].certainty, Certainty::Seen, "{left:?}");
    drop(alice.intents());
    // Somebody with the rights types what is listed.
    let line = left[0].by_hand.as_deref().unwrap();
    let by_admin = line.replace(
        &cluster.kubeconfig("alice").display().to_string(),
        &cluster.kubeconfig("admin").display().to_string(),
    );
    by_hand(&by_admin).await;
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn an_api_server_that_restarts_in_mid_step_is_waited_for() {
    let cluster = Cluster::start().await;
    cluster.service("restarting", 3).await;
    let patient = Patience {
        step: Span::seconds(90),
        ..PATIENCE
    };
    // Controllers take their time to find a server again that was gone.
    let wait = Duration::from_secs(30);
    let playbook = both(wait.into());
    let staged = Staged::new(cluster.of("bob"), &["restarting-0"], playbook);
    let staged = staged.ready().await.from(cluster.of("bob"), patient);
    cluster.part("kill").await;
    let (out, ()) = tokio::join!(drain(&staged.scene, true), cluster.part("up"));
    assert_eq!(out.state, StepState::Done, "{out:?}");
    let old = cluster.uid("restarting-0").await;
    staged.ledger.busy.store(50, Relaxed);
    let restart = async {
        tokio::time::sleep(wait - Duration::from_millis(500)).await;
        cluster.part("kill").await;
        cluster.part("up").await;
        cluster
            .until(
                "get pod restarting-0 --ignore-not-found -o jsonpath={.metadata.uid}",
                |uid| !uid.is_empty() && uid != old,
            )
            .await;
        staged.ledger.busy.store(0, Relaxed);
    };
    let (pool, ()) = tokio::join!(pools(&staged.scene), restart);
    assert_eq!(
        (pool.state, &pool.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        pool.detail.en()
    );
    cluster.part("kill").await;
    let (back, ()) = tokio::join!(traffic(&staged.scene), cluster.part("up"));
    assert_eq!(back.leftovers, vec![], "{}", back.detail.en());
    assert_eq!(left_behind(&staged.scene).await, vec![]);
    assert_eq!(
        cluster
            .field("pod restarting-0", ".metadata.labels.serving")
            .await,
        "true"
    );
}

#[tokio::test]
async fn a_server_that_stalls_and_comes_back_within_the_step_is_waited_for() {
    let cluster = shared().await;
    let staged = sick(&cluster, "stalling").await;
    let proxy = Proxy::to(cluster.port).await;
    let patient = Patience {
        call: Span::seconds(1),
        step: Span::seconds(30),
        ..PATIENCE
    };
    let behind = staged.from(cluster.behind("bob", &proxy.url()), patient);
    proxy.is(STALLS);
    let comes_back = async {
        tokio::time::sleep(Duration::from_secs(4)).await;
        proxy.is(PASSES);
    };
    let (back, ()) = tokio::join!(traffic(&behind.scene), comes_back);
    assert_eq!(
        (back.state, &back.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        back.detail.en()
    );
    assert_eq!(left_behind(&behind.scene).await, vec![]);
}

#[tokio::test]
async fn a_recovery_that_is_killed_at_any_change_is_finished_by_the_next() {
    let cluster = shared().await;
    // Out, restarted, back: the successor has its template's label, so that the way back has nothing left to set.
    for nth in 1..=2 {
        let app = format!("die-{nth}");
        cluster.service(&app, 3).await;
        let (target, pod) = (format!("{app}-0"), format!("{app}-0"));
        let staged = Staged::new(cluster.of("bob"), &[&target], both(Span::seconds(8)))
            .ready()
            .await;
        let old = cluster.uid(&pod).await;
        staged.ledger.busy.store(50, Relaxed);
        staged.dies_at(nth);
        let scene = &staged.scene;
        let recovery = async {
            drain(scene, true).await;
            pools(scene).await;
            traffic(scene).await
        };
        tokio::select! {
            end = recovery => panic!("it was to die at change {nth}: {end:?}"),
            () = staged.died() => {}
        }
        assert_eq!(cluster.uid(&pod).await, old, "written down and not made");
        staged.lives();
        let args = format!("get pod {pod} --ignore-not-found -o jsonpath={{.metadata.uid}}");
        let replaced = async {
            cluster.until(&args, |uid| !uid.is_empty() && uid != old).await;
            staged.ledger.busy.store(0, Relaxed);
        };
        let next = async {
            drain(scene, true).await;
            (pools(scene).await, traffic(scene).await)
        };
        let ((pool, back), ()) = tokio::join!(next, replaced);
        assert_eq!(
            (pool.leftovers, back.leftovers),
            (vec![], vec![]),
            "after change {nth}"
        );
        assert_eq!(left_behind(scene).await, vec![], "after change {nth}");
        let label = cluster
            .field(&format!("pod {pod}"), ".metadata.labels.serving")
            .await;
        assert_eq!(label, "true");
        let restarts = staged.intents().into_iter();
        let restarts = restarts.filter(|i| matches!(i, allclear::model::undo::ChangeIntent::Restart { .. }));
        assert_eq!(restarts.count(), 1, "after change {nth}");
    }
}

//! Targets out of their Service by a label, and back once they are Ready.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use allclear::{
    engine::recovery::{drain, left_behind, needs_repair, traffic},
    model::{event::CheckOutcome, recovery::StepState, time::Span, undo::ChangeIntent},
};

use crate::{
    part::{by_hand, shared},
    parts_support::Staged,
    stage::{OF_STATEFUL_SET, PATIENCE, served},
};

const HOLD: Span = Span::seconds(1);

#[tokio::test]
async fn a_target_goes_out_of_its_service_and_comes_back_with_the_value_that_it_had() {
    let cluster = shared().await;
    cluster.service("web", 3).await;
    let mut staged = Staged::new(cluster.of("bob"), &["web-0"], served(OF_STATEFUL_SET, HOLD));
    let checks = staged.prepare().await;
    let shown: Vec<&str> = checks.iter().map(|c| c.found.en()).collect();
    assert_eq!(
        shown,
        [
            "pod shop/web-0: true, in Service web, Ready; may be set to false (dry run)",
            "2 of 3 Ready pods stay in Service web"
        ]
    );
    let scene = &staged.scene;
    assert_eq!(drain(scene, false).await.state, StepState::Nothing);
    assert_eq!(traffic(scene).await.state, StepState::Nothing);
    assert_eq!(left_behind(scene).await, vec![]);
    let uid = cluster.uid("web-0").await;

    let out = drain(scene, true).await;
    assert_eq!(out.state, StepState::Done, "{out:?}");
    assert_eq!(
        out.detail.en(),
        "pod shop/web-0 serving=true → serving=false; 2 of 3 Ready pods stay in Service web"
    );
    let gone = ["web-1", "web-2"].map(str::to_owned);
    while cluster.endpoints("web").await != gone.clone().into() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(
        drain(scene, true).await.detail.en(),
        "the targets are in no Service already"
    );
    let left = left_behind(scene).await;
    assert_eq!(left[0].what.en(), "pod shop/web-0: serving=false");
    assert_eq!(left[0].why.en(), "before the drill: serving=true");
    assert!(needs_repair(scene).await.is_needed());

    let back = traffic(scene).await;
    assert_eq!(
        (back.state, &back.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        back.detail.en()
    );
    assert!(
        back.detail.en().starts_with("web-0 serving=true in "),
        "{}",
        back.detail.en()
    );
    assert_eq!(left_behind(scene).await, vec![]);
    assert_eq!(cluster.uid("web-0").await, uid);
    while cluster.endpoints("web").await.len() != 3 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let to: Vec<_> = staged.intents();
    let to: Vec<_> = to
        .iter()
        .map(|i| match i {
            ChangeIntent::Label { before, to, .. } => (before.as_deref(), to.as_deref()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(to, [(Some("true"), Some("false")), (Some("true"), Some("true"))]);
}

#[tokio::test]
async fn the_command_by_hand_puts_the_label_back_or_takes_it_away() {
    let cluster = shared().await;
    cluster.service("typed", 3).await;
    cluster.kubectl("label pod typed-1 serving-").await;
    let staged = Staged::new(
        cluster.of("bob"),
        &["typed-0", "typed-1"],
        served(OF_STATEFUL_SET, HOLD),
    );
    let staged = staged.ready().await;
    assert_eq!(staged.scene.snapshot.kubernetes.serving[1].label, None);
    cluster
        .kubectl("label pod typed-0 typed-1 --overwrite serving=odd")
        .await;
    let left = left_behind(&staged.scene).await;
    assert_eq!(left.len(), 2, "{left:?}");
    for one in &left {
        by_hand(one.by_hand.as_deref().unwrap()).await;
    }
    let labels = cluster
        .kubectl("get pod typed-0 typed-1 -o jsonpath={.items[*].metadata.labels.serving}")
        .await;
    assert_eq!(labels, "true");
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

#[tokio::test]
async fn a_pod_that_is_out_comes_back_by_hand_once_the_guards_hold() {
    let cluster = shared().await;
    cluster.service("outside", 2).await;
    let staged = Staged::new(cluster.of("bob"), &["outside-0"], served(OF_STATEFUL_SET, HOLD))
        .ready()
        .await;
    assert_eq!(drain(&staged.scene, true).await.state, StepState::Done);
    let left = left_behind(&staged.scene).await;
    let typed = left[0].by_hand.as_deref().unwrap();
    assert!(
        typed.starts_with("# only once the guards hold / 守护成立后再执行\nkubectl "),
        "{typed}"
    );
    by_hand(typed).await;
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

#[tokio::test]
async fn a_drain_that_would_leave_too_few_is_not_made_and_says_the_numbers() {
    let cluster = shared().await;
    cluster.service("few", 3).await;
    let two = Staged::new(
        cluster.of("bob"),
        &["few-0", "few-1"],
        served(OF_STATEFUL_SET, HOLD),
    );
    let mut two = two;
    let checks = two.prepare().await;
    let load = checks.last().unwrap();
    assert_eq!(load.outcome, CheckOutcome::Warned, "{checks:?}");
    let end = drain(&two.scene, true).await;
    assert_eq!(end.state, StepState::Nothing);
    assert!(
        end.detail
            .en()
            .contains("Service few: 2 of 3 Ready pods would go, and each of the other 1 would get more"),
        "{}",
        end.detail.en()
    );
    cluster.service("alone", 1).await;
    let one = Staged::new(cluster.of("bob"), &["alone-0"], served(OF_STATEFUL_SET, HOLD))
        .ready()
        .await;
    let end = drain(&one.scene, true).await;
    assert_eq!(
        end.detail.en(),
        "not drained: Service alone: 1 of 1 Ready pods would go: no other carries its load"
    );
    assert_eq!((one.scene, two.intents()).1, vec![]);
    assert_eq!(
        cluster.field("pod alone-0", ".metadata.labels.serving").await,
        "true"
    );
}

#[tokio::test]
async fn a_pod_that_was_restarted_meanwhile_is_as_before_by_its_value() {
    let cluster = shared().await;
    cluster.service("fresh", 2).await;
    let staged = Staged::new(cluster.of("bob"), &["fresh-0"], served(OF_STATEFUL_SET, HOLD))
        .ready()
        .await;
    assert_eq!(drain(&staged.scene, true).await.state, StepState::Done);
    staged.intents();
    cluster.replace("fresh-0").await;
    cluster.ready("fresh", 2).await;
    let back = traffic(&staged.scene).await;
    assert_eq!(
        (back.state, back.detail.en()),
        (StepState::Nothing, "labels are as before")
    );
    assert_eq!(left_behind(&staged.scene).await, vec![]);
    assert_eq!(staged.intents(), vec![]);
}

#[tokio::test]
async fn a_value_that_somebody_else_has_set_is_left_to_them_and_named() {
    let cluster = shared().await;
    cluster.service("theirs", 2).await;
    let staged = Staged::new(cluster.of("bob"), &["theirs-0"], served(OF_STATEFUL_SET, HOLD))
        .ready()
        .await;
    assert_eq!(drain(&staged.scene, true).await.state, StepState::Done);
    staged.intents();
    cluster
        .kubectl("label pod theirs-0 --overwrite serving=canary")
        .await;
    let end = traffic(&staged.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert_eq!(staged.intents(), vec![]);
    assert_eq!(
        cluster.field("pod theirs-0", ".metadata.labels.serving").await,
        "canary"
    );
    let left = left_behind(&staged.scene).await;
    assert_eq!(
        left[0].why.en(),
        "somebody else has changed it to serving=canary (serving=true before the drill): not touched"
    );
}

#[tokio::test]
async fn a_pod_that_is_not_ready_is_kept_out_and_listed() {
    let cluster = shared().await;
    cluster.service("sick", 2).await;
    let staged = Staged::new(cluster.of("bob"), &["sick-0"], served(OF_STATEFUL_SET, HOLD))
        .ready()
        .await;
    assert_eq!(drain(&staged.scene, true).await.state, StepState::Done);
    cluster.is_not_ready("sick-0").await;
    let end = traffic(&staged.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert_eq!(end.leftovers[0].why.en(), "pod shop/sick-0 is Running, not Ready");
    assert_eq!(
        cluster.field("pod sick-0", ".metadata.labels.serving").await,
        "false"
    );
    by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    let left = left_behind(&staged.scene).await;
    assert_eq!(
        left[0].what.en(),
        "pod shop/sick-0 (Running, not Ready)",
        "{left:?}"
    );
}

#[tokio::test]
async fn a_guard_that_breaks_with_the_traffic_takes_it_out_again() {
    let cluster = shared().await;
    cluster.service("guard", 2).await;
    let patience = allclear::drivers::Patience {
        guard: Span::seconds(1),
        ..PATIENCE
    };
    let staged = Staged::new(
        cluster.of("bob"),
        &["guard-0"],
        served(OF_STATEFUL_SET, Span::seconds(5)),
    );
    let staged = staged.ready().await.from(cluster.of("bob"), patience);
    assert_eq!(drain(&staged.scene, true).await.state, StepState::Done);
    let breaks = async {
        cluster
            .until("get pod guard-0 -o jsonpath={.metadata.labels.serving}", |v| {
                v == "true"
            })
            .await;
        staged.ledger.guard_is_bad.store(true, Relaxed);
    };
    let (end, ()) = tokio::join!(traffic(&staged.scene), breaks);
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert_eq!(
        end.leftovers[0].why.en(),
        "the guard is bad with it: order_success users 98%"
    );
    assert_eq!(
        cluster.field("pod guard-0", ".metadata.labels.serving").await,
        "false"
    );
    staged.ledger.guard_is_bad.store(false, Relaxed);
    assert_eq!(traffic(&staged.scene).await.leftovers, vec![]);
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

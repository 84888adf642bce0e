//! A recovery that dies, and the next one.

use allclear::{
    engine::recovery::{hold_retry, left_behind, needs_repair, release_retry},
    model::{recovery::StepState, time::Span},
};

use crate::{
    part::{BROKERS, shared},
    stage::{caught_up, storm},
};

#[tokio::test]
async fn a_recovery_that_is_killed_before_it_switches_a_broker_is_finished_by_the_next() {
    is_finished_by_the_next("killed", &[1, 3, 5]).await;
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn a_recovery_that_is_killed_between_two_brokers_is_finished_by_the_next() {
    is_finished_by_the_next("half", &[2, 4, 6]).await;
}

async fn is_finished_by_the_next(group: &str, changes: &[u32]) {
    let part = shared().await;
    let (staged, _consumer) = caught_up(&part, group, 200.0, Span::seconds(180)).await;
    let mut before = Vec::new();
    for broker in BROKERS {
        before.push(part.config(broker, group).await);
    }
    // Killed with the nth change written down and not made: both brokers off, both on, both off.
    for nth in changes.iter().copied() {
        storm(&part, &staged, 6000).await;
        staged.dies_at(nth);
        let scene = &staged.scene;
        let recovery = async {
            hold_retry(scene).await;
            release_retry(scene).await
        };
        tokio::select! {
            end = recovery => panic!("it was to die at change {nth}: {end:?}; {:?}", staged.said()),
            () = staged.died() => {}
        }
        staged.lives();
        let off = async |broker| {
            part.config(broker, group)
                .await
                .contains("\"consumeEnable\":false")
        };
        if off("broker-a").await || off("broker-b").await {
            assert!(needs_repair(scene).await.is_needed(), "after change {nth}");
            let left = left_behind(scene).await;
            assert!(
                left.iter().any(|l| l.by_hand.is_some()),
                "after change {nth}: {left:?}"
            );
        }
        hold_retry(scene).await;
        let end = release_retry(scene).await;
        assert!(
            matches!(end.state, StepState::Done | StepState::Nothing),
            "{nth}: {end:?}"
        );
        assert_eq!(left_behind(scene).await, vec![], "after change {nth}");
        for (broker, before) in BROKERS.iter().zip(&before) {
            assert_eq!(&part.config(broker, group).await, before, "after change {nth}");
        }
    }
}

//! Pools that were given up, at the last read.

use std::sync::atomic::AtomicU64;

use super::{
    pools::{by_instance, playbook, readings, restartable},
    *,
};
use crate::model::{amount::Level, sample::Gap};

/// The last read of a pool that was given up, if it reads this then.
async fn last_read_of_one_given_up(value: Result<f64, Gap>, partial: bool) -> Vec<Leftover> {
    let given_up = Arc::new(AtomicBool::new(false));
    let now = given_up.clone();
    let change = move |ledger: &mut Ledger| {
        let looks = AtomicU64::new(0);
        ledger.reading = Box::new(move |_| {
            let (value, partial) = match now.load(Relaxed) {
                true => (value.clone(), partial),
                false => (Ok(50.0), false),
            };
            Some(Reading {
                value: value.map(Level),
                age: Span::ZERO,
                sampled: looks.fetch_add(1, Relaxed) as i64,
                partial,
            })
        });
    };
    let mut book = playbook(Span::millis(100));
    book.pools[0].if_stuck = None;
    let place = environment(&[("order", "order-0", "127.0.0.1:9")]);
    let stage = stage_with(place, book, change, Secrets::none(), SHORT);
    assert_eq!(super::super::pools(&stage.scene).await.state, StepState::Failed);
    given_up.store(true, Relaxed);
    left_behind(&stage.scene).await
}

#[tokio::test]
async fn an_incomplete_sample_or_none_does_not_show_that_a_given_up_pool_is_idle() {
    let gap = Gap::Source("no answer".into());
    for (value, partial) in [(Ok(1.0), true), (Err(gap), false)] {
        let left = last_read_of_one_given_up(value, partial).await;
        assert_eq!(
            (left.len(), left[0].certainty),
            (1, Certainty::Unknown),
            "{left:?}"
        );
    }
    let idle = last_read_of_one_given_up(Ok(1.0), false).await;
    assert!(idle.is_empty(), "{idle:?}");
}

#[tokio::test]
async fn a_pool_that_was_given_up_and_then_seen_idle_by_the_step_is_not_judged_again() {
    let busy = Arc::new(AtomicU64::new(50));
    let now = busy.clone();
    let mut book = playbook(Span::millis(100));
    book.pools[0].if_stuck = None;
    let stage = stage_with(
        environment(&[("order", "order-0", "127.0.0.1:9")]),
        book,
        by_instance(move |_| now.load(Relaxed) as f64),
        Secrets::none(),
        SHORT,
    );
    assert_eq!(super::super::pools(&stage.scene).await.state, StepState::Failed);
    busy.store(1, Relaxed);
    assert_ne!(super::super::pools(&stage.scene).await.state, StepState::Failed);
    busy.store(50, Relaxed);
    assert!(left_behind(&stage.scene).await.is_empty(), "that is traffic");
}

#[tokio::test]
async fn a_pool_that_was_given_up_is_left_until_it_is_seen_idle() {
    let (stand, restarts) = restartable().await;
    let busy = Arc::new(AtomicU64::new(50));
    let now = busy.clone();
    let stage = stage_with(
        environment(&[("order", "order-0", &stand.address)]),
        playbook(Span::millis(200)),
        readings(restarts, move |_, _| now.load(Relaxed) as f64),
        Secrets::none(),
        SHORT,
    );
    assert!(
        left_behind(&stage.scene).await.is_empty(),
        "busy with traffic, and nobody gave it up"
    );
    assert_eq!(super::super::pools(&stage.scene).await.state, StepState::Failed);
    let left = left_behind(&stage.scene).await;
    assert_eq!(
        (left.len(), left[0].step, left[0].certainty),
        (1, StepId::Pools, Certainty::Seen)
    );
    assert!(
        left[0].what.en().contains("50 busy, idle is at most 5") && left[0].by_hand.is_some(),
        "{left:?}"
    );
    busy.store(2, Relaxed);
    assert!(left_behind(&stage.scene).await.is_empty());
    busy.store(20, Relaxed);
    assert!(
        left_behind(&stage.scene).await.is_empty(),
        "it was idle once: that is traffic"
    );
}

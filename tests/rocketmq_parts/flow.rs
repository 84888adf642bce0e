//! A storm of retries, held and let go.

use std::{ops::RangeInclusive, sync::atomic::Ordering::Relaxed, time::Duration};

use allclear::{
    engine::recovery::{hold_retry, left_behind, needs_repair, release_retry},
    model::{recovery::StepState, text::Lang, time::Span, undo::ChangeIntent},
};
use tokio::time::Instant;

use crate::{
    part::{BROKERS, Part, call, shared, until},
    parts_support::Staged,
    stage::{caught_up, storm},
};

async fn configs(part: &Part, group: &str) -> [String; 2] {
    [
        part.config("broker-a", group).await,
        part.config("broker-b", group).await,
    ]
}

#[tokio::test]
async fn a_storm_is_held_let_go_no_faster_than_asked_and_all_is_as_it_was() {
    is_held_and_let_go("storm", 0.0..=1.25).await;
}

/// Consumers on a busy machine do not get as far as they are allowed to.
#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn a_storm_is_let_go_at_its_rate() {
    is_held_and_let_go("paced", 0.75..=1.25).await;
}

/// `at` are the measured rates that are right, as parts of the one that is asked for.
async fn is_held_and_let_go(group: &str, at: RangeInclusive<f64>) {
    let part = shared().await;
    let (rate, messages) = (150.0, 9000);
    let (staged, _consumer) = caught_up(&part, group, rate, Span::seconds(180)).await;
    let before = configs(&part, group).await;
    assert!(!needs_repair(&staged.scene).await.is_needed());
    storm(&part, &staged, messages).await;
    let held = hold_retry(&staged.scene).await;
    assert_eq!(
        (held.state, held.leftovers),
        (StepState::Held, vec![]),
        "{}",
        held.detail.en()
    );
    let still = staged.backlog(&part).await;
    assert!(still > 2000, "{still} wait: too few to measure a rate");
    let off = configs(&part, group).await;
    assert_eq!(
        off,
        before
            .clone()
            .map(|c| c.replace("\"consumeEnable\":true", "\"consumeEnable\":false"))
    );
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(
        staged.backlog(&part).await,
        still,
        "nothing is worked off while it is held"
    );
    assert!(
        !left_behind(&staged.scene).await.is_empty(),
        "held is not as before"
    );

    let begin = Instant::now();
    let end = release_retry(&staged.scene).await;
    let seconds = begin.elapsed().as_secs_f64();
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    let measured = still as f64 / seconds;
    assert!(
        at.contains(&(measured / rate)),
        "{measured}/s; {}",
        end.detail.en()
    );
    for (lang, word) in [(Lang::En, "approximate"), (Lang::Zh, "近似")] {
        let said = end.detail.get(lang);
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(configs(&part, group).await, before, "byte for byte");
    assert_eq!(left_behind(&staged.scene).await, vec![]);
    let changes = staged.intents();
    let known = |c: &ChangeIntent| matches!(c, ChangeIntent::Group { before: true, .. });
    assert!(changes.len() >= 8 && changes.iter().all(known), "{changes:?}");
    let again = release_retry(&staged.scene).await;
    assert_eq!(again.state, StepState::Nothing, "{again:?}");
    assert_eq!(staged.intents(), vec![]);
}

#[tokio::test]
async fn a_bad_guard_holds_it_again() {
    let part = shared().await;
    let (staged, _consumer) = caught_up(&part, "guarded", 200.0, Span::seconds(180)).await;
    let before = configs(&part, "guarded").await;
    storm(&part, &staged, 8000).await;
    assert_eq!(hold_retry(&staged.scene).await.state, StepState::Held);
    let bad = async {
        until("it flows", async || {
            staged.said().iter().any(|s| s.contains("/s measured of"))
        })
        .await;
        staged.ledger.guard_is_bad.store(true, Relaxed);
        until("held again", async || {
            staged.said().iter().any(|s| s.contains("held again"))
        })
        .await;
        let off = async || {
            configs(&part, "guarded")
                .await
                .iter()
                .all(|c| c.contains("\"consumeEnable\":false"))
        };
        until("off on both", off).await;
        staged.ledger.guard_is_bad.store(false, Relaxed);
    };
    let (end, ()) = tokio::join!(release_retry(&staged.scene), bad);
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    assert_eq!(configs(&part, "guarded").await, before);
}

#[tokio::test]
async fn a_guard_that_is_bad_until_the_time_is_over_leaves_the_group_off() {
    let part = shared().await;
    part.create(&BROKERS, "topic-doomed", "doomed").await;
    let staged = Staged::new(
        part.open(),
        crate::stage::queue("doomed", 100.0, Span::seconds(5)),
    )
    .ready()
    .await;
    part.produce(&staged.queue().topic, 400).await;
    staged.until_backlog(&part, |n| n >= 400).await;
    assert_eq!(hold_retry(&staged.scene).await.state, StepState::Held);
    // No consumer is there: nothing moves, and that must not be taken for slow.
    staged.ledger.guard_is_bad.store(true, Relaxed);
    let end = release_retry(&staged.scene).await;
    assert_eq!(end.state, StepState::Failed, "{end:?}");
    assert!(end.detail.en().contains("it stays switched off"), "{end:?}");
    let by_hand = end.leftovers.iter().filter(|l| l.by_hand.is_some());
    assert_eq!(by_hand.count(), 2, "{end:?}");
    for config in configs(&part, "doomed").await {
        assert!(config.contains("\"consumeEnable\":false"), "{config}");
    }
}

#[tokio::test]
async fn what_somebody_else_changes_meanwhile_stays_and_is_said() {
    let part = shared().await;
    part.create(&BROKERS, "topic-tuned", "tuned").await;
    let staged = Staged::new(
        part.open(),
        crate::stage::queue("tuned", 100.0, Span::seconds(12)),
    )
    .ready()
    .await;
    part.produce(&staged.queue().topic, 100).await;
    staged.until_backlog(&part, |n| n >= 100).await;
    assert_eq!(hold_retry(&staged.scene).await.state, StepState::Held);
    let tuned = part
        .config("broker-b", "tuned")
        .await
        .replace("\"retryMaxTimes\":5", "\"retryMaxTimes\":9");
    call(&part.broker("broker-b"), 200, "{}", &tuned).await;
    let end = release_retry(&staged.scene).await;
    assert!(
        end.detail
            .en()
            .contains("its config on broker-b was changed by somebody meanwhile"),
        "{}",
        end.detail.en()
    );
    let now = part.config("broker-b", "tuned").await;
    assert_eq!(
        now,
        tuned.replace("\"consumeEnable\":false", "\"consumeEnable\":true")
    );
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn two_recoveries_at_once_end_as_before() {
    let part = shared().await;
    let (one, _consumer) = caught_up(&part, "twice", 200.0, Span::seconds(180)).await;
    let before = configs(&part, "twice").await;
    let mut two = Staged::new(part.open(), one.queue().clone());
    two.scene.snapshot = one.scene.snapshot.clone();
    storm(&part, &one, 6000).await;
    let recover = async |staged: &Staged| {
        hold_retry(&staged.scene).await;
        release_retry(&staged.scene).await
    };
    let _ = tokio::join!(recover(&one), recover(&two));
    for staged in [&one, &two] {
        let left = left_behind(&staged.scene).await;
        assert_eq!(left, vec![]);
    }
    assert_eq!(configs(&part, "twice").await, before);
}

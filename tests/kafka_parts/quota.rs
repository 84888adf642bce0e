//! Held by quota, let go at the measured rate, and exactly as before in the end.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use allclear::{
    engine::recovery::{hold_retry, left_behind, needs_repair, release_retry},
    model::{quota::Payer, recovery::StepState, time::Span, undo::ChangeIntent},
};

use crate::{
    part::{Broker, queue, shared, until_quota},
    parts_support::{Process, Staged},
    stage::{Minutes, minutes},
};

/// Settings of a consumer that fetches little at a time.
pub const EVEN: &[&str] = &["max.partition.fetch.bytes=20000", "fetch.max.bytes=40000"];

/// A topic with a consumer that has read all of it, and a scene after preflight.
pub async fn caught_up(broker: &Broker, name: &str, rate: f64, within: Span) -> (Staged, Process) {
    broker.topic(name, 3).await;
    broker.produce(name, 100, 200).await;
    let consumer = broker.consume(name, name, name, EVEN);
    let staged = Staged::new(broker.plaintext(), queue(name, rate, within));
    staged.until_backlog(|backlog| backlog == 0).await;
    (staged.ready().await, consumer)
}

/// The backlog of a storm. Its consumers stand still while it gathers, and until the hold: what keeps them from working it off is a
/// quota that nobody remembers, and recovery takes it away as well.
pub async fn storm(broker: &Broker, staged: &Staged, name: &str, messages: u32, bytes: f64) {
    staged
        .cluster()
        .set_quota(&payer(name), Some(bytes))
        .await
        .unwrap();
    until_quota(&staged.cluster(), &payer(name), Some(bytes)).await;
    broker.produce(name, messages, 200).await;
    assert!(staged.backlog().await > u64::from(messages) / 2);
}

pub fn payer(name: &str) -> Payer {
    Payer {
        user: None,
        client: name.to_owned(),
    }
}

#[tokio::test]
async fn a_storm_is_held_then_let_go_at_its_rate_and_the_quota_is_as_before() {
    let broker = shared().await;
    let (staged, _consumer) = caught_up(&broker, "storm", 200.0, Span::seconds(240)).await;
    let scene = &staged.scene;
    assert_eq!(hold_retry(scene).await.state, StepState::Nothing);
    assert_eq!(release_retry(scene).await.state, StepState::Nothing);
    assert!(!needs_repair(scene).await.is_needed());
    storm(&broker, &staged, "storm", 20_000, 1200.0).await;
    assert!(needs_repair(scene).await.backlog_over > 0);

    let held = hold_retry(scene).await;
    assert_eq!(held.state, StepState::Held, "{held:?}");
    let before = staged.backlog().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(
        before - staged.backlog().await <= 100,
        "a hold lets nothing through"
    );
    assert!(
        !left_behind(scene).await.is_empty(),
        "a held queue is not as before"
    );

    let (end, measured) = minutes(&staged, release_retry(scene)).await;
    println!("{}: {measured:?}", end.detail.en());
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    let Minutes { first, least, most } = measured;
    assert!((180.0..=220.0).contains(&first), "{measured:?}");
    assert!(least >= 180.0 && most <= 220.0, "{measured:?}");
    assert_eq!(staged.cluster().quota(&payer("storm")).await.unwrap(), None);
    assert_eq!(left_behind(scene).await, vec![]);
    let intents = staged.intents();
    let last = intents.last().unwrap();
    assert!(matches!(last, ChangeIntent::Quota { to: None, .. }), "{last:?}");
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn consumers_with_kafkas_defaults_move_in_bursts_that_are_said_and_the_sum_is_right() {
    let broker = shared().await;
    broker.topic("bursts", 3).await;
    broker.produce("bursts", 100, 200).await;
    let _consumer = broker.consume("bursts", "bursts", "bursts", &[]);
    let staged = Staged::new(broker.plaintext(), queue("bursts", 200.0, Span::seconds(240)));
    staged.until_backlog(|backlog| backlog == 0).await;
    let staged = staged.ready().await;
    storm(&broker, &staged, "bursts", 20_000, 1200.0).await;
    assert_eq!(hold_retry(&staged.scene).await.state, StepState::Held);
    let (end, measured) = minutes(&staged, release_retry(&staged.scene)).await;
    println!("{}: {measured:?}", end.detail.en());
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    assert!(end.detail.en().contains("in bursts of"), "{}", end.detail.en());
    let Minutes { least, most, .. } = measured;
    assert!(least >= 110.0 && most <= 300.0, "{measured:?}");
}

#[tokio::test]
async fn a_quota_that_was_there_before_is_there_again_and_others_are_untouched() {
    let broker = shared().await;
    broker.topic("limited", 1).await;
    broker.produce("limited", 100, 200).await;
    let alter = "--alter --add-config consumer_byte_rate=50000,producer_byte_rate=70000 --entity-type clients --entity-name limited";
    broker.tool("configs", alter).await;
    let pair = "--alter --add-config consumer_byte_rate=1234567 --entity-type users --entity-name alice --entity-type clients --entity-name limited";
    broker.tool("configs", pair).await;
    let _consumer = broker.consume("limited", "limited", "limited", EVEN);
    let staged = Staged::new(broker.plaintext(), queue("limited", 500.0, Span::seconds(120)));
    staged.until_backlog(|backlog| backlog == 0).await;
    let mut staged = staged;
    let checks = staged.prepare().await;
    assert!(
        checks.iter().any(|c| c.found.en().contains("50000 B/s")),
        "{checks:?}"
    );
    assert!(
        checks
            .iter()
            .any(|c| c.found.en().contains("byte rates of users stand above")),
        "{checks:?}"
    );
    storm(&broker, &staged, "limited", 3000, 600.0).await;
    assert_eq!(hold_retry(&staged.scene).await.state, StepState::Held);
    let end = release_retry(&staged.scene).await;
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    let limited = staged.cluster().quota(&payer("limited")).await.unwrap();
    assert_eq!(limited, Some(50_000.0));
    assert!(
        staged
            .intents()
            .iter()
            .all(|i| !matches!(i, ChangeIntent::Quota { to: Some(to), .. } if *to > 50_000.0))
    );
    let seen = broker
        .tool(
            "configs",
            "--describe --entity-type clients --entity-name limited",
        )
        .await;
    assert!(seen.contains("producer_byte_rate=70000"), "{seen}");
    let alice = Payer {
        user: Some("alice".into()),
        client: "limited".into(),
    };
    assert_eq!(staged.cluster().quota(&alice).await.unwrap(), Some(1_234_567.0));
    staged.cluster().set_quota(&alice, None).await.unwrap();
}

#[tokio::test]
async fn a_release_that_does_not_arrive_keeps_its_rate_and_the_command_by_hand_puts_the_quota_back() {
    let broker = shared().await;
    let (staged, _consumer) = caught_up(&broker, "late", 20.0, Span::seconds(3)).await;
    storm(&broker, &staged, "late", 6000, 600.0).await;
    assert_eq!(hold_retry(&staged.scene).await.state, StepState::Held);
    let end = release_retry(&staged.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    let left = left_behind(&staged.scene).await;
    let of_quota = left
        .iter()
        .find(|l| l.what.en().starts_with("quota of client late"))
        .unwrap();
    assert!(left.iter().any(|l| l.why.en().contains("waiting")), "{left:?}");
    assert!(staged.cluster().quota(&payer("late")).await.unwrap().is_some());
    broker.by_hand(of_quota.by_hand.as_deref().unwrap(), &[]).await;
    until_quota(&staged.cluster(), &payer("late"), None).await;
}

#[tokio::test]
async fn a_bad_guard_holds_the_topic_again_until_it_is_well() {
    let broker = shared().await;
    let (staged, _consumer) = caught_up(&broker, "guarded", 500.0, Span::seconds(120)).await;
    storm(&broker, &staged, "guarded", 2000, 600.0).await;
    assert_eq!(hold_retry(&staged.scene).await.state, StepState::Held);
    staged.intents();
    staged.ledger.guard_is_bad.store(true, Relaxed);
    let calm_down = async {
        tokio::time::sleep(Duration::from_secs(4)).await;
        let held = staged.cluster().quota(&payer("guarded")).await.unwrap();
        assert!(held.is_some_and(|bytes| bytes < 2000.0), "{held:?}");
        staged.ledger.guard_is_bad.store(false, Relaxed);
    };
    let (end, ()) = tokio::join!(release_retry(&staged.scene), calm_down);
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
}

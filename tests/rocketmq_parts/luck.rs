//! Bad luck: never a false all clear, never a config that was not there before.

use std::time::Duration;

use allclear::{
    drivers::Patience,
    engine::recovery::{hold_retry, left_behind, needs_repair, release_retry},
    model::{
        recovery::{Certainty, Leftover, StepState},
        secret::Secrets,
        time::Span,
    },
};

use futures::future::join_all;

use crate::{
    part::{BROKERS, Part, shared},
    parts_support::{PATIENCE, Staged},
    proxy::{Way, Ways},
    stage::{caught_up, queue, storm},
};

/// For what does not answer. Whoever does has time enough on a busy machine.
const SHORT: Patience = Patience {
    connect: Span::seconds(1),
    call: Span::seconds(2),
    late: Span::seconds(3),
    step: Span::seconds(6),
    ..PATIENCE
};

/// A group with messages that nobody works off, behind ways of its own, after preflight.
async fn waiting(part: &Part, ways: &Ways, group: &str) -> Staged {
    part.create(&BROKERS, &format!("topic-{group}"), group).await;
    // Long enough to show that nobody works them off: then the group is left on.
    let queue = queue(group, 100.0, Span::seconds(12));
    let prepared = Staged::with(ways.open(), queue.clone(), Secrets::none(), PATIENCE);
    let prepared = prepared.ready().await;
    let mut staged = Staged::with(ways.open(), queue, Secrets::none(), SHORT);
    staged.scene.snapshot = prepared.scene.snapshot;
    part.produce(&staged.queue().topic, 200).await;
    staged.until_backlog(part, |n| n >= 200).await;
    staged
}

fn unknown_on(left: &[Leftover], broker: &str) -> bool {
    let is = |l: &Leftover| l.certainty == Certainty::Unknown && l.what.en().contains(broker);
    left.iter().any(is)
}

#[tokio::test]
async fn a_master_in_trouble_is_unknown_and_the_other_is_done() {
    let part = shared().await;
    let cases = [(Way::Cut, "cut"), (Way::Garbage, "garbage"), (Way::Slow, "slow")];
    join_all(cases.map(|(way, group)| is_unknown(&part, way, group))).await;
}

async fn is_unknown(part: &Part, way: Way, group: &str) {
    let ways = Ways::to(part).await;
    let staged = waiting(part, &ways, group).await;
    let before = [
        part.config("broker-a", group).await,
        part.config("broker-b", group).await,
    ];
    ways.b.set(way);
    let held = hold_retry(&staged.scene).await;
    assert_eq!(held.state, StepState::Failed, "{group}: {held:?}");
    assert!(unknown_on(&held.leftovers, "broker-b"), "{group}: {held:?}");
    assert!(!unknown_on(&held.leftovers, "broker-a"), "{group}: {held:?}");
    assert!(
        part.config("broker-a", group)
            .await
            .contains("\"consumeEnable\":false"),
        "{group}"
    );
    let released = release_retry(&staged.scene).await;
    assert_eq!(released.state, StepState::Failed, "{group}: {released:?}");
    assert_eq!(
        part.config("broker-a", group).await,
        before[0],
        "{group}: the other is as before"
    );
    let left = left_behind(&staged.scene).await;
    assert!(
        unknown_on(&left, "broker-b") && left.iter().any(|l| l.by_hand.is_some()),
        "{group}: {left:?}"
    );
    assert!(needs_repair(&staged.scene).await.is_needed(), "{group}");
    ways.b.set(Way::Open);
    release_retry(&staged.scene).await;
    let after = [
        part.config("broker-a", group).await,
        part.config("broker-b", group).await,
    ];
    assert_eq!(after, before, "{group}");
    let left = left_behind(&staged.scene).await;
    assert!(
        left.len() == 1 && left[0].why.en().contains(" waiting in "),
        "{group}: {left:?}"
    );
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn a_switch_that_lands_late_is_put_back() {
    let part = shared().await;
    let ways = Ways::to(&part).await;
    let staged = waiting(&part, &ways, "late").await;
    let before = part.config("broker-b", "late").await;
    let stall = async {
        // The way closes as soon as the group is off, and opens when its last switch may still be on its way.
        let mut changes = 0;
        let is_off = async || {
            changes += staged.intents().len();
            changes >= 2
        };
        crate::part::until("held", is_off).await;
        ways.b.set(Way::Slow);
        tokio::time::sleep(Duration::from_secs(3)).await;
        ways.b.set(Way::Open);
    };
    let recover = async {
        hold_retry(&staged.scene).await;
        release_retry(&staged.scene).await
    };
    tokio::join!(recover, stall);
    // Whatever landed when: what is read last is what is said.
    let left = left_behind(&staged.scene).await;
    let as_before = part.config("broker-b", "late").await == before;
    let told = left.iter().any(|l| l.what.en().contains("broker-b"));
    assert!(as_before != told, "{left:?}");
    assert!(as_before, "{left:?}");
}

#[tokio::test]
async fn without_a_name_server_the_known_brokers_are_done_and_that_others_may_be_is_said() {
    let part = shared().await;
    let ways = Ways::to(&part).await;
    let staged = waiting(&part, &ways, "nameless").await;
    ways.name_server.set(Way::Cut);
    let held = hold_retry(&staged.scene).await;
    assert_eq!(held.state, StepState::Failed, "{held:?}");
    assert!(
        held.leftovers
            .iter()
            .all(|l| l.what.en().contains("may have joined")),
        "{held:?}"
    );
    for broker in BROKERS {
        assert!(
            part.config(broker, "nameless")
                .await
                .contains("\"consumeEnable\":false")
        );
    }
    release_retry(&staged.scene).await;
    for broker in BROKERS {
        assert!(
            part.config(broker, "nameless")
                .await
                .contains("\"consumeEnable\":true")
        );
    }
    let left = left_behind(&staged.scene).await;
    assert!(
        left.iter().any(|l| l.what.en().contains("may have joined")),
        "{left:?}"
    );
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn brokers_go_come_back_and_join_in_mid_step() {
    let part = Part::start(None).await;
    let patient = Patience {
        step: Span::seconds(120),
        ..PATIENCE
    };
    let (first, _consumer) = caught_up(&part, "moves", 200.0, Span::seconds(300)).await;
    let before = [
        part.config("broker-a", "moves").await,
        part.config("broker-b", "moves").await,
    ];
    let mut staged = Staged::with(part.open(), first.queue().clone(), Secrets::none(), patient);
    staged.scene.snapshot = first.scene.snapshot.clone();
    storm(&part, &staged, 8000).await;
    let restart = async |after: u64| {
        tokio::time::sleep(Duration::from_secs(after)).await;
        part.run("kill", &["broker-b"]).await;
        part.run("up", &["broker-b"]).await;
    };
    let (held, ()) = tokio::join!(hold_retry(&staged.scene), restart(0));
    assert_eq!(
        (held.state, held.leftovers),
        (StepState::Held, vec![]),
        "{}",
        held.detail.en()
    );
    let (end, ()) = tokio::join!(release_retry(&staged.scene), restart(2));
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    let after = [
        part.config("broker-a", "moves").await,
        part.config("broker-b", "moves").await,
    ];
    assert_eq!(after, before);
    assert_eq!(left_behind(&staged.scene).await, vec![]);

    // It goes, and stays away.
    storm(&part, &first, 6000).await;
    part.run("kill", &["broker-b"]).await;
    let held = hold_retry(&first.scene).await;
    assert!(
        unknown_on(&held.leftovers, "broker-b") && held.state == StepState::Failed,
        "{held:?}"
    );
    let end = release_retry(&first.scene).await;
    assert!(
        unknown_on(&end.leftovers, "broker-b") && end.state == StepState::Failed,
        "{end:?}"
    );
    assert_eq!(part.config("broker-a", "moves").await, before[0]);
    assert!(unknown_on(&left_behind(&first.scene).await, "broker-b"));
    part.run("up", &["broker-b"]).await;
    let end = release_retry(&first.scene).await;
    assert!(end.leftovers.is_empty(), "{end:?}");
    assert_eq!(left_behind(&first.scene).await, vec![]);

    // Another joins.
    part.run("up", &["broker-c"]).await;
    part.create(&["broker-c"], "topic-moves", "moves").await;
    storm(&part, &first, 6000).await;
    let held = hold_retry(&first.scene).await;
    assert!(
        held.leftovers.iter().any(|l| l.what.en().contains("broker-c")),
        "{held:?}"
    );
    assert!(
        part.config("broker-c", "moves")
            .await
            .contains("\"consumeEnable\":true"),
        "untouched"
    );
    let end = release_retry(&first.scene).await;
    assert!(end.leftovers.is_empty(), "{end:?}");
    let after = [
        part.config("broker-a", "moves").await,
        part.config("broker-b", "moves").await,
    ];
    assert_eq!(after, before);
    assert_eq!(left_behind(&first.scene).await, vec![]);
}

#[tokio::test]
async fn a_group_that_is_off_on_a_broker_that_has_joined_is_left_over() {
    let part = Part::start(None).await;
    part.create(&BROKERS, "topic-joins", "joins").await;
    let staged = Staged::new(part.open(), queue("joins", 100.0, Span::seconds(2)))
        .ready()
        .await;
    assert_eq!(left_behind(&staged.scene).await, vec![]);
    part.run("up", &["broker-c"]).await;
    part.create(&["broker-c"], "topic-joins", "joins").await;
    assert_eq!(left_behind(&staged.scene).await, vec![], "on there as everywhere");
    let address = part.broker("broker-c");
    let cluster = staged.cluster();
    let config = cluster.config(&address, "joins").await.unwrap();
    cluster
        .write(&address, "joins", &config.switched(false))
        .await
        .unwrap();
    let left = left_behind(&staged.scene).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].what.en().contains("broker-c is switched off"), "{left:?}");
    crate::hand::by_hand(&left, &[]).await;
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

#[tokio::test]
async fn a_broker_that_goes_away_when_it_is_switched_is_not_called_held() {
    let part = shared().await;
    let ways = Ways::to(&part).await;
    let staged = waiting(&part, &ways, "vanishes").await;
    let vanish = async {
        // Switched and read back: from here on it is watched.
        let is_watched = async || staged.said().iter().any(|s| s.contains("/s measured"));
        crate::part::until("watched", is_watched).await;
        ways.b.set(Way::Cut);
    };
    let (held, ()) = tokio::join!(hold_retry(&staged.scene), vanish);
    assert_eq!(held.state, StepState::Failed, "{held:?}");
    assert!(unknown_on(&held.leftovers, "broker-b"), "{held:?}");
    ways.b.set(Way::Open);
    release_retry(&staged.scene).await;
}

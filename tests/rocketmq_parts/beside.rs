//! What a group consumes beside the topic that is followed.

use allclear::{
    engine::recovery::{hold_retry, left_behind, needs_repair, release_retry},
    model::{event::CheckOutcome, recovery::StepState, time::Span},
};

use crate::{
    part::{BROKERS, shared, until},
    parts_support::Staged,
    stage::queue,
};

#[tokio::test]
async fn what_else_the_group_consumes_must_come_back_before_it_is_as_before() {
    let part = shared().await;
    let (group, topic) = ("beside", "topic-beside");
    part.create(&BROKERS, topic, group).await;
    let followed = queue(group, 200.0, Span::seconds(3));
    let mut staged = Staged::new(part.open(), followed.clone());
    let waiting = async |staged: &Staged| {
        let (mut waiting, mut queues) = (0, 0);
        for broker in BROKERS {
            let address = part.broker(broker);
            let seen = staged
                .cluster()
                .offsets_beside(&address, group, &followed.topic)
                .await;
            let seen = seen.unwrap();
            waiting += seen.backlog();
            queues += seen.0.len();
        }
        (waiting, queues)
    };
    let consume = || part.consume(topic, group, &["ahead=64", "each=1", "threads=8"]);
    let consumer = consume();
    part.produce(topic, 400).await;
    until("worked off", async || waiting(&staged).await == (0, 4)).await;
    drop(consumer);
    let checks = staged.prepare().await;
    let named = |found: &str| found.contains("1 other topics of the group are held with it: topic-beside");
    assert!(
        checks
            .iter()
            .any(|c| c.outcome == CheckOutcome::Warned && named(c.found.en())),
        "{checks:?}"
    );
    assert_eq!(left_behind(&staged.scene).await, vec![]);

    // Nothing waits in the retry topic: the main one alone is what the drill has left.
    part.produce(topic, 3000).await;
    until("it waits", async || waiting(&staged).await.0 >= 3000).await;
    let left = left_behind(&staged.scene).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(
        left[0].what.en().contains("other topics of group beside")
            && left[0].why.en().contains("topic-beside"),
        "{left:?}"
    );
    assert!(needs_repair(&staged.scene).await.is_needed());
    let end = release_retry(&staged.scene).await;
    assert_eq!((end.state, end.leftovers), (StepState::Failed, left));

    // With the retries let go, the step waits for the main topic.
    let mut patient = followed.clone();
    patient.within = Span::seconds(180);
    let mut later = Staged::new(part.open(), patient);
    later.scene.snapshot = staged.scene.snapshot.clone();
    part.produce(&followed.topic, 400).await;
    later.until_backlog(&part, |n| n >= 400).await;
    let held = hold_retry(&later.scene).await;
    assert_eq!(
        (held.state, held.leftovers),
        (StepState::Held, vec![]),
        "{}",
        held.detail.en()
    );
    let _consumer = consume();
    let end = release_retry(&later.scene).await;
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    assert!(waiting(&later).await.0 <= 200);
    assert_eq!(left_behind(&later.scene).await, vec![]);
}

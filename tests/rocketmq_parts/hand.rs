//! What is left to do by hand, typed as it stands.

use allclear::{
    engine::recovery::{hold_retry, left_behind},
    model::{
        recovery::{Leftover, StepState},
        time::Span,
    },
};

use crate::{
    part::{BROKERS, shared},
    parts_support::{Staged, typed},
    stage::queue,
};

/// Types the commands of these leftovers as a person would.
pub async fn by_hand(left: &[Leftover], variables: &[(&str, &str)]) {
    for line in left.iter().filter_map(|l| l.by_hand.as_deref()) {
        typed(line, variables).await;
    }
}

#[tokio::test]
async fn the_command_by_hand_puts_the_whole_config_back() {
    let part = shared().await;
    part.create(&BROKERS, "topic-hand", "hand").await;
    let staged = Staged::new(part.open(), queue("hand", 100.0, Span::seconds(60)))
        .ready()
        .await;
    let before = [
        part.config("broker-a", "hand").await,
        part.config("broker-b", "hand").await,
    ];
    assert!(before[0].contains("\"retryMaxTimes\":5") && before[0].contains("\"consumeTimeoutMinute\":7"));
    part.produce(&staged.queue().topic, 100).await;
    staged.until_backlog(&part, |n| n >= 100).await;
    assert_eq!(hold_retry(&staged.scene).await.state, StepState::Held);
    let left = left_behind(&staged.scene).await;
    assert_eq!(left.iter().filter(|l| l.by_hand.is_some()).count(), 2, "{left:?}");
    by_hand(&left, &[]).await;
    let after = [
        part.config("broker-a", "hand").await,
        part.config("broker-b", "hand").await,
    ];
    assert_eq!(after, before);
}

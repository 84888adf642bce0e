//! Preflight, and groups that are not as one expects.

use allclear::{
    engine::recovery::{hold_retry, left_behind, release_retry},
    model::{
        event::{Check, CheckOutcome},
        recovery::StepState,
        text::Lang,
        time::Span,
    },
};

use crate::{
    part::{BROKERS, shared},
    parts_support::Staged,
    stage::queue,
};

#[tokio::test]
async fn an_unknown_group_is_refused_and_not_created() {
    let part = shared().await;
    part.create(&BROKERS, "topic-known", "known").await;
    let mut unknown = queue("nobody", 100.0, Span::seconds(60));
    unknown.topic = "topic-known".into();
    let mut staged = Staged::new(part.open(), unknown);
    let checks = staged.prepare().await;
    let refused: Vec<_> = checks
        .iter()
        .filter(|c| c.outcome == CheckOutcome::Refused)
        .collect();
    assert_eq!(refused.len(), 1, "{checks:?}");
    assert!(
        refused[0].found.en().contains("knows no such group"),
        "{refused:?}"
    );
    for end in [
        hold_retry(&staged.scene).await,
        release_retry(&staged.scene).await,
    ] {
        assert_eq!(end.state, StepState::Failed, "{end:?}");
    }
    assert!(!left_behind(&staged.scene).await.is_empty());
    for broker in BROKERS {
        assert!(
            !part.groups(broker).await.contains("nobody"),
            "created on {broker}"
        );
    }
    assert_eq!(staged.intents(), vec![]);
}

/// What preflight warns of, in a language.
fn warned(checks: &[Check], lang: Lang) -> Vec<&str> {
    let warned = checks.iter().filter(|c| c.outcome == CheckOutcome::Warned);
    warned.map(|c| c.found.get(lang)).collect()
}

#[tokio::test]
async fn that_the_release_is_only_approximate_and_the_right_to_write_not_proved_are_warnings() {
    let part = shared().await;
    part.create(&BROKERS, "topic-even", "even").await;
    let mut even = queue("even", 150.0, Span::seconds(60));
    even.topic = "topic-even".into();
    let checks = Staged::new(part.open(), even).prepare().await;
    let words = [
        (Lang::En, "150/s on the average"),
        (Lang::Zh, "数分钟平均为 150/s"),
        (Lang::En, "cannot be tried without writing it"),
        (Lang::Zh, "不写便无从试"),
    ];
    for (lang, words) in words {
        let warned = warned(&checks, lang);
        let said = warned.iter().filter(|w| w.contains(words)).count();
        assert_eq!(said, 1, "{words}: {warned:?}");
    }
    let passed = checks.iter().filter(|c| c.outcome == CheckOutcome::Passed);
    assert_eq!(passed.count(), 1, "how it stands, and nothing else: {checks:?}");
}

#[tokio::test]
async fn a_group_without_a_topic_is_refused() {
    let part = shared().await;
    let mut staged = Staged::new(part.open(), queue("nowhere", 100.0, Span::seconds(60)));
    let checks = staged.prepare().await;
    assert!(
        checks.iter().any(|c| c.outcome == CheckOutcome::Refused),
        "{checks:?}"
    );
}

#[tokio::test]
async fn a_group_that_was_off_before_stays_off() {
    let part = shared().await;
    part.create(&BROKERS, "topic-off", "off").await;
    let staged = Staged::new(part.open(), queue("off", 100.0, Span::seconds(1)));
    for broker in BROKERS {
        let address = part.broker(broker);
        let config = staged.cluster().config(&address, "off").await.unwrap();
        staged
            .cluster()
            .write(&address, "off", &config.switched(false))
            .await
            .unwrap();
    }
    let staged = staged.ready().await;
    let before = [
        part.config("broker-a", "off").await,
        part.config("broker-b", "off").await,
    ];
    for (seen, config) in staged.scene.snapshot.retry_queues[0].groups.iter().zip(&before) {
        assert_eq!(&seen.config, config, "the snapshot has the broker's own text");
    }
    part.produce(&staged.queue().topic, 200).await;
    staged.until_backlog(&part, |n| n >= 200).await;
    let held = hold_retry(&staged.scene).await;
    assert_eq!(
        (held.state, held.leftovers),
        (StepState::Held, vec![]),
        "{}",
        held.detail.en()
    );
    let released = release_retry(&staged.scene).await;
    assert_eq!(released.state, StepState::Failed, "{released:?}");
    let left = left_behind(&staged.scene).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].why.en().contains(" waiting in "), "{left:?}");
    assert_eq!(staged.intents(), vec![]);
    let after = [
        part.config("broker-a", "off").await,
        part.config("broker-b", "off").await,
    ];
    assert_eq!(after, before);
}

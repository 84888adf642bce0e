//! Brokers that check who asks.

use allclear::{
    engine::recovery::{hold_retry, left_behind, release_retry},
    model::{
        environment::{Rocketmq, RocketmqLogin, SecretRef},
        event::CheckOutcome,
        recovery::StepState,
        secret::{SecretText, Secrets},
        time::Span,
    },
};

use crate::{
    hand::by_hand,
    part::{BROKERS, Part},
    parts_support::{PATIENCE, Staged},
    stage::queue,
};

const SECRET: &str = "admin-pw-1";

fn staged(part: &Part, user: &str, secret: &str) -> Staged {
    let place = SecretRef::Env("MQ_SECRET".into());
    let mut secrets = Secrets::none();
    secrets.insert(place.clone(), SecretText::new(secret));
    let cluster = Rocketmq {
        login: Some(RocketmqLogin {
            access_key: user.into(),
            secret_key: place,
        }),
        ..part.open()
    };
    Staged::with(
        cluster,
        queue("signed", 100.0, Span::seconds(12)),
        secrets,
        PATIENCE,
    )
}

#[tokio::test]
async fn a_login_is_shown_and_never_told_and_without_rights_it_is_refused() {
    let part = Part::start(Some("admin:admin-pw-1")).await;
    part.create(&BROKERS, "topic-signed", "signed").await;
    for broker in BROKERS {
        part.ask(
            broker,
            3001,
            r#"{"username":"bob"}"#,
            r#"{"username":"bob","password":"bob-pw-1","userType":"Normal","userStatus":"enable"}"#,
        )
        .await;
    }
    let nobody = Staged::new(part.open(), queue("signed", 100.0, Span::seconds(12)));
    for mut staged in [
        nobody,
        staged(&part, "admin", "wrong-pw"),
        staged(&part, "bob", "bob-pw-1"),
    ] {
        let checks = staged.prepare().await;
        let refused: Vec<_> = checks
            .iter()
            .filter(|c| c.outcome == CheckOutcome::Refused)
            .collect();
        assert_eq!(refused.len(), 1, "{checks:?}");
        assert!(
            refused[0].found.en().contains("not permitted (code 16"),
            "{refused:?}"
        );
    }

    let staged = staged(&part, "admin", SECRET).ready().await;
    let before = [
        part.config("broker-a", "signed").await,
        part.config("broker-b", "signed").await,
    ];
    part.produce(&staged.queue().topic, 100).await;
    staged.until_backlog(&part, |n| n >= 100).await;
    let held = hold_retry(&staged.scene).await;
    assert_eq!(
        (held.state, held.leftovers),
        (StepState::Held, vec![]),
        "{}",
        held.detail.en()
    );
    let left = left_behind(&staged.scene).await;
    assert!(!format!("{left:?}").contains(SECRET), "{left:?}");
    assert_eq!(left.iter().filter(|l| l.by_hand.is_some()).count(), 2, "{left:?}");
    by_hand(&left, &[("MQ_SECRET", SECRET)]).await;
    let after = [
        part.config("broker-a", "signed").await,
        part.config("broker-b", "signed").await,
    ];
    assert_eq!(after, before);

    hold_retry(&staged.scene).await;
    // A user whose right has been taken away since: what it cannot read is unknown, not well.
    let mut bob = self::staged(&part, "bob", "bob-pw-1");
    bob.scene.snapshot = staged.scene.snapshot.clone();
    for end in [hold_retry(&bob.scene).await, release_retry(&bob.scene).await] {
        assert_eq!(end.state, StepState::Failed, "{end:?}");
    }
    assert!(!left_behind(&bob.scene).await.is_empty());
    release_retry(&staged.scene).await;
    let after = [
        part.config("broker-a", "signed").await,
        part.config("broker-b", "signed").await,
    ];
    assert_eq!(after, before);
}

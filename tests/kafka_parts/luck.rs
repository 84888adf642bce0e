//! Bad luck: never a false all clear, never a quota that was not there before.

use std::{sync::Arc, time::Duration};

use allclear::{
    drivers::Patience,
    engine::recovery::{hold_retry, left_behind, needs_repair, release_retry},
    model::{
        environment::{Kafka, KafkaLogin, KafkaSasl, SecretRef},
        quota::QuotaSeen,
        recovery::StepState,
        secret::{SecretText, Secrets},
        snapshot::{RetryQueueSeen, Snapshot},
        time::Span,
    },
};
use tokio::{io::AsyncWriteExt, net::TcpListener, time::timeout};

use crate::{
    part::{Broker, queue, shared},
    parts_support::{PATIENCE, Staged},
    quota::{caught_up, payer, storm},
};

const SHORT: Patience = Patience {
    connect: Span::millis(500),
    call: Span::millis(500),
    step: Span::millis(1500),
    ..PATIENCE
};

fn prepared(kafka: Kafka, secrets: Secrets) -> Staged {
    let mut staged = Staged::whole(kafka, queue("luck", 10.0, Span::seconds(1)), secrets, SHORT);
    let seen = RetryQueueSeen {
        entry: 0,
        backlog: 0,
        held: false,
        rate: None,
        quotas: vec![QuotaSeen {
            payer: payer("luck"),
            bytes: Some(7777.0),
        }],
        groups: vec![],
    };
    staged.scene.snapshot = Arc::new(Snapshot {
        retry_queues: vec![seen],
        ..Snapshot::default()
    });
    staged
}

pub fn at(address: String) -> Kafka {
    Kafka {
        bootstrap: vec![address],
        tls: None,
        sasl: None,
    }
}

/// Accepts and says this; nothing at all for an empty text.
async fn says(text: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut connection, _)) = listener.accept().await {
            let _ = connection.write_all(text).await;
            open.push(connection);
        }
    });
    address
}

#[tokio::test]
async fn a_broker_in_trouble_is_never_called_recovered() {
    let broker = shared().await;
    let nobody = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let place = SecretRef::Env("P".into());
    let mut secrets = Secrets::none();
    secrets.insert(place.clone(), SecretText::new("bob-pw"));
    let login = KafkaLogin {
        user: "bob".into(),
        password: place,
    };
    let bob = Kafka {
        bootstrap: vec![format!("127.0.0.1:{}", broker.port + 1)],
        tls: None,
        sasl: Some(KafkaSasl::Plain(login)),
    };
    let huge: &[u8] = &[0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0];
    let cases = [
        ("down", prepared(at(nobody), Secrets::none())),
        ("slow", prepared(at(says(b"").await), Secrets::none())),
        (
            "another protocol",
            prepared(
                at(says(b"HTTP/1.1 400 Bad Request\r\n\r\n").await),
                Secrets::none(),
            ),
        ),
        (
            "a count of two billion",
            prepared(at(says(huge).await), Secrets::none()),
        ),
        ("no rights", prepared(bob, secrets)),
    ];
    for (case, staged) in cases {
        let scene = &staged.scene;
        let all = async {
            tokio::join!(
                hold_retry(scene),
                release_retry(scene),
                left_behind(scene),
                needs_repair(scene)
            )
        };
        let (held, released, left, repair) = timeout(Duration::from_secs(60), all).await.expect(case);
        assert_eq!(
            (held.state, released.state),
            (StepState::Failed, StepState::Failed),
            "{case}"
        );
        assert!(
            !held.leftovers.is_empty() && !released.leftovers.is_empty(),
            "{case}"
        );
        assert!(
            left.iter().any(|l| l
                .by_hand
                .as_deref()
                .is_some_and(|h| h.contains("consumer_byte_rate=7777"))),
            "{case}: {left:?}"
        );
        assert!(repair.is_needed(), "{case}");
        assert!(
            staged.intents().is_empty(),
            "{case}: nothing is changed that cannot be read"
        );
    }
}

#[tokio::test]
async fn a_recovery_that_is_killed_at_any_change_is_finished_by_the_next() {
    let broker = shared().await;
    // Killed with the nth change written down and not made; so the changes before it are made.
    for (nth, name) in [(1, "killed-1"), (2, "killed-2"), (3, "killed-3")] {
        let (staged, _consumer) = caught_up(&broker, name, 300.0, Span::seconds(120)).await;
        storm(&broker, &staged, name, 4000, 800.0).await;
        staged.intents();
        staged.dies_at(nth);
        let scene = &staged.scene;
        let recovery = async { [hold_retry(scene).await, release_retry(scene).await] };
        tokio::select! {
            ends = recovery => panic!("it was to die at change {nth}: {ends:?}"),
            () = staged.died() => {}
        }
        staged.lives();
        if nth > 1 {
            assert!(needs_repair(scene).await.is_needed(), "after change {nth}");
            assert!(!left_behind(scene).await.is_empty(), "after change {nth}");
        }
        hold_retry(scene).await;
        let end = release_retry(scene).await;
        assert!(
            matches!(end.state, StepState::Done | StepState::Nothing),
            "{nth}: {end:?}"
        );
        assert_eq!(left_behind(scene).await, vec![], "after change {nth}");
        assert_eq!(staged.cluster().quota(&payer(name)).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_broker_that_restarts_in_mid_step_is_waited_for() {
    let broker = Broker::start().await;
    let patient = Patience {
        step: Span::seconds(120),
        ..PATIENCE
    };
    let (staged, _consumer) = caught_up(&broker, "restarts", 300.0, Span::seconds(240)).await;
    let mut again = Staged::whole(
        broker.plaintext(),
        queue("restarts", 300.0, Span::seconds(240)),
        Secrets::none(),
        patient,
    );
    again.scene.snapshot = staged.scene.snapshot.clone();
    storm(&broker, &again, "restarts", 3000, 600.0).await;
    let restart = async {
        broker.part("kill").await;
        broker.part("up").await;
    };
    let (held, ()) = tokio::join!(hold_retry(&again.scene), restart);
    assert_eq!(held.state, StepState::Held, "{held:?}");
    let restart = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        broker.part("kill").await;
        broker.part("up").await;
    };
    let (end, ()) = tokio::join!(release_retry(&again.scene), restart);
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    assert_eq!(again.cluster().quota(&payer("restarts")).await.unwrap(), None);
    assert_eq!(left_behind(&again.scene).await, vec![]);
}

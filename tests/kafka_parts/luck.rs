//! Bad luck beside that of tests/luck_table: never a false all clear, never a quota that was not there before.

use std::{sync::Arc, time::Duration};

use allclear::{
    drivers::Patience,
    engine::recovery::{hold_retry, left_behind, needs_repair, release_retry},
    model::{
        environment::Kafka,
        quota::QuotaSeen,
        recovery::StepState,
        secret::Secrets,
        snapshot::{RetryQueueSeen, Snapshot},
        time::Span,
    },
};
use tokio::{io::AsyncWriteExt, net::TcpListener, time::timeout};

use crate::{
    part::{Broker, queue},
    parts_support::{PATIENCE, Staged},
    quota::{caught_up, payer, storm},
};

const SHORT: Patience = Patience {
    connect: Span::millis(500),
    call: Span::millis(500),
    step: Span::millis(1500),
    ..PATIENCE
};

fn prepared(kafka: Kafka) -> Staged {
    let mut staged = Staged::whole(
        kafka,
        queue("luck", 10.0, Span::seconds(1)),
        Secrets::none(),
        SHORT,
    );
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

/// Accepts and says this.
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
async fn a_broker_that_claims_two_billion_entries_is_never_called_recovered() {
    let huge: &[u8] = &[0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0];
    let staged = prepared(at(says(huge).await));
    let scene = &staged.scene;
    let all = async {
        tokio::join!(
            hold_retry(scene),
            release_retry(scene),
            left_behind(scene),
            needs_repair(scene)
        )
    };
    let (held, released, left, repair) = timeout(Duration::from_secs(60), all).await.unwrap();
    assert_eq!(
        (held.state, released.state),
        (StepState::Failed, StepState::Failed)
    );
    assert!(!held.leftovers.is_empty() && !released.leftovers.is_empty());
    let puts_back = |hand: &str| hand.contains("consumer_byte_rate=7777");
    assert!(
        left.iter().any(|l| l.by_hand.as_deref().is_some_and(puts_back)),
        "{left:?}"
    );
    assert!(repair.is_needed());
    assert!(
        staged.intents().is_empty(),
        "nothing is changed that cannot be read"
    );
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

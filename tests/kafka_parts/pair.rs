//! The quota of one user's client id: it alone is held, let go, put back, by recovery and by hand.

use std::{sync::Arc, time::Duration};

use allclear::{
    drivers::kafka::KafkaCluster,
    engine::recovery::{hold_retry, left_behind, release_retry},
    model::{
        environment::KafkaSasl,
        playbook::{KafkaQueue, OffsetReset},
        quota::{Payer, QuotaSeen},
        recovery::StepState,
        time::Span,
        undo::ChangeIntent,
    },
};
use tokio::time::Instant;

use crate::{
    access::{at, login, secrets},
    part::{Broker, queue, shared, until_quota},
    parts_support::Staged,
    quota::EVEN,
};

const BEFORE: f64 = 60_000.0;
const OTHERS: [f64; 2] = [1_234_567.0, 70_000.0];

fn of(user: Option<&str>) -> Payer {
    Payer {
        user: user.map(str::to_owned),
        client: "pair".into(),
    }
}

/// Sets a quota and waits until it is in force.
async fn set(cluster: &KafkaCluster, payer: &Payer, bytes: f64) {
    cluster.set_quota(payer, Some(bytes)).await.unwrap();
    until_quota(cluster, payer, Some(bytes)).await;
}

/// What is left is this pair's quota alone, and the command by hand puts it back.
async fn put_back_by_hand(broker: &Broker, staged: &Staged, before: Option<f64>) {
    let (cluster, alice) = (staged.cluster(), of(Some("alice")));
    set(&cluster, &alice, 4096.0).await;
    let left = left_behind(&staged.scene).await;
    assert_eq!(left.len(), 1, "{left:?}");
    let what = left[0].what.en();
    assert!(
        what.starts_with("quota of client pair of user alice at Kafka main"),
        "{what}"
    );
    let line = left[0].by_hand.clone().unwrap();
    broker.by_hand(&line, &[("KAFKA_PASSWORD", "admin-pw")]).await;
    until_quota(&cluster, &alice, before).await;
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

#[tokio::test]
async fn a_pair_of_user_and_client_id_is_held_and_put_back_and_no_other_with_it() {
    let broker = shared().await;
    for name in ["pair", "pair-of-bob"] {
        broker.topic(name, 1).await;
    }
    let rights = "--add --allow-principal User:alice --allow-principal User:bob --consumer --topic pair";
    let more = "--topic pair-of-bob --group pair --group pair-of-bob";
    broker.tool("acls", &format!("{rights} {more}")).await;
    let admin = at(&broker, 1, None, Some(KafkaSasl::ScramSha512(login("admin"))));
    let of_alice = KafkaQueue {
        user: Some("alice".into()),
        ..queue("pair", 200.0, Span::seconds(120))
    };
    let staged = Staged::with(admin, of_alice, secrets("admin-pw"));
    let (cluster, alice) = (staged.cluster(), of(Some("alice")));
    set(&cluster, &alice, BEFORE).await;
    let others = [of(Some("bob")), of(None)];
    for (payer, bytes) in others.iter().zip(OTHERS) {
        set(&cluster, payer, bytes).await;
    }
    broker.produce("pair", 100, 200).await;
    let _alice = broker.consume_as("alice", ["pair", "pair", "pair"], EVEN);
    staged.until_backlog(|backlog| backlog == 0).await;
    let mut staged = staged.ready().await;
    let seen = QuotaSeen {
        payer: alice.clone(),
        bytes: Some(BEFORE),
    };
    assert_eq!(staged.scene.snapshot.retry_queues[0].quotas, vec![seen]);

    set(&cluster, &alice, 1200.0).await;
    broker.produce("pair", 1500, 200).await;
    let held = hold_retry(&staged.scene).await;
    assert_eq!(held.state, StepState::Held, "{held:?}");
    let waiting = staged.backlog().await;
    broker.produce("pair-of-bob", 1000, 200).await;
    let _bob = broker.consume_as("bob", ["pair-of-bob", "pair-of-bob", "pair"], EVEN);
    let (deadline, group) = (Instant::now() + Duration::from_secs(60), "pair-of-bob");
    while !matches!(cluster.position(group, group, OffsetReset::Earliest).await, Ok(p) if p.backlog() == 0) {
        assert!(
            Instant::now() < deadline,
            "bob's client of the same id is held as well"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(waiting - staged.backlog().await <= 100, "alice's is not held");

    let end = release_retry(&staged.scene).await;
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    assert_eq!(cluster.quota(&alice).await.unwrap(), Some(BEFORE));
    let of_alice_alone = |change: &ChangeIntent| matches!(change, ChangeIntent::Quota { before, to: Some(to), .. } if before.payer == alice && *to <= BEFORE);
    let changes = staged.intents();
    assert!(
        !changes.is_empty() && changes.iter().all(of_alice_alone),
        "{changes:?}"
    );
    for (payer, bytes) in others.iter().zip(OTHERS) {
        assert_eq!(cluster.quota(payer).await.unwrap(), Some(bytes), "{payer}");
    }

    put_back_by_hand(&broker, &staged, Some(BEFORE)).await;
    // As if there had been none before.
    Arc::make_mut(&mut staged.scene.snapshot).retry_queues[0].quotas[0].bytes = None;
    put_back_by_hand(&broker, &staged, None).await;
    for (payer, bytes) in others.iter().zip(OTHERS) {
        assert_eq!(cluster.quota(payer).await.unwrap(), Some(bytes), "{payer}");
        cluster.set_quota(payer, None).await.unwrap();
    }
}

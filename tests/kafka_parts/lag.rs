//! How far a group is.

use allclear::{
    drivers::error::DriverError,
    model::{
        event::{Check, CheckOutcome},
        playbook::{KafkaQueue, OffsetReset},
        time::Span,
    },
};

use crate::{
    part::{queue, shared},
    parts_support::Staged,
};

#[tokio::test]
async fn a_partition_without_an_offset_counts_from_where_the_group_would_begin() {
    let broker = shared().await;
    broker.topic("lag", 4).await;
    let staged = Staged::new(broker.plaintext(), queue("lag", 10.0, Span::seconds(1)));
    let cluster = staged.cluster();
    // The producer chooses a partition for each batch: until one falls to a partition without an offset.
    let (earliest, waiting) = loop {
        broker.produce("lag", 1000, 50).await;
        let args = "--group lag --topic lag:0,1 --reset-offsets --to-latest --execute";
        broker.tool("consumer-groups", args).await;
        let earliest = cluster
            .position("lag", "lag", OffsetReset::Earliest)
            .await
            .unwrap();
        let uncommitted = earliest.partitions.iter().filter(|p| !p.committed);
        let waiting: i64 = uncommitted.map(|p| p.end).sum();
        if waiting > 0 {
            break (earliest, waiting);
        }
    };
    assert_eq!(earliest.partitions.iter().filter(|p| p.committed).count(), 2);
    assert_eq!(earliest.backlog(), waiting.unsigned_abs(), "{earliest:?}");
    let latest = cluster.position("lag", "lag", OffsetReset::Latest).await.unwrap();
    assert_eq!(latest.backlog(), 0, "{latest:?}");
    let from_the_end = KafkaQueue {
        reset: OffsetReset::Latest,
        ..queue("lag", 10.0, Span::seconds(1))
    };
    let checks = Staged::new(broker.plaintext(), from_the_end).prepare().await;
    let refused = checks.iter().find(|c| c.outcome == CheckOutcome::Refused);
    let why = refused.map(|c| c.found.en()).unwrap_or_default();
    assert!(
        why.contains("reset: latest"),
        "what waits there is not known: {checks:?}"
    );
    broker.produce("lag", 400, 50).await;
    let grown = cluster
        .position("lag", "lag", OffsetReset::Earliest)
        .await
        .unwrap();
    assert_eq!(grown.backlog(), earliest.backlog() + 400);
    assert_eq!(grown.moved_since(&earliest), 0);
}

#[tokio::test]
async fn what_else_the_group_consumes_is_named_before_the_start() {
    let broker = shared().await;
    for topic in ["sole", "beside"] {
        broker.topic(topic, 1).await;
    }
    let own = "--group sole --topic sole --reset-offsets --to-latest --execute";
    broker.tool("consumer-groups", own).await;
    let mut staged = Staged::new(broker.plaintext(), queue("sole", 10.0, Span::seconds(1)));
    let named = |checks: &[Check]| {
        checks
            .iter()
            .any(|c| c.found.en().contains("held with it: beside"))
    };
    assert!(!named(&staged.prepare().await));
    let other = "--group sole --topic beside --reset-offsets --to-latest --execute";
    broker.tool("consumer-groups", other).await;
    let checks = staged.prepare().await;
    assert!(named(&checks), "{checks:?}");
}

#[tokio::test]
async fn an_unknown_group_or_topic_is_refused_and_has_no_backlog_of_0() {
    let broker = shared().await;
    broker.topic("nobodys", 1).await;
    let mut unknown_group = Staged::new(broker.plaintext(), queue("nobodys", 10.0, Span::seconds(1)));
    let mut unknown_topic = Staged::new(broker.plaintext(), queue("no-such-topic", 10.0, Span::seconds(1)));
    for (staged, says) in [
        (&mut unknown_group, "no such group"),
        (&mut unknown_topic, "no such topic"),
    ] {
        let checks = staged.prepare().await;
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].outcome, CheckOutcome::Refused);
        assert!(checks[0].found.en().contains(says), "{checks:?}");
        assert!(staged.scene.snapshot.retry_queues.is_empty());
    }
}

#[tokio::test]
async fn a_group_without_members_needs_its_client_ids_named() {
    let broker = shared().await;
    broker.topic("empty", 1).await;
    broker
        .tool(
            "consumer-groups",
            "--group empty --topic empty --reset-offsets --to-latest --execute",
        )
        .await;
    let mut nameless = queue("empty", 10.0, Span::seconds(1));
    nameless.clients.clear();
    let checks = Staged::new(broker.plaintext(), nameless.clone()).prepare().await;
    assert_eq!(checks[0].outcome, CheckOutcome::Refused);
    assert!(checks[0].found.en().contains("name `clients`"), "{checks:?}");

    let _consumer = broker.consume("empty", "empty", "seen-client", &[]);
    let cluster = Staged::new(broker.plaintext(), nameless.clone()).cluster();
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    while cluster.clients("empty").await.unwrap().is_empty() {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the consumer never joined"
        );
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    let staged = Staged::new(broker.plaintext(), nameless).ready().await;
    let quotas = &staged.scene.snapshot.retry_queues[0].quotas;
    assert_eq!(quotas.len(), 1);
    assert_eq!(
        (quotas[0].payer.client.as_str(), quotas[0].bytes),
        ("seen-client", None)
    );

    let stranger = Staged::new(broker.plaintext(), queue("empty", 10.0, Span::seconds(1)))
        .prepare()
        .await;
    assert!(
        stranger
            .iter()
            .any(|c| c.found.en().contains("other client ids: seen-client")),
        "{stranger:?}"
    );
}

#[tokio::test]
async fn a_cluster_that_the_environment_lacks_is_an_error() {
    let broker = shared().await;
    let staged = Staged::new(broker.plaintext(), queue("x", 10.0, Span::seconds(1)));
    let other = allclear::model::ids::ServerName::new("other").unwrap();
    assert!(matches!(
        staged.scene.drivers.kafka(&other),
        Err(DriverError::Place(_))
    ));
}

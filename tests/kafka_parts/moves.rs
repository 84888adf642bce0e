//! Leaders, coordinators and bootstrap brokers that go and come in mid-step.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use allclear::{
    engine::recovery::{hold_retry, left_behind, release_retry},
    model::{environment::Kafka, playbook::OffsetReset, recovery::StepState, time::Span},
};
use tokio::{net::TcpListener, time::Instant};

use crate::{
    part::{Broker, queue, shared, until_quota},
    parts_support::Staged,
    quota::{EVEN, payer, storm},
};

fn at(bootstrap: Vec<String>) -> Kafka {
    Kafka {
        bootstrap,
        tls: None,
        sasl: None,
    }
}

/// Waits until so many brokers lead what waits in the topic.
async fn until_led_by(staged: &Staged, topic: &str, brokers: usize) {
    let (cluster, deadline) = (staged.cluster(), Instant::now() + Duration::from_secs(60));
    loop {
        let lead = match cluster.position(topic, topic, OffsetReset::Earliest).await {
            Ok(position) => cluster.leading(topic, &position).await.ok(),
            Err(_) => None,
        };
        if lead == Some(brokers) {
            return;
        }
        assert!(Instant::now() < deadline, "led by {lead:?}, not by {brokers}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn leaders_and_the_coordinator_move_away_and_back_in_mid_release() {
    const BEFORE: f64 = 300_000.0;
    const STORM: u32 = 20_000;
    let broker = Broker::of(2).await;
    let leaders = "--create --topic moves --replica-assignment 2:1,1:2,2:1";
    broker.tool("topics", leaders).await;
    broker.produce("moves", 100, 200).await;
    let _consumer = broker.consume("moves", "moves", "moves", EVEN);
    // The broker that dies is asked first.
    let staged = Staged::new(
        at(vec![broker.address_of(2), broker.address_of(1)]),
        queue("moves", 200.0, Span::seconds(300)),
    );
    staged.until_backlog(|backlog| backlog == 0).await;
    let cluster = staged.cluster();
    cluster.set_quota(&payer("moves"), Some(BEFORE)).await.unwrap();
    until_quota(&cluster, &payer("moves"), Some(BEFORE)).await;
    let staged = staged.ready().await;
    storm(&broker, &staged, "moves", STORM, 1200.0).await;
    until_led_by(&staged, "moves", 2).await;
    let held = hold_retry(&staged.scene).await;
    assert_eq!(held.state, StepState::Held, "{held:?}");

    let moves = async {
        let all = staged.backlog().await;
        staged.until_backlog(|backlog| backlog < all - 1000).await;
        broker.kill(2).await;
        until_led_by(&staged, "moves", 1).await;
        // Its offsets are told by the other broker now, and go on.
        let left = staged.backlog().await;
        staged.until_backlog(|backlog| backlog < left - 1000).await;
        broker.part("up").await;
        let election = "--election-type preferred --all-topic-partitions";
        broker.tool("leader-election", election).await;
        until_led_by(&staged, "moves", 2).await;
        staged.backlog().await
    };
    let begin = Instant::now();
    let release = async { (release_retry(&staged.scene).await, begin.elapsed()) };
    let ((end, took), left) = tokio::join!(release, moves);
    let rate = f64::from(STORM) / took.as_secs_f64();
    println!("{}: {rate:.1}/s", end.detail.en());
    assert!(left > 1000, "they moved back in mid-release: {left}");
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    // Nothing comes while the leaders are away, and no more than three seconds' worth for that.
    assert!((100.0..=220.0).contains(&rate), "{rate}");
    until_quota(&cluster, &payer("moves"), Some(BEFORE)).await;
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

#[tokio::test]
async fn a_bootstrap_address_where_nobody_listens_keeps_nothing_from_being_put_back() {
    let broker = shared().await;
    broker.topic("one-down", 1).await;
    let at_start = "--group one-down --topic one-down --reset-offsets --to-earliest --execute";
    broker.tool("consumer-groups", at_start).await;
    let nobody = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let staged = Staged::new(
        at(vec![nobody.to_string(), broker.address()]),
        queue("one-down", 10.0, Span::seconds(1)),
    )
    .ready()
    .await;
    let (cluster, client) = (staged.cluster(), payer("one-down"));
    cluster.set_quota(&client, Some(4096.0)).await.unwrap();
    until_quota(&cluster, &client, Some(4096.0)).await;
    let left = left_behind(&staged.scene).await;
    assert_eq!(left.len(), 1, "{left:?}");
    let end = release_retry(&staged.scene).await;
    assert_eq!((end.state, end.leftovers), (StepState::Done, vec![]));
    until_quota(&cluster, &client, None).await;
    cluster.set_quota(&client, Some(4096.0)).await.unwrap();
    broker.by_hand(left[0].by_hand.as_deref().unwrap(), &[]).await;
    until_quota(&cluster, &client, None).await;
}

#[tokio::test]
async fn a_bootstrap_address_that_never_answers_is_waited_for_once() {
    let broker = shared().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, tried) = (
        silent.local_addr().unwrap().to_string(),
        Arc::new(AtomicU32::new(0)),
    );
    let count = tried.clone();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((connection, _)) = silent.accept().await {
            count.fetch_add(1, Relaxed);
            open.push(connection);
        }
    });
    let queue = queue("one-silent", 10.0, Span::seconds(1));
    let cluster = Staged::new(at(vec![address, broker.address()]), queue).cluster();
    for _ in 0..4 {
        assert_eq!(cluster.quota(&payer("one-silent")).await, Ok(None));
    }
    assert_eq!(tried.load(Relaxed), 1);
}

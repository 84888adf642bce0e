//! Consumers that somebody else's quota has muted before recovery: a broker keeps them so when the quota is gone.

use std::{
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use allclear::{
    engine::recovery::{left_behind, release_retry},
    model::{recovery::StepState, time::Span},
};
use tokio::time::Instant;

use crate::{
    part::{Broker, queue, shared, until_quota},
    parts_support::{Process, Staged},
    quota::payer,
};

/// Lets a tenth of it wait that comes while the consumer is muted.
const RATE: f64 = 1000.0;

/// One batch is fetched whole or not at all: a part of the messages would mute for a part of the time.
const IN_ONE_BATCH: &str = " --command-property linger.ms=5000 batch.size=65536";

/// A consumer that had caught up with one message, and is muted for 15,000 bytes ÷ this quota, less the window: the messages wait, and are
/// fewer than may be on their way. As soon as recovery changes anything, more come.
async fn muted(
    broker: &Broker,
    name: &str,
    quota: f64,
    within: Span,
    settings: &[&str],
) -> (Staged, Process) {
    broker.topic(name, 1).await;
    broker.produce(name, 1, 200).await;
    let consumer = broker.consume_aloud(name, name, name, settings);
    let staged = Staged::new(broker.plaintext(), queue(name, RATE, within));
    staged.until_backlog(|backlog| backlog == 0).await;
    let staged = staged.ready().await;
    let cluster = staged.cluster();
    cluster.set_quota(&payer(name), Some(quota)).await.unwrap();
    until_quota(&cluster, &payer(name), Some(quota)).await;
    let args = format!("--topic {name} --num-records 70 --record-size 200 --throughput -1{IN_ONE_BATCH}");
    broker.tool("producer-perf-test", &args).await;
    broker.until_muted(name).await;
    let produce = broker.file("bin/kafka-producer-perf-test.sh");
    let (at, topic) = (broker.address(), name.to_owned());
    let have_come = AtomicBool::new(false);
    let come = move || {
        if have_come.swap(true, Relaxed) {
            return;
        }
        let mut command = Command::new(&produce);
        command.args(["--bootstrap-server", &at, "--topic", &topic, "--throughput", "-1"]);
        command.args(["--num-records", "300", "--record-size", "200"]);
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
    };
    assert!(staged.ledger.at_change.set(Box::new(come)).is_ok());
    (staged, consumer)
}

#[tokio::test]
async fn a_consumer_that_another_quota_has_muted_is_told_of_and_waited_for() {
    let broker = shared().await;
    let within = Span::seconds(240);
    let (staged, _consumer) = muted(&broker, "muted", 140.0, within, &[]).await;
    let begin = Instant::now();
    let end = release_retry(&staged.scene).await;
    println!("{} after {:?}", end.detail.en(), begin.elapsed());
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    assert!(
        begin.elapsed() > Duration::from_secs(34),
        "it was muted for no longer than a release's own quotas mute"
    );
    let said = staged.said();
    for told in ["has muted stay so for up to", "nothing has moved for"] {
        assert!(said.iter().any(|said| said.contains(told)), "{told}: {said:?}");
    }
    assert_eq!(left_behind(&staged.scene).await, vec![]);
    assert_eq!(staged.cluster().quota(&payer("muted")).await.unwrap(), None);
}

#[tokio::test]
async fn a_consumer_that_is_muted_for_longer_than_the_release_may_take_is_a_leftover_until_somebody_restarts_it()
 {
    let broker = shared().await;
    let settings = &["session.timeout.ms=6000"];
    let (staged, consumer) = muted(&broker, "for-long", 20.0, Span::seconds(12), settings).await;
    let end = release_retry(&staged.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(end.detail.en().contains("restart them"), "{}", end.detail.en());
    let waits = |left: &[allclear::model::recovery::Leftover]| {
        left.iter().any(|l| l.why.en().contains("370 waiting, 0 before"))
    };
    assert!(waits(&end.leftovers), "{:?}", end.leftovers);
    let left = left_behind(&staged.scene).await;
    assert!(waits(&left), "{left:?}");
    assert_eq!(staged.cluster().quota(&payer("for-long")).await.unwrap(), None);

    drop(consumer);
    let _again = broker.consume("for-long", "for-long", "for-long", settings);
    staged.until_backlog(|backlog| backlog == 0).await;
    assert_eq!(left_behind(&staged.scene).await, vec![]);
}

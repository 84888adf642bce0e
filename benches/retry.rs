//! A retry topic of a real Kafka let go by quota: how near the measured rate comes to the rate that was asked for.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../tests/kafka_parts/stand.rs"]
mod stand;

use std::time::Duration;

use allclear::{
    engine::recovery::{hold_retry, release_retry},
    model::{quota::Payer, recovery::StepState, time::Span},
};
use stand::{Broker, Staged, queue};
use tokio::time::Instant;

const RATE: f64 = 200.0;
const STORM: u32 = 26_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let broker = Broker::start().await;
        println!("{STORM} messages of 200 bytes, 3 partitions, asked for {RATE}/s");
        release(
            &broker,
            "small",
            &["max.partition.fetch.bytes=20000", "fetch.max.bytes=40000"],
        )
        .await;
        release(&broker, "default", &[]).await;
    });
}

async fn release(broker: &Broker, name: &str, settings: &[&str]) {
    broker.topic(name, 3).await;
    broker.produce(name, 100, 200).await;
    let _consumer = broker.consume(name, name, name, settings);
    let staged = Staged::new(broker.plaintext(), queue(name, RATE, Span::seconds(300)));
    staged.until_backlog(|backlog| backlog == 0).await;
    let staged = staged.ready().await;
    let payer = Payer {
        user: None,
        client: name.to_owned(),
    };
    // The consumer stands still while the storm gathers, muted for no longer than by a hold.
    let cluster = staged.cluster();
    cluster.set_quota(&payer, Some(1700.0)).await.unwrap();
    broker.produce(name, STORM, 200).await;
    let held = hold_retry(&staged.scene).await;
    assert_eq!(held.state, StepState::Held, "{held:?}");
    let (first, begin) = (staged.backlog().await, Instant::now());
    let mut seen: Vec<(f64, f64)> = Vec::new();
    let watch = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let moved = first.saturating_sub(staged.backlog().await);
            seen.push((begin.elapsed().as_secs_f64(), moved as f64));
        }
    };
    let end = tokio::select! {
        end = release_retry(&staged.scene) => end,
        () = watch => unreachable!("it watches for ever"),
    };
    println!("{name} fetches: {:?}, {}", end.state, end.detail);
    let minute = seen
        .iter()
        .find(|(at, _)| *at >= 60.0)
        .map(|(at, moved)| moved / at);
    println!("  the first 60 s: {:.1}/s", minute.unwrap_or_default());
    let windows = seen.iter().filter_map(|(at, moved)| {
        let (then, there) = seen.iter().find(|(then, _)| then - at >= 60.0)?;
        Some((there - moved) / (then - at))
    });
    let (least, most) = windows.fold((f64::MAX, 0.0_f64), |(least, most), rate| {
        (least.min(rate), most.max(rate))
    });
    println!("  any 60 s of it: {least:.1} to {most:.1}/s");
}

//! Recovery against a real broker.

use std::time::Duration;

use allclear::{
    drivers::Patience,
    engine::recovery::StepEnd,
    model::{
        environment::Kafka,
        playbook::{KafkaQueue, Playbook, RetryQueue},
        secret::Secrets,
    },
};
use tokio::time::Instant;

use crate::{
    part::main,
    parts_support::{PATIENCE, Staged, environment, nothing_to_do, plan},
};

impl Staged {
    pub fn new(kafka: Kafka, queue: KafkaQueue) -> Self {
        Self::with(kafka, queue, Secrets::none())
    }

    pub fn with(kafka: Kafka, queue: KafkaQueue, secrets: Secrets) -> Self {
        Self::whole(kafka, queue, secrets, PATIENCE)
    }

    pub fn whole(kafka: Kafka, queue: KafkaQueue, secrets: Secrets, patience: Patience) -> Self {
        let mut environment = environment();
        environment.kafka.insert(main(), kafka);
        let playbook = Playbook {
            retry_queues: vec![RetryQueue::Kafka(queue)],
            ..nothing_to_do()
        };
        Self::of(plan(environment, &[], playbook), secrets, patience)
    }
}

/// What a release was measured to let go, in messages a second.
#[derive(Debug, Clone, Copy)]
pub struct Minutes {
    pub first: f64,
    pub least: f64,
    pub most: f64,
}

/// Runs a release and watches the group meanwhile; its first minute, and the least and the most of any.
pub async fn minutes(staged: &Staged, release: impl Future<Output = StepEnd>) -> (StepEnd, Minutes) {
    let (first, begin) = (staged.backlog().await, Instant::now());
    let mut seen: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    let watch = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let moved = first.saturating_sub(staged.backlog().await);
            seen.push((begin.elapsed().as_secs_f64(), moved as f64));
        }
    };
    let end = tokio::select! {
        end = release => end,
        () = watch => unreachable!("it watches for ever"),
    };
    // At the end the quota is gone: what comes then is no release any more.
    let whole = seen.last().map_or(0.0, |(_, moved)| *moved);
    seen.retain(|(_, moved)| *moved < 0.98 * whole);
    let minutes: Vec<f64> = seen
        .iter()
        .filter_map(|(at, moved)| {
            let (then, there) = seen.iter().find(|(then, _)| then - at >= 60.0)?;
            Some((there - moved) / (then - at))
        })
        .collect();
    let measured = Minutes {
        first: minutes.first().copied().unwrap_or_default(),
        least: minutes.iter().copied().fold(f64::MAX, f64::min),
        most: minutes.iter().copied().fold(0.0, f64::max),
    };
    (end, measured)
}

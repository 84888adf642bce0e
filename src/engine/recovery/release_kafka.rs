//! A retry topic let go by quota: the quota follows the measured progress, and then goes back to what it was.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        kafka::{Position, Weight},
    },
    model::{
        recovery::{StepId, StepState},
        time::Span,
    },
};

use super::{
    Scene, StepEnd, elapsed,
    retry::count,
    retry_kafka::{COMMIT, LOOK, Topic, WINDOW},
};

/// After the quota is gone, how long a consumer may still be muted: a window, and the commit that shows it.
const UNMUTED: Duration = Duration::from_secs(WINDOW as u64 + COMMIT.as_secs() + 3);

/// Lets the topic go at its rate until its backlog is back where it was, then puts the quotas back.
pub(super) async fn release(scene: &Scene, topic: &Topic<'_>) -> Result<StepEnd, DriverError> {
    let first = topic.settled(scene).await?;
    if topic.differences(scene, &first).await.is_empty() {
        let detail = format!("backlog {}, as before", count(first.backlog()));
        return Ok(StepEnd::new(StepState::Nothing, detail));
    }
    let mut followed = format!("backlog {}", count(first.backlog()));
    if first.backlog() > topic.back_at() {
        let (arrived, detail) = follow(scene, topic, first).await?;
        if !arrived {
            // Without its quota it would be the storm again: it goes on at the playbook's rate.
            let now = topic.position(scene).await?;
            return Ok(StepEnd::of(StepState::Failed, detail, topic.differences(scene, &now).await));
        }
        followed = detail;
    }
    topic.put_back(scene).await?;
    let end = unmuted(scene, topic, &followed).await?;
    let left = topic.differences(scene, &end).await;
    Ok(StepEnd::of(StepState::Done, followed, left))
}

/// A consumer that the broker has muted stays so for up to a window after the quota is gone: its backlog grows meanwhile.
async fn unmuted(scene: &Scene, topic: &Topic<'_>, followed: &str) -> Result<Position, DriverError> {
    let begin = Instant::now();
    loop {
        let now = topic.position(scene).await?;
        if now.backlog() <= topic.back_at() || begin.elapsed() >= UNMUTED {
            return Ok(now);
        }
        let left = Span::seconds((UNMUTED.saturating_sub(begin.elapsed())).as_secs());
        let detail = format!(
            "{followed}; the quota is as before, consumers that are muted stay so for up to {left} more: backlog {}",
            count(now.backlog())
        );
        scene.waiting(StepId::Release, detail);
        tokio::time::sleep(LOOK).await;
    }
}

/// Follows the backlog down; holds again while a guard is bad. Tells whether it arrived, and the measured rate.
async fn follow(scene: &Scene, topic: &Topic<'_>, first: Position) -> Result<(bool, String), DriverError> {
    let begin = Instant::now();
    let deadline = begin + topic.queue.within.into();
    let mut pace = Pace::starting(topic.queue.rate, topic.weight(&first).await, first.clone());
    loop {
        let now = topic.position(scene).await?;
        let detail = format!(
            "backlog {} → {} at {} of {}/s",
            count(first.backlog()),
            count(now.backlog()),
            pace.measured(&now),
            topic.queue.rate
        );
        if now.backlog() <= topic.back_at() {
            let took = Span::seconds(elapsed(begin).0 / 1000);
            return Ok((true, format!("{detail} in {took}")));
        }
        if Instant::now() >= deadline {
            let missing = format!("not back at {} within {}", count(topic.back_at()), topic.queue.within);
            return Ok((false, format!("{detail}; {missing}")));
        }
        scene.waiting(StepId::Release, detail);
        if let Some(bytes) = pace.quota(&now) {
            topic.limit(scene, bytes).await?;
        }
        tokio::time::sleep(LOOK).await;
    }
}

struct Pace {
    rate: f64,
    weight: Weight,
    since: Instant,
    from: Position,
    set: Option<f64>,
}

impl Pace {
    fn starting(rate: f64, weight: Weight, from: Position) -> Self {
        Self { rate, weight, since: Instant::now(), from, set: None }
    }

    fn measured(&self, now: &Position) -> String {
        match self.since.elapsed().as_secs_f64() {
            seconds if seconds >= 5.0 => format!("{:.1}/s measured", now.moved_since(&self.from) as f64 / seconds),
            _ => "a rate not measured yet".to_owned(),
        }
    }

    fn quota(&mut self, _now: &Position) -> Option<f64> {
        let q = self.rate * self.weight.message;
        (self.set != Some(q)).then(|| { self.set = Some(q); q })
    }
}

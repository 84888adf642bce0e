//! A retry queue let go by its own switch, at its rate, until the backlog is back where it was; then the switch as it stood.

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, retry_http::QueueSeen},
    engine::recovery::{Scene, StepEnd, elapsed, queues::count},
    model::{
        recovery::{StepId, StepState},
        time::Span,
    },
};

use super::Switch;

pub(in crate::engine::recovery::queues) async fn release(
    scene: &Scene,
    queue: &Switch<'_>,
) -> Result<StepEnd, DriverError> {
    let first = queue.read(scene, scene.deadline()).await?;
    if queue.leftover(&first).is_none() {
        return Ok(StepEnd::new(
            StepState::Nothing,
            format!("backlog {}, as before", count(first.backlog)),
        ));
    }
    let mut followed = String::new();
    // A queue that was held before the drill is not let go by it.
    if first.backlog > queue.back_at() && !queue.before.held {
        let (arrived, detail) = follow(scene, queue, first).await?;
        if !arrived {
            // Letting it go without its rate now would be the storm again: it goes on at the playbook's rate.
            let now = queue.read(scene, scene.deadline()).await?;
            let leftovers = queue.leftover(&now).into_iter().collect();
            return Ok(StepEnd::of(StepState::Failed, detail, leftovers));
        }
        followed = detail;
    }
    let now = queue.read(scene, scene.deadline()).await?;
    if !now.stands(queue.before.held, queue.before.rate) {
        queue.set(scene, queue.before.held, queue.before.rate).await?;
    }
    let end = queue.read(scene, scene.deadline()).await?;
    if followed.is_empty() {
        followed = format!("backlog {}", count(end.backlog));
    }
    Ok(StepEnd::of(
        StepState::Done,
        followed,
        queue.leftover(&end).into_iter().collect(),
    ))
}

/// Follows the backlog down; holds again while a guard is bad. Tells whether it arrived, and the measured rate.
async fn follow(scene: &Scene, queue: &Switch<'_>, first: QueueSeen) -> Result<(bool, String), DriverError> {
    let begin = Instant::now();
    let deadline = begin + queue.within.into();
    queue.set(scene, false, Some(queue.rate)).await?;
    let mut paced = Pace::starting(queue.read(scene, scene.deadline()).await?);
    loop {
        let now = queue.read(scene, scene.deadline()).await?;
        let detail = format!(
            "backlog {} → {} at {} of {}/s",
            count(first.backlog),
            count(now.backlog),
            paced.measured(now),
            queue.rate
        );
        if now.backlog <= queue.back_at() {
            return Ok((
                true,
                format!("{detail} in {}", Span::seconds(elapsed(begin).0 / 1000)),
            ));
        }
        if Instant::now() >= deadline {
            return Ok((
                false,
                format!(
                    "{detail}; not back at {} within {}",
                    count(queue.back_at()),
                    queue.within
                ),
            ));
        }
        scene.waiting(StepId::Release, detail);
        if let Some(which) = scene.bus.guard_holds() {
            paced.rest(now);
            queue.set(scene, true, Some(queue.rate)).await?;
            while scene.bus.guard_holds().is_some() && Instant::now() < deadline {
                scene.waiting(StepId::Release, format!("held again, the guard is bad: {which}"));
                scene.pause().await;
            }
            queue.set(scene, false, Some(queue.rate)).await?;
            paced.go_on(queue.read(scene, scene.deadline()).await?);
        }
        scene.pause().await;
    }
}

/// Measures the rate over the time in which the queue was really let go.
struct Pace {
    since: Instant,
    from: u64,
    earlier: (f64, u64),
}

impl Pace {
    fn starting(now: QueueSeen) -> Self {
        Self {
            since: Instant::now(),
            from: now.released,
            earlier: (0.0, 0),
        }
    }

    fn total(&self, now: QueueSeen) -> (f64, u64) {
        let seconds = self.since.elapsed().as_secs_f64();
        (
            self.earlier.0 + seconds,
            self.earlier.1 + now.released.saturating_sub(self.from),
        )
    }

    fn rest(&mut self, now: QueueSeen) {
        self.earlier = self.total(now);
    }

    fn go_on(&mut self, now: QueueSeen) {
        (self.since, self.from) = (Instant::now(), now.released);
    }

    fn measured(&self, now: QueueSeen) -> String {
        match self.total(now) {
            (seconds, released) if seconds >= 0.2 => format!("{:.1}/s measured", released as f64 / seconds),
            _ => "--/s measured".to_owned(),
        }
    }
}

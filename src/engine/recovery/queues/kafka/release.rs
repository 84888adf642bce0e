//! A retry topic let go by quota: the quota follows the measured progress, and then goes back to what it was.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, kafka::Position},
    engine::recovery::{
        Scene, StepEnd, elapsed,
        queues::{count, rate::Measured},
    },
    model::{
        recovery::{StepId, StepState},
        time::Span,
    },
};

use super::{
    COMMIT, LOOK, Topic, WINDOW,
    hold::{Looks, differs},
    pace::Pace,
    scale,
};

/// After the quota is gone, how long a consumer may still be muted: a window, and the commit that shows it.
const UNMUTED: Duration = Duration::from_secs(WINDOW as u64 + COMMIT.as_secs() + 3);
/// Between two changes of a quota.
const SETTLE: Duration = Duration::from_secs(1);

/// Lets the topic go at its rate until its backlog is back where it was, then puts the quotas back.
pub(in crate::engine::recovery::queues) async fn release(
    scene: &Scene,
    topic: &Topic<'_>,
) -> Result<StepEnd, DriverError> {
    // A topic that is held is not looked at for a commit's time: its release would begin that much later.
    let first = match topic.is_limited(scene).await? {
        true => topic.position(scene).await?,
        false => topic.settled(scene).await?,
    };
    let stays = topic.cluster.may_land_for().is_none();
    if stays && topic.differences(scene, &first).await.is_empty() {
        let detail = format!("backlog {}, as before", count(first.backlog()));
        return Ok(StepEnd::new(StepState::Nothing, detail));
    }
    if let Some(scale) = &topic.scale
        && let Some(end) = scale::let_go(scene, topic, scale, &first).await?
    {
        return Ok(end);
    }
    let mut followed = format!("backlog {}", count(first.backlog()));
    if first.backlog() > topic.back_at() {
        let (arrived, detail) = follow(scene, topic, first).await?;
        if !arrived {
            // Without its quota it would be the storm again: it goes on at the playbook's rate.
            let now = topic.position(scene).await?;
            return Ok(StepEnd::of(
                StepState::Failed,
                detail,
                topic.differences(scene, &now).await,
            ));
        }
        followed = detail;
    }
    put_back(scene, topic, &followed).await?;
    if let Some(scale) = &topic.scale {
        scale.wait_for_ready(scene, &followed).await?;
    }
    let end = unmuted(scene, topic, &followed).await?;
    let left = topic.differences(scene, &end).await;
    Ok(StepEnd::of(StepState::Done, followed, left))
}

/// Puts the quotas back, and looks again when a change that nobody answered can no longer take effect.
async fn put_back(scene: &Scene, topic: &Topic<'_>, followed: &str) -> Result<(), DriverError> {
    loop {
        topic.put_back(scene).await?;
        let Some(left) = topic.cluster.may_land_for() else {
            return Ok(());
        };
        let detail = format!(
            "{followed}; the quota is as before, but a change that nobody answered may still take effect for {}",
            Span::seconds(left.as_secs() + 1)
        );
        scene.waiting(StepId::Release, detail);
        tokio::time::sleep(left.min(LOOK)).await;
    }
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
    let mut run = Run::starting(topic, first.clone(), &first).await;
    let mut looks = Looks::default();
    loop {
        let now = topic.position(scene).await?;
        looks.push(&now);
        let detail = format!(
            "backlog {} → {} at {} of {}/s{}",
            count(first.backlog()),
            count(now.backlog()),
            run.measured(&now),
            topic.queue.rate,
            run.coarse()
        );
        if now.backlog() <= topic.back_at() {
            let took = Span::seconds(elapsed(begin).0 / 1000);
            return Ok((true, format!("{detail} in {took}")));
        }
        if Instant::now() >= deadline {
            let missing = format!(
                "not back at {} within {}",
                count(topic.back_at()),
                topic.queue.within
            );
            return Ok((false, format!("{detail}; {missing}")));
        }
        if scene.bus.guard_holds().is_some() {
            hold_again(scene, topic, &mut looks, deadline).await?;
            let then = topic.position(scene).await?;
            run = run.going_on(topic, &now, then).await;
            continue;
        }
        scene.waiting(StepId::Release, detail);
        if let Some(bytes) = run.quota(&now) {
            topic.limit(scene, bytes).await?;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Holds the topic while a guard is bad: as low as what was let go just now allows.
async fn hold_again(
    scene: &Scene,
    topic: &Topic<'_>,
    looks: &mut Looks,
    deadline: Instant,
) -> Result<(), DriverError> {
    let mut set = 0.0;
    while let Some(which) = scene.bus.guard_holds().filter(|_| Instant::now() < deadline) {
        scene.waiting(StepId::Release, format!("held again, the guard is bad: {which}"));
        let now = topic.position(scene).await?;
        looks.push(&now);
        let bytes = looks.hold(topic.weight(&now).await);
        if differs(set, bytes) {
            topic.limit(scene, bytes).await?;
            set = bytes;
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// A stretch in which the topic is let go, and what was measured in the stretches before it.
struct Run {
    pace: Pace,
    rate: Measured,
    from: Position,
    set: Option<(Instant, f64)>,
}

impl Run {
    async fn starting(topic: &Topic<'_>, from: Position, seen: &Position) -> Self {
        Self {
            pace: Pace::new(
                topic.queue.rate,
                topic.weight(seen).await,
                topic.flows(seen).await,
            ),
            rate: Measured::starting(),
            from,
            set: None,
        }
    }

    async fn going_on(mut self, topic: &Topic<'_>, held: &Position, from: Position) -> Self {
        self.rate.rest(held.moved_since(&self.from));
        let next = Self::starting(topic, from.clone(), &from).await;
        self.rate.go_on();
        Self {
            rate: self.rate,
            ..next
        }
    }

    fn measured(&self, now: &Position) -> String {
        self.rate.told(now.moved_since(&self.from), WINDOW)
    }

    /// Why a minute may stray from the rate, if it may.
    fn coarse(&self) -> String {
        let coarse = self.pace.coarse();
        coarse.map_or_else(String::new, |seconds| {
            format!(
                " (in bursts of {seconds:.0} s: any minute may be {:.0} % off)",
                seconds / 0.6
            )
        })
    }

    /// The next quota, if it differs enough from the last: each one is written down before it is set.
    fn quota(&mut self, now: &Position) -> Option<f64> {
        let bytes = self.pace.quota(self.rate.seconds(), &now.moved_each(&self.from));
        let same = self
            .set
            .is_some_and(|(at, set)| at.elapsed() < SETTLE || (bytes / set - 1.0).abs() < 0.05);
        (!same).then(|| {
            self.set = Some((Instant::now(), bytes));
            bytes
        })
    }
}

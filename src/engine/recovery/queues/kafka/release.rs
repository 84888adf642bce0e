//! A retry topic let go by quota: the quota follows the measured progress, and then goes back to what it was.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, kafka::Position},
    engine::recovery::{
        Scene, StepEnd,
        queues::{
            as_before, backlog, held_again,
            looks::Looks,
            not_back,
            rate::{Measured, under_way},
            took,
        },
    },
    model::{
        recovery::{StepId, StepState},
        said::{Said, said},
        time::Span,
    },
};

use super::{
    LOOK, Topic, WINDOW,
    hold::{MEMORY, differs},
    pace::Pace,
    scale,
    still::{OWN, Still},
};

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
        return Ok(StepEnd::new(StepState::Nothing, as_before(first.backlog())));
    }
    if let Some(scale) = &topic.scale
        && let Some(end) = scale::let_go(scene, topic, scale, &first).await?
    {
        return Ok(end);
    }
    let until = Instant::now() + topic.queue.within.into();
    let (mut now, mut still) = (first.clone(), Still::from(&first));
    let mut followed = backlog(first.backlog());
    loop {
        if now.backlog() > topic.back_at() {
            let (arrived, detail) = follow(scene, topic, now, until, &mut still).await?;
            if !arrived {
                // Without its quota it would be the storm again: it goes on at the playbook's rate.
                let now = topic.position(scene).await?;
                let left = topic.differences(scene, &now).await;
                return Ok(StepEnd::of(StepState::Failed, detail, left));
            }
            followed = detail;
        }
        put_back(scene, topic, &followed).await?;
        if let Some(scale) = &topic.scale {
            scale.wait_for_ready(scene, &followed).await?;
        }
        now = unmuted(scene, topic, &followed, &mut still).await?;
        // What has gathered meanwhile does not come all at once either: it is let go at the rate.
        if now.backlog() <= topic.back_at() || Instant::now() >= until {
            break;
        }
    }
    let left = topic.differences(scene, &now).await;
    if !left.is_empty() {
        followed = still.told(followed);
    }
    Ok(StepEnd::of(StepState::Done, followed, left))
}

/// Puts the quotas back, and looks again when a change that nobody answered can no longer take effect.
async fn put_back(scene: &Scene, topic: &Topic<'_>, followed: &Said) -> Result<(), DriverError> {
    loop {
        topic.put_back(scene).await?;
        let Some(left) = topic.cluster.may_land_for() else {
            return Ok(());
        };
        let within = Span::seconds(left.as_secs() + 1);
        let detail = said!(
            followed;
            "{followed}; the quota is as before, but a change that nobody answered may still take effect for {within}",
            "{followed}；配额已还原，但未应答的改动在 {within} 内仍可能生效"
        );
        scene.waiting(StepId::Release, detail);
        tokio::time::sleep(left.min(LOOK)).await;
    }
}

/// A consumer that a broker has muted stays so when the quota is gone: its backlog grows meanwhile. Waits for as long as a quota of
/// this run may have muted it.
async fn unmuted(
    scene: &Scene,
    topic: &Topic<'_>,
    followed: &Said,
    still: &mut Still,
) -> Result<Position, DriverError> {
    let begin = Instant::now();
    loop {
        let now = topic.position(scene).await?;
        still.sees(&now);
        if now.backlog() <= topic.back_at() || begin.elapsed() >= OWN {
            return Ok(now);
        }
        let left = Span::seconds((OWN.saturating_sub(begin.elapsed())).as_secs());
        let detail = said!(
            followed, backlog = backlog(now.backlog());
            "{followed}; the quota is as before, consumers that this release has muted stay so for up to {left} more: {backlog}",
            "{followed}；配额已还原，被本次放行静默的消费者至多还要 {left}：{backlog}"
        );
        scene.waiting(StepId::Release, detail);
        tokio::time::sleep(LOOK).await;
    }
}

/// Follows the backlog down; holds again while a guard is bad. Tells whether it arrived, and the measured rate.
async fn follow(
    scene: &Scene,
    topic: &Topic<'_>,
    first: Position,
    deadline: Instant,
    still: &mut Still,
) -> Result<(bool, Said), DriverError> {
    let begin = Instant::now();
    let mut stretch = Stretch::starting(topic, first.clone(), &first).await;
    let mut looks = Looks::over(MEMORY);
    loop {
        let now = topic.position(scene).await?;
        looks.push(now.clone());
        still.sees(&now);
        let way = (first.backlog(), now.backlog());
        let detail = stretch.coarsely(under_way(way, &stretch.measured(&now), topic.queue.rate));
        if now.backlog() <= topic.back_at() {
            return Ok((true, took(&detail, begin)));
        }
        let detail = still.told(detail);
        if Instant::now() >= deadline {
            let missing = not_back(topic.back_at(), topic.queue.within);
            return Ok((false, detail.and(&missing)));
        }
        if scene.bus.bad_guard().is_some() {
            hold_again(scene, topic, &mut looks, deadline).await?;
            let then = topic.position(scene).await?;
            *still = Still::from(&then);
            stretch = stretch.going_on(topic, &now, then).await;
            continue;
        }
        scene.waiting(StepId::Release, detail);
        // Leaders move, and partitions come to their end.
        if let Some(flows) = topic.flows(&now).await {
            stretch.pace.flows(flows);
        }
        if let Some(bytes) = stretch.quota(&now) {
            topic.limit(scene, bytes).await?;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Holds the topic while a guard is bad: as low as what was let go just now allows.
async fn hold_again(
    scene: &Scene,
    topic: &Topic<'_>,
    looks: &mut Looks<Position>,
    deadline: Instant,
) -> Result<(), DriverError> {
    let mut set = 0.0;
    while let Some(which) = scene.bus.bad_guard().filter(|_| Instant::now() < deadline) {
        scene.waiting(StepId::Release, held_again(&which));
        let now = topic.position(scene).await?;
        looks.push(now.clone());
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
struct Stretch {
    pace: Pace,
    rate: Measured,
    from: Position,
    set: Option<(Instant, f64)>,
}

impl Stretch {
    async fn starting(topic: &Topic<'_>, from: Position, seen: &Position) -> Self {
        Self {
            pace: Pace::new(
                topic.queue.rate,
                topic.weight(seen).await,
                topic.flows(seen).await.unwrap_or(1),
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

    fn measured(&self, now: &Position) -> Said {
        self.rate.told(now.moved_since(&self.from), WINDOW)
    }

    /// The same, and why a minute may stray from the rate, if it may.
    fn coarsely(&self, detail: Said) -> Said {
        let Some(seconds) = self.pace.coarse() else {
            return detail;
        };
        let off = seconds / 0.6;
        said!(
            detail;
            "{detail} (in bursts of {seconds:.0} s: any minute may be {off:.0} % off)",
            "{detail}（一批 {seconds:.0} 秒的量：任一分钟可偏差 {off:.0} %）"
        )
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

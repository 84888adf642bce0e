//! How a retry topic of Kafka is held by quota, and how long that keeps its consumers muted.
//!
//! A broker mutes a consumer for what went through in its window and what it asks for now, divided by the quota, less the window;
//! and it does not look again when the quota changes. At one byte a second a megabyte would keep a consumer muted for eleven days
//! after the quota is gone. So the quota of a hold follows what the last window has really let through: it falls as the consumers
//! come to rest, and ends where one batch is still kept out, and no lower.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        kafka::{Position, Weight},
    },
    engine::recovery::{
        Scene, StepEnd,
        queues::{
            backlog,
            looks::{COMMIT, Looks, Progress},
            rate::measured,
        },
    },
    model::{
        recovery::{Leftover, StepId, StepState},
        said::said,
    },
};

use super::{LOOK, Topic, WINDOW, scale};

/// How long a consumer may stay muted after a hold, in seconds, as far as the measured progress tells: what the release loses at its
/// beginning. Lower, and a batch that is a little smaller than the largest would pass.
const MUTED: f64 = 3.0;
/// What the last window let through is looked for in a little more than that.
pub(super) const MEMORY: Duration = Duration::from_secs(WINDOW as u64 + 2);

impl Progress for Position {
    fn moved_since(&self, earlier: &Self) -> u64 {
        self.moved_since(earlier)
    }
}

impl Looks<Position> {
    /// The quota that holds messages of this size now, in bytes a second.
    pub(super) fn hold(&self, weight: Weight) -> f64 {
        let passed = self.pace(MEMORY, LOOK) * MEMORY.as_secs_f64() * weight.message;
        held_at(passed, weight.batch)
    }

    /// The same where a keeper before this one had begun with a quota. Those that it has muted do not move now and have moved before, and
    /// their broker still counts that: for as long as these looks do not know it, the quota falls no lower.
    fn hold_on(&self, begun: f64, weight: Weight) -> f64 {
        let know_all = self.reach() >= MEMORY;
        let bytes = self.hold(weight);
        if know_all { bytes } else { bytes.max(begun) }
    }
}

/// Lets no batch through while so many bytes have passed in the window, and mutes for no longer than it must.
fn held_at(passed: f64, batch: f64) -> f64 {
    ((passed + batch) / (WINDOW + MUTED)).ceil()
}

/// Holds the topic if its backlog has grown: sets the quotas, then watches until the group really stands still.
pub(in crate::engine::recovery::queues) async fn hold(
    scene: &Scene,
    topic: &Topic<'_>,
) -> Result<StepEnd, DriverError> {
    match &topic.scale {
        Some(scale) => scale::hold(scene, topic, scale).await,
        None => held(scene, topic).await,
    }
}

async fn held(scene: &Scene, topic: &Topic<'_>) -> Result<StepEnd, DriverError> {
    let (mut looks, until) = (Looks::over(MEMORY), Instant::now() + COMMIT);
    let now = loop {
        let now = topic.position(scene).await?;
        looks.push(now.clone());
        let backlog = backlog(now.backlog());
        if now.backlog() <= topic.back_at() {
            return Ok(StepEnd::new(StepState::Nothing, backlog));
        }
        scene.working(StepId::Retry, backlog);
        if Instant::now() >= until {
            break now;
        }
        tokio::time::sleep(LOOK).await;
    };
    let Rest {
        still,
        pace,
        bytes,
        backlog: left,
    } = come_to_rest(scene, topic, looks, topic.weight(&now).await).await?;
    let (backlog, payers) = (backlog(left), topic.payers());
    if still {
        let detail = said!(
            backlog, pace = measured(pace);
            "{backlog}, {pace}; {payers} at {bytes} B/s",
            "{backlog}，{pace}；{payers} 限 {bytes} B/s"
        );
        return Ok(StepEnd::new(StepState::Held, detail));
    }
    let why = said!(
        "its consumers go on at {pace:.1}/s under a quota of {bytes} B/s for {payers}; another quota stands above it, or they have other client ids: name `user` and `clients` in the drill",
        "{payers} 限 {bytes} B/s 后仍以 {pace:.1}/s 消费；可能另有优先的配额，或 client id 不同：请在演练中写明 `user` 与 `clients`"
    );
    let what = said!(
        topic = topic.what(), backlog;
        "{topic} is not held, {backlog}",
        "{topic} 未暂停，{backlog}"
    );
    let left = Leftover::seen(StepId::Retry, what, why.clone(), None);
    Ok(StepEnd::of(StepState::Failed, why, vec![left]))
}

/// How a group stands at the end of its hold.
struct Rest {
    still: bool,
    /// Messages a second.
    pace: f64,
    /// The quota, in bytes a second.
    bytes: f64,
    backlog: u64,
}

/// Lowers the quota as the consumers come to rest, until one commit's time shows no more than a tenth of the release's rate, or the
/// time is over: messages that a consumer has fetched already are still worked off.
async fn come_to_rest(
    scene: &Scene,
    topic: &Topic<'_>,
    mut looks: Looks<Position>,
    weight: Weight,
) -> Result<Rest, DriverError> {
    let begin = Instant::now();
    let deadline = scene.deadline() + 3 * MEMORY;
    let (mut set, lowest) = (0.0, held_at(0.0, weight.batch));
    let begun = begun(scene, topic).await?;
    loop {
        let bytes = looks.hold_on(begun, weight);
        if differs(set, bytes) {
            topic.limit(scene, bytes).await?;
            set = bytes;
        }
        tokio::time::sleep(LOOK).await;
        let now = topic.position(scene).await?;
        looks.push(now.clone());
        let pace = looks.pace(COMMIT, LOOK);
        let still = begin.elapsed() >= COMMIT && pace <= topic.queue.rate / 10.0 && set <= 2.0 * lowest;
        if still || Instant::now() >= deadline {
            return Ok(Rest {
                still,
                pace,
                bytes: set,
                backlog: now.backlog(),
            });
        }
        let detail = said!(
            backlog = backlog(now.backlog()), pace = measured(pace);
            "{backlog}, {pace}",
            "{backlog}，{pace}"
        );
        scene.working(StepId::Retry, detail);
    }
}

/// The highest quota that a recovery has begun with already, in bytes a second. 0: there is none.
async fn begun(scene: &Scene, topic: &Topic<'_>) -> Result<f64, DriverError> {
    let mut begun: f64 = 0.0;
    for before in &topic.before.quotas {
        let now = topic.quota(scene, before).await?;
        let is_ours = now != before.bytes;
        begun = begun.max(now.filter(|_| is_ours).unwrap_or(0.0));
    }
    Ok(begun)
}

/// Whether a quota is worth a change: each is written down first.
pub(super) fn differs(set: f64, bytes: f64) -> bool {
    (bytes / set - 1.0).abs() > 0.2 || set == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: i64) -> Position {
        super::super::tests::at(offset, 1_000_000)
    }

    /// How long a broker mutes a consumer that asks for a batch when so many bytes are in its window.
    fn muted(in_window: f64, batch: f64, quota: f64) -> f64 {
        (in_window + batch) / quota - WINDOW
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_consumer_is_muted_for_seconds_and_not_for_hours() {
        let weight = Weight {
            message: 1000.0,
            batch: 16_000.0,
        };
        let mut looks = Looks::over(MEMORY);
        for second in 0..30 {
            looks.push(at(second * 5000));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let in_window = 5000.0 * 1000.0 * WINDOW;
        assert!(muted(in_window, weight.batch, looks.hold(weight)) <= MUTED + 1.0);
        assert!(
            in_window + weight.batch > looks.hold(weight) * WINDOW,
            "it lets nothing through"
        );
        // At rest for a window, it is as low as keeps one batch out.
        for _ in 0..MEMORY.as_secs() + 1 {
            looks.push(at(29 * 5000));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        looks.push(at(29 * 5000));
        assert_eq!(looks.hold(weight), held_at(0.0, weight.batch));
        assert!(weight.batch > looks.hold(weight) * WINDOW);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_that_another_keeper_has_begun_is_not_lowered_before_its_window_is_over() {
        let weight = Weight {
            message: 1000.0,
            batch: 16_000.0,
        };
        let (mut looks, begun) = (Looks::over(MEMORY), 63_000.0);
        for _ in 0..MEMORY.as_secs() {
            looks.push(at(7));
            assert_eq!(looks.hold_on(begun, weight), begun);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        looks.push(at(7));
        assert_eq!(looks.hold_on(begun, weight), held_at(0.0, weight.batch));
    }
}

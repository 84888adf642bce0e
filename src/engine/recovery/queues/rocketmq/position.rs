//! How far a group is, at every master broker.

use std::{collections::BTreeMap, time::Duration};

use futures::FutureExt;
use tokio::time::{Instant, timeout};

use super::{COMMIT, Group, LOOK, Progress};
use crate::{
    drivers::{error::DriverError, rocketmq::Offsets},
    engine::recovery::{Scene, together, unread},
    model::{
        recovery::{Leftover, StepId},
        said::said,
    },
};

/// What a look at one broker may take: one that is slow must not keep the others unwatched.
pub(super) const GLANCE: Duration = Duration::from_secs(1);

/// How far a group is, and at which brokers that is not known.
#[derive(Debug, Default)]
pub(in crate::engine::recovery::queues) struct Position {
    pub(super) seen: BTreeMap<String, Offsets>,
    pub(in crate::engine::recovery::queues) missing: Vec<(String, DriverError)>,
}

impl Position {
    pub(in crate::engine::recovery::queues) fn backlog(&self) -> u64 {
        self.seen.values().map(|offsets| offsets.backlog()).sum()
    }
}

impl Progress for Position {
    fn moved_since(&self, earlier: &Position) -> u64 {
        let moved = self.seen.iter().map(|(broker, now)| {
            let then = earlier.seen.get(broker);
            then.map_or(0, |then| now.moved_since(then))
        });
        moved.sum()
    }
}

impl Group<'_> {
    /// The brokers whose part of the backlog is not known at this position.
    pub(super) fn unseen(&self, step: StepId, now: &Position) -> Vec<Leftover> {
        let missing = now.missing.iter().map(|(broker, error)| {
            let what = said!(
                what = self.what();
                "backlog of {what} on {broker}",
                "{what} 在 {broker} 上的积压"
            );
            unread(step, what, error, None)
        });
        missing.collect()
    }

    /// One look at every broker. One that does not answer at once is missing.
    pub(super) async fn look(&self) -> Position {
        let masters = self.masters.lock().await.clone();
        let looks = masters.into_keys().map(|broker| self.glance(broker).boxed());
        sorted(together(looks).await)
    }

    /// How far the group is; each broker is asked until it answers or the step's time is over.
    pub(super) async fn position(&self, scene: &Scene) -> Position {
        let deadline = scene.deadline();
        let masters = self.masters.lock().await.clone();
        let looks = masters
            .into_keys()
            .map(|broker| self.patient_look(scene, deadline, broker).boxed());
        sorted(together(looks).await)
    }

    /// The position as soon as it is back where it was, or the nearest to it that one commit's time shows.
    pub(in crate::engine::recovery::queues) async fn settled(&self, scene: &Scene) -> Position {
        let mut best = self.position(scene).await;
        let until = Instant::now() + COMMIT;
        while best.backlog() > self.back_at() && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
            let now = self.look().await;
            let no_worse = now.missing.len() <= best.missing.len();
            if no_worse && now.backlog() < best.backlog() {
                best = now;
            }
        }
        best
    }

    async fn glance(&self, broker: String) -> (String, Result<Offsets, DriverError>) {
        let offsets = timeout(GLANCE, self.offsets(&broker)).await.unwrap_or_else(|_| {
            Err(DriverError::TimedOut {
                what: self.what_at(&broker).en().to_owned(),
                after: GLANCE.into(),
            })
        });
        (broker, offsets)
    }

    async fn patient_look(
        &self,
        scene: &Scene,
        deadline: Instant,
        broker: String,
    ) -> (String, Result<Offsets, DriverError>) {
        let offsets = scene.persist(deadline, || self.offsets(&broker)).await;
        (broker, offsets)
    }

    async fn offsets(&self, broker: &str) -> Result<Offsets, DriverError> {
        let address = self.address(broker).await;
        let offsets = self
            .cluster
            .offsets(&address, &self.queue.group, &self.queue.topic)
            .await;
        self.moved_away(offsets).await
    }
}

fn sorted(looks: Vec<(String, Result<Offsets, DriverError>)>) -> Position {
    let mut position = Position::default();
    for (broker, offsets) in looks {
        match offsets {
            Ok(offsets) => {
                position.seen.insert(broker, offsets);
            }
            Err(error) => position.missing.push((broker, error)),
        }
    }
    position
}

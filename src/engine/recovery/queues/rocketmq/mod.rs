//! A consumer group of RocketMQ, and where its master brokers are.

mod before;
mod beside;
mod differences;
mod duty;
mod hold;
mod position;
mod release;
mod switch;

pub(super) use self::{before::read_group, differences::not_as_before, hold::hold, release::release};

use std::{collections::BTreeMap, time::Duration};

use tokio::sync::Mutex;

use super::{
    looks::{COMMIT, Progress},
    rate::back_at,
};
use crate::{
    drivers::{
        error::DriverError,
        rocketmq::{GroupConfig, RocketmqCluster},
    },
    engine::recovery::{Scene, unread},
    model::{
        environment::Rocketmq,
        group::GroupSeen,
        playbook::RocketmqQueue,
        recovery::{Leftover, StepId},
        said::{Said, said},
        snapshot::RetryQueueSeen,
    },
};

/// Between two looks at offsets.
pub(super) const LOOK: Duration = Duration::from_millis(250);
/// After it is switched on, how long a consumer may wait before it asks again, and the commit that shows it.
const AWAKE: Duration = Duration::from_secs(3 + COMMIT.as_secs());

/// A consumer group, and how it was before.
pub(super) struct Group<'a> {
    pub(super) queue: &'a RocketmqQueue,
    pub(super) cluster: RocketmqCluster,
    pub(super) before: &'a RetryQueueSeen,
    /// How the cluster is reached, for the commands by hand.
    pub(super) reached: Option<&'a Rocketmq>,
    /// Where each master is now: those of the snapshot, and those that have joined since.
    masters: Mutex<BTreeMap<String, String>>,
}

impl<'a> Group<'a> {
    pub(super) fn new(
        queue: &'a RocketmqQueue,
        cluster: RocketmqCluster,
        before: &'a RetryQueueSeen,
        reached: Option<&'a Rocketmq>,
    ) -> Self {
        let masters = before
            .groups
            .iter()
            .map(|g| (g.broker.clone(), g.address.clone()));
        Self {
            queue,
            cluster,
            before,
            reached,
            masters: Mutex::new(masters.collect()),
        }
    }

    pub(super) fn what(&self) -> Said {
        let RocketmqQueue { cluster, group, .. } = self.queue;
        said!(
            "group {group} at RocketMQ {cluster}",
            "RocketMQ {cluster} 的消费组 {group}"
        )
    }

    fn what_at(&self, broker: &str) -> Said {
        said!(what = self.what(); "{what} on {broker}", "{what}（{broker}）")
    }

    pub(super) fn back_at(&self) -> u64 {
        back_at(self.before, self.queue.rate)
    }

    /// The brokers at which the drill found the group switched on: the only ones that are switched.
    pub(super) fn switched(&self) -> Vec<&'a GroupSeen> {
        self.before.groups.iter().filter(|g| g.enabled).collect()
    }

    /// Where a broker's master is, as far as is known.
    async fn address(&self, broker: &str) -> String {
        let masters = self.masters.lock().await;
        masters.get(broker).cloned().unwrap_or_default()
    }

    /// Asks where the masters are now. A master that is away keeps its place: it is asked there.
    pub(super) async fn find(&self) -> Result<(), DriverError> {
        let now = self.cluster.masters(&self.queue.topic).await?;
        self.masters.lock().await.extend(now);
        Ok(())
    }

    /// The same, tried until the step's time is over; what is not known if it fails.
    async fn find_all(&self, scene: &Scene, step: StepId) -> Vec<Leftover> {
        let found = scene.persist(scene.deadline(), || self.find()).await;
        let what = || {
            said!(
                what = self.what();
                "brokers of {what} that may have joined",
                "{what} 可能新加入的 broker"
            )
        };
        let unknown = found.err().map(|error| unread(step, what(), &error, None));
        unknown.into_iter().collect()
    }

    /// Brokers that are there now and were not when the snapshot was read.
    pub(super) async fn joined(&self) -> Vec<String> {
        let known = |broker: &&String| self.before.groups.iter().any(|g| &&g.broker == broker);
        let masters = self.masters.lock().await;
        masters.keys().filter(|b| !known(b)).cloned().collect()
    }

    /// A master that cannot be reached may have come up elsewhere: the next try asks there.
    async fn moved_away<T>(&self, ended: Result<T, DriverError>) -> Result<T, DriverError> {
        if matches!(ended, Err(DriverError::Unreachable { .. })) {
            // The name servers may be away as well: then the place that is known is tried again.
            let _ = self.find().await;
        }
        ended
    }

    async fn config(&self, broker: &str) -> Result<GroupConfig, DriverError> {
        let address = self.address(broker).await;
        let config = self.cluster.config(&address, &self.queue.group).await;
        self.moved_away(config).await
    }

    pub(super) fn unread(&self, step: StepId, error: &DriverError) -> Leftover {
        unread(step, self.what(), error, None)
    }
}

//! A consumer group of RocketMQ: its difference from the snapshot, and its switch on every master broker.

mod before;
mod beside;
mod differences;
mod duty;
mod hold;
mod release;

pub(super) use self::{before::read_group, differences::not_as_before, hold::hold, release::release};

use std::{collections::BTreeMap, time::Duration};

use futures::FutureExt;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use crate::{
    drivers::{
        error::DriverError,
        rocketmq::{GroupConfig, Offsets, RocketmqCluster},
    },
    engine::recovery::{Scene, by_hand, together, unread},
    model::{
        environment::Rocketmq,
        group::GroupSeen,
        playbook::RocketmqQueue,
        recovery::{Leftover, StepId},
        said::{Said, said},
        snapshot::RetryQueueSeen,
        undo::ChangeIntent,
    },
};

use super::{
    looks::{COMMIT, Progress},
    rate::back_at,
};

/// Between two looks at offsets.
pub(super) const LOOK: Duration = Duration::from_millis(250);
/// After it is switched on, how long a consumer may wait before it asks again, and the commit that shows it.
const AWAKE: Duration = Duration::from_secs(3 + COMMIT.as_secs());

/// What a look at one broker may take: one that is slow must not keep the others unwatched.
const GLANCE: Duration = Duration::from_secs(1);

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

/// How far a group is, and at which brokers that is not known.
#[derive(Debug, Default)]
pub(super) struct Position {
    pub(super) seen: BTreeMap<String, Offsets>,
    pub(super) missing: Vec<(String, DriverError)>,
}

impl Position {
    pub(super) fn backlog(&self) -> u64 {
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

    /// The brokers whose part of the backlog is not known at this position.
    fn unseen(&self, step: StepId, now: &Position) -> Vec<Leftover> {
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

    /// Brokers that are there now and were not when the snapshot was read.
    pub(super) async fn joined(&self) -> Vec<String> {
        let known = |broker: &&String| self.before.groups.iter().any(|g| &&g.broker == broker);
        let masters = self.masters.lock().await;
        masters.keys().filter(|b| !known(b)).cloned().collect()
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
    pub(super) async fn settled(&self, scene: &Scene) -> Position {
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

    /// A master that cannot be reached may have come up elsewhere: the next try asks there.
    async fn moved_away<T>(&self, ended: Result<T, DriverError>) -> Result<T, DriverError> {
        if matches!(ended, Err(DriverError::Unreachable { .. })) {
            // The name servers may be away as well: then the place that is known is tried again.
            let _ = self.find().await;
        }
        ended
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

    async fn config(&self, broker: &str) -> Result<GroupConfig, DriverError> {
        let address = self.address(broker).await;
        let config = self.cluster.config(&address, &self.queue.group).await;
        self.moved_away(config).await
    }

    /// Switches the group on or off at one broker, written down first, and reads it back. What stands so already is not touched.
    /// Tries until the deadline.
    pub(super) async fn switch(
        &self,
        scene: &Scene,
        at: &GroupSeen,
        on: bool,
        deadline: Instant,
    ) -> Result<(), DriverError> {
        let read = || self.config(&at.broker);
        if scene.persist(deadline, read).await?.is_enabled() == on {
            return Ok(());
        }
        let change = ChangeIntent::Group {
            cluster: self.queue.cluster.clone(),
            broker: at.broker.clone(),
            group: self.queue.group.clone(),
            before: at.enabled,
            to: on,
        };
        scene.bus.intend(change).await;
        // Read anew at each try: somebody else may have changed another field meanwhile.
        let written = scene.persist(deadline, || self.write(at, on)).await?;
        let now = scene.persist(deadline, read).await?;
        match now.says_the_same(&written) {
            true => Ok(()),
            false => Err(DriverError::Conflict {
                what: self.what_at(&at.broker).en().to_owned(),
                answer: format!(
                    "switched {}, but its config is another than the one that was written",
                    word(on).en()
                ),
            }),
        }
    }

    async fn write(&self, at: &GroupSeen, on: bool) -> Result<GroupConfig, DriverError> {
        let config = self.config(&at.broker).await?.switched(on);
        let address = self.address(&at.broker).await;
        self.cluster.write(&address, &self.queue.group, &config).await?;
        Ok(config)
    }

    /// Switches the group at brokers at the same time, each on its own. What could not be done, by broker.
    pub(super) async fn switch_at(
        &self,
        scene: &Scene,
        brokers: Vec<&'a GroupSeen>,
        on: bool,
        deadline: Instant,
    ) -> Vec<(&'a GroupSeen, DriverError)> {
        let all = brokers
            .iter()
            .map(|at| self.switch(scene, at, on, deadline).boxed());
        let ended = together(all).await;
        let failed = brokers.into_iter().zip(ended);
        failed
            .filter_map(|(at, ended)| Some((at, ended.err()?)))
            .collect()
    }

    /// The command that switches the group as it was, keeping what else the config says now.
    async fn by_hand(&self, at: &GroupSeen, on: bool, now: Option<&GroupConfig>) -> Option<String> {
        let before = GroupConfig::read(&at.config).ok();
        let config = now.or(before.as_ref())?.switched(on);
        self.write_by_hand(&at.broker, &config).await
    }

    async fn write_by_hand(&self, broker: &str, config: &GroupConfig) -> Option<String> {
        let login = self.reached?.login.as_ref();
        let address = self.address(broker).await;
        Some(by_hand::rocketmq::write_config(&address, config, login))
    }

    /// What could not be switched at a broker.
    pub(super) async fn not_switched(
        &self,
        step: StepId,
        at: &GroupSeen,
        on: bool,
        error: &DriverError,
    ) -> Leftover {
        let what = said!(
            what = self.what_at(&at.broker), to = word(on);
            "{what} is not switched {to}",
            "{what} 未能切为{to}"
        );
        unread(step, what, error, self.by_hand(at, on, None).await)
    }

    pub(super) fn unread(&self, step: StepId, error: &DriverError) -> Leftover {
        unread(step, self.what(), error, None)
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

fn word(on: bool) -> Said {
    match on {
        true => said!("on", "开"),
        false => said!("off", "关"),
    }
}

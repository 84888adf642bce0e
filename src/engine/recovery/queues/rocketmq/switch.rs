//! The group's switch: written down, set, and read back at each master broker.

use futures::FutureExt;
use tokio::time::Instant;

use super::Group;
use crate::{
    drivers::{error::DriverError, rocketmq::GroupConfig},
    engine::recovery::{Scene, by_hand, together, unread},
    model::{
        group::GroupSeen,
        recovery::{Leftover, StepId},
        said::{Said, said},
        undo::ChangeIntent,
    },
};

impl<'a> Group<'a> {
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
    pub(super) async fn by_hand(
        &self,
        at: &GroupSeen,
        on: bool,
        now: Option<&GroupConfig>,
    ) -> Option<String> {
        let before = GroupConfig::read(&at.config).ok();
        let config = now.or(before.as_ref())?.switched(on);
        self.write_by_hand(&at.broker, &config).await
    }

    pub(super) async fn write_by_hand(&self, broker: &str, config: &GroupConfig) -> Option<String> {
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
}

pub(super) fn word(on: bool) -> Said {
    match on {
        true => said!("on", "开"),
        false => said!("off", "关"),
    }
}

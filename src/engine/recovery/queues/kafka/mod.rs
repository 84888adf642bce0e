//! A retry topic of Kafka: its difference from the snapshot, and its consumers' quotas.

mod before;
mod hold;
mod pace;
mod release;
pub(in crate::engine::recovery) mod scale;
mod still;
#[cfg(test)]
mod tests;

pub(super) use self::{
    before::{read_topic, shared},
    hold::hold,
    release::release,
    scale::scale,
};

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        kafka::{KafkaCluster, Position, Weight},
    },
    engine::recovery::{Scene, by_hand, unread},
    model::{
        environment::Kafka,
        playbook::KafkaQueue,
        quota::QuotaSeen,
        recovery::{Leftover, StepId},
        said::{Said, said},
        snapshot::RetryQueueSeen,
        undo::ChangeIntent,
    },
};

use self::scale::Scale;
use super::{looks::COMMIT, rate::back_at, waiting};

/// Between two looks at offsets.
pub(super) const LOOK: Duration = Duration::from_millis(500);
/// The window that a broker measures a quota over: 11 samples of a second, unless it says otherwise.
pub(super) const WINDOW: f64 = 11.0;
/// What a batch is taken for where the topic may not be read: the producers' default `batch.size`.
const UNREAD: Weight = Weight {
    message: 1024.0,
    batch: 16_384.0,
};

/// A retry topic, and how it was before.
pub(super) struct Topic<'a> {
    pub(super) queue: &'a KafkaQueue,
    pub(super) cluster: KafkaCluster,
    pub(super) before: &'a RetryQueueSeen,
    /// How the cluster is reached, for the commands by hand.
    pub(super) reached: Option<&'a Kafka>,
    /// What is scaled to zero to hold it, if it is not held by quota.
    pub(super) scale: Option<Scale<'a>>,
}

impl Topic<'_> {
    pub(super) fn what(&self) -> Said {
        let KafkaQueue {
            cluster,
            topic,
            group,
            ..
        } = self.queue;
        said!(
            "retry topic {topic} of group {group} at Kafka {cluster}",
            "Kafka {cluster} 中消费组 {group} 的重试主题 {topic}"
        )
    }

    pub(super) fn back_at(&self) -> u64 {
        back_at(self.before, self.queue.rate)
    }

    pub(super) async fn position(&self, scene: &Scene) -> Result<Position, DriverError> {
        let KafkaQueue {
            topic, group, reset, ..
        } = self.queue;
        scene
            .persist(scene.deadline(), || self.cluster.position(topic, group, *reset))
            .await
    }

    /// The position as soon as it is back where it was, or the nearest to it that one commit's time shows.
    pub(super) async fn settled(&self, scene: &Scene) -> Result<Position, DriverError> {
        let until = Instant::now() + COMMIT;
        let mut best = self.position(scene).await?;
        while best.backlog() > self.back_at() && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
            let now = self.position(scene).await?;
            if now.backlog() < best.backlog() {
                best = now;
            }
        }
        Ok(best)
    }

    /// How large the waiting messages are. Where that cannot be seen, a usual size: the measured rate corrects it.
    pub(super) async fn weight(&self, now: &Position) -> Weight {
        match self.cluster.weight(&self.queue.topic, now).await {
            Ok(Some(weight)) => weight,
            Ok(None) | Err(_) => UNREAD,
        }
    }

    /// In how many windows of their own the quotas are counted: a broker that leads waiting messages has one for each client id.
    /// `None` if nobody tells just now.
    pub(super) async fn flows(&self, now: &Position) -> Option<usize> {
        let brokers = self.cluster.leading(&self.queue.topic, now).await.ok()?;
        let waiting = now.partitions.iter().filter(|p| p.end > p.at).count();
        Some((brokers * self.before.quotas.len()).min(waiting))
    }

    pub(super) async fn quota(&self, scene: &Scene, before: &QuotaSeen) -> Result<Option<f64>, DriverError> {
        scene
            .persist(scene.deadline(), || self.cluster.quota(&before.payer))
            .await
    }

    /// Whether a quota stands otherwise than before.
    pub(super) async fn is_limited(&self, scene: &Scene) -> Result<bool, DriverError> {
        for before in &self.before.quotas {
            if self.quota(scene, before).await? != before.bytes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sets every consumer's quota, each written down first, and reads each back. What stands so already is not touched. One that
    /// cannot be set keeps no other from it.
    ///
    /// # Errors
    /// The first one.
    pub(super) async fn set(
        &self,
        scene: &Scene,
        to: impl Fn(&QuotaSeen) -> Option<f64>,
    ) -> Result<(), DriverError> {
        let mut ended = Ok(());
        for before in &self.before.quotas {
            ended = ended.and(self.set_one(scene, before, to(before)).await);
        }
        ended
    }

    async fn set_one(&self, scene: &Scene, before: &QuotaSeen, to: Option<f64>) -> Result<(), DriverError> {
        if self.quota(scene, before).await? == to {
            return Ok(());
        }
        let change = ChangeIntent::Quota {
            cluster: self.queue.cluster.clone(),
            before: before.clone(),
            to,
        };
        scene.bus.intend(change).await;
        let set = || self.cluster.set_quota(&before.payer, to);
        scene.persist(scene.deadline(), set).await?;
        self.proves(scene, before, to).await
    }

    /// A broker learns of a change from the controller a moment later.
    async fn proves(&self, scene: &Scene, before: &QuotaSeen, to: Option<f64>) -> Result<(), DriverError> {
        let deadline = scene.deadline();
        loop {
            let now = self.quota(scene, before).await?;
            if now == to {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(DriverError::Conflict {
                    what: format!("quota of {} at Kafka {}", before.payer, self.queue.cluster),
                    answer: format!("set to {}, but it reads {}", rate(to), rate(now)),
                });
            }
            scene.pause().await;
        }
    }

    /// Every quota as it stood before the drill.
    pub(super) async fn put_back(&self, scene: &Scene) -> Result<(), DriverError> {
        self.set(scene, |before| before.bytes).await
    }

    /// Every quota at this rate, and none above what it was.
    pub(super) async fn limit(&self, scene: &Scene, bytes: f64) -> Result<(), DriverError> {
        let whole = bytes.ceil().max(1.0);
        self.set(scene, |before| Some(before.bytes.map_or(whole, |b| b.min(whole))))
            .await
    }

    fn put_back_by_hand(&self, before: &QuotaSeen) -> Option<String> {
        self.reached
            .map(|cluster| by_hand::kafka::set_quota(cluster, before))
    }

    /// The same at this position: while more may wait than before, a quota below the release's rate is raised to that first.
    async fn let_go_by_hand(&self, before: &QuotaSeen, bytes: f64, now: &Position) -> Option<String> {
        let back = self.put_back_by_hand(before)?;
        if self.is_back(now) {
            return Some(back);
        }
        let mut lines = Vec::new();
        if !now.partitions.is_empty() {
            let rate = (self.queue.rate * self.weight(now).await.message).ceil().max(1.0);
            if before.bytes.is_some_and(|bytes| bytes <= rate) {
                return Some(back);
            }
            let at_rate = QuotaSeen {
                bytes: Some(rate),
                ..before.clone()
            };
            let first = self.put_back_by_hand(&at_rate).filter(|_| bytes < rate);
            lines.extend(first.map(|first| by_hand::once_guards_hold(&first)));
        }
        lines.push(by_hand::once_back_at(self.back_at(), &back));
        Some(lines.join("\n"))
    }

    /// Whether no more is known to wait than before. A position that could not be read tells nothing.
    fn is_back(&self, now: &Position) -> bool {
        !now.partitions.is_empty() && now.backlog() <= self.back_at()
    }

    /// What is not as before at this position.
    pub(super) async fn differences(&self, scene: &Scene, now: &Position) -> Vec<Leftover> {
        let mut left = match &self.scale {
            Some(scale) => scale.differences(scene, self.is_back(now)).await,
            None => Vec::new(),
        };
        for before in &self.before.quotas {
            let (payer, cluster) = (&before.payer, &self.queue.cluster);
            let what = said!(
                "quota of {payer} at Kafka {cluster}",
                "Kafka {cluster} 中 {payer} 的配额"
            );
            match self.quota(scene, before).await {
                Ok(bytes) if bytes == before.bytes => {}
                Ok(bytes) => {
                    let (what, why) = (
                        said!(what, now = limit(bytes); "{what} ({now})", "{what}（{now}）"),
                        said!(was = limit(before.bytes); "it was {was}", "原为 {was}"),
                    );
                    let hand = match bytes {
                        Some(bytes) => self.let_go_by_hand(before, bytes, now).await,
                        None => self.put_back_by_hand(before),
                    };
                    left.push(Leftover::seen(StepId::Release, what, why, hand));
                }
                Err(error) => left.push(unread(
                    StepId::Release,
                    what,
                    &error,
                    self.put_back_by_hand(before),
                )),
            }
        }
        if now.backlog() > self.back_at() {
            let why = waiting(now.backlog(), self.before.backlog);
            left.push(Leftover::seen(StepId::Release, self.what(), why, None));
        }
        left
    }

    fn all_by_hand(&self) -> Option<String> {
        let quotas = self.before.quotas.iter();
        let by_hand: Vec<String> = quotas.filter_map(|q| self.put_back_by_hand(q)).collect();
        (!by_hand.is_empty()).then(|| by_hand::once_back_at(self.back_at(), &by_hand.join("; ")))
    }

    pub(super) fn unread(&self, step: StepId, error: &DriverError) -> Leftover {
        let by_hand = self.all_by_hand();
        unread(step, self.what(), error, by_hand)
    }

    pub(super) fn payers(&self) -> String {
        let payers: Vec<String> = self.before.quotas.iter().map(|q| q.payer.to_string()).collect();
        payers.join(", ")
    }
}

/// A quota in words.
fn rate(bytes: Option<f64>) -> String {
    limit(bytes).en().to_owned()
}

/// A quota in words.
pub(in crate::engine::recovery) fn limit(bytes: Option<f64>) -> Said {
    bytes.map_or_else(
        || said!("none", "无"),
        |bytes| Said::as_it_is(format!("{bytes} B/s")),
    )
}

/// What is not as before, or cannot be read.
pub(super) async fn not_as_before(scene: &Scene, topic: &Topic<'_>) -> Vec<Leftover> {
    match topic.settled(scene).await {
        Ok(now) => topic.differences(scene, &now).await,
        Err(error) => {
            let mut left = vec![topic.unread(StepId::Release, &error)];
            // A topic that cannot be read says nothing of the quotas: they are looked at all the same.
            let nowhere = Position {
                partitions: Vec::new(),
            };
            left.extend(topic.differences(scene, &nowhere).await);
            left
        }
    }
}

//! How much waits in the topic of a playbook's first retry queue.

use std::time::Duration;

use allclear::{
    drivers::kafka::KafkaCluster,
    model::playbook::{KafkaQueue, RetryQueue},
};
use tokio::time::Instant;

use crate::parts_support::Staged;

impl Staged {
    fn queue(&self) -> &KafkaQueue {
        let RetryQueue::Kafka(queue) = &self.scene.plan.drill.recovery.retry_queues[0] else {
            unreachable!()
        };
        queue
    }

    pub fn cluster(&self) -> KafkaCluster {
        self.scene.drivers.kafka(&self.queue().cluster).unwrap()
    }

    pub async fn backlog(&self) -> u64 {
        let queue = self.queue();
        let seen = self
            .cluster()
            .position(&queue.topic, &queue.group, queue.reset)
            .await;
        seen.map_or(u64::MAX, |p| p.backlog())
    }

    /// Waits until the backlog is as wanted.
    pub async fn until_backlog(&self, wanted: impl Fn(u64) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let now = self.backlog().await;
            if wanted(now) {
                return;
            }
            assert!(Instant::now() < deadline, "backlog {now}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

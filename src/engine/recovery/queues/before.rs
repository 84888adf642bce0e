//! How the retry queues stand before the drill.

use crate::{
    drivers::Drivers,
    engine::recovery::{gently, snapshot::Part},
    model::{plan::Plan, playbook::RetryQueue, snapshot::RetryQueueSeen},
};

use super::{http, kafka, rocketmq};

pub(in crate::engine::recovery) async fn read_queues(plan: &Plan, drivers: &Drivers) -> Part<RetryQueueSeen> {
    let entries = plan.drill.recovery.retry_queues.iter().enumerate();
    let parts = entries.map(async |(entry, queue)| match queue {
        RetryQueue::Http { url, .. } => http::read_switch(drivers, entry, url).await,
        RetryQueue::Kafka(queue) => kafka::read_topic(drivers, entry, queue).await,
        RetryQueue::Rocketmq(queue) => rocketmq::read_group(drivers, entry, queue).await,
    });
    let mut part = Part::join(gently(parts).await);
    part.checks
        .extend(kafka::shared(&plan.drill.recovery.retry_queues, &part.found));
    part
}

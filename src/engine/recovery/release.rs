//! Step 7: retry queues let go at their rate until the backlog is back where it was, and everything as it stood.

use futures::FutureExt;

use crate::model::recovery::StepId;

use super::{
    Scene, StepEnd, release_http, release_kafka, release_rocketmq,
    retry::{Queue, joined, queues, unknown},
    together,
};

/// Lets every queue go at its rate until its backlog is back where it was, then sets what held it as it stood.
pub async fn release_retry(scene: &Scene) -> StepEnd {
    let release = async |queue| {
        let queue: Queue<'_> = match queue {
            Ok(queue) => queue,
            Err(error) => return unknown(StepId::Release, &error),
        };
        let ended = match &queue {
            Queue::Http(switch) => release_http::release(scene, switch).await,
            Queue::Kafka(topic) => release_kafka::release(scene, topic).await,
            Queue::Rocketmq(group) => Ok(release_rocketmq::release(scene, group).boxed().await),
        };
        ended.unwrap_or_else(|error| queue.failed(StepId::Release, &error))
    };
    joined(together(queues(scene).into_iter().map(release)).await)
}

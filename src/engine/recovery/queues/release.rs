//! Step 7: retry queues let go at their rate until the backlog is back where it was, and everything as it stood.

use futures::FutureExt;

use crate::{
    engine::recovery::{Scene, StepEnd, together},
    model::recovery::StepId,
};

use super::{Queue, http, joined, kafka, queues, rocketmq, unknown};

/// Lets every queue go at its rate until its backlog is back where it was, then sets what held it as it stood.
pub async fn release_retry(scene: &Scene) -> StepEnd {
    let release = async |queue| {
        let queue: Queue<'_> = match queue {
            Ok(queue) => queue,
            Err(error) => return unknown(StepId::Release, &error),
        };
        let ended = match &queue {
            Queue::Http(switch) => http::release(scene, switch).await,
            Queue::Kafka(topic) => kafka::release(scene, topic).await,
            Queue::Rocketmq(group) => Ok(rocketmq::release(scene, group).boxed().await),
        };
        ended.unwrap_or_else(|error| queue.failed(StepId::Release, &error))
    };
    joined(together(queues(scene).into_iter().map(release)).await)
}

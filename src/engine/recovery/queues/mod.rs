//! Retry queues: those of the playbook, whatever holds them; step 4, held while the rest recovers.

pub(super) mod before;
mod http;
pub(super) mod kafka;
mod looks;
mod rate;
mod release;
mod rocketmq;

pub use self::release::release_retry;

use futures::FutureExt;
use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, place::Fill},
    model::{
        amount::thousands,
        playbook::RetryQueue,
        recovery::{Leftover, StepId},
        said::{Said, said},
        time::Span,
    },
};

use self::{http::Switch, kafka::Topic, rocketmq::Group};
use super::{Scene, StepEnd, elapsed, together, unread};

/// A queue of the playbook, and how it was before.
enum Queue<'a> {
    Http(Switch<'a>),
    Kafka(Topic<'a>),
    Rocketmq(Group<'a>),
}

impl Queue<'_> {
    fn unread(&self, step: StepId, error: &DriverError) -> Leftover {
        match self {
            Queue::Http(switch) => switch.unread(step, error),
            Queue::Kafka(topic) => topic.unread(step, error),
            Queue::Rocketmq(group) => group.unread(step, error),
        }
    }

    fn failed(&self, step: StepId, error: &DriverError) -> StepEnd {
        StepEnd::failed(error, self.unread(step, error))
    }
}

/// The queues of the playbook that the snapshot knows; an error for those it does not, or whose place is none.
fn queues(scene: &Scene) -> Vec<Result<Queue<'_>, DriverError>> {
    let playbook = scene.plan.drill.recovery.retry_queues.iter().enumerate();
    playbook
        .map(|(index, queue)| {
            let before = |what: &str| {
                let before = scene.snapshot.retry_queues.iter().find(|q| q.entry == index);
                before.ok_or_else(|| DriverError::Conflict {
                    what: what.to_owned(),
                    answer: "the snapshot does not have it: untouched".into(),
                })
            };
            match queue {
                RetryQueue::Http { url, rate, within } => {
                    let url = scene.drivers.places().fill(url, Fill::default())?;
                    Ok(Queue::Http(Switch {
                        before: before(&format!("retry queue {url}"))?,
                        url,
                        rate: *rate,
                        within: *within,
                    }))
                }
                RetryQueue::Kafka(queue) => Ok(Queue::Kafka(Topic {
                    cluster: scene.drivers.kafka(&queue.cluster)?,
                    before: before(&format!("retry topic {} at Kafka {}", queue.topic, queue.cluster))?,
                    reached: scene.plan.environment.kafka.get(&queue.cluster),
                    scale: kafka::scale(scene, index, queue)?,
                    queue,
                })),
                RetryQueue::Rocketmq(queue) => Ok(Queue::Rocketmq(Group::new(
                    queue,
                    scene.drivers.rocketmq(&queue.cluster)?,
                    before(&format!("group {} at RocketMQ {}", queue.group, queue.cluster))?,
                    scene.plan.environment.rocketmq.get(&queue.cluster),
                ))),
            }
        })
        .collect()
}

pub(super) fn count(n: u64) -> String {
    thousands(n as f64)
}

/// `backlog 110,412`.
fn backlog(n: u64) -> Said {
    let n = count(n);
    said!("backlog {n}", "积压 {n}")
}

/// What waits, and what waited before.
fn waiting(now: u64, before: u64) -> Said {
    let (now, before) = (count(now), count(before));
    said!(
        "{now} waiting, {before} before",
        "{now} 条等待，演练前 {before} 条"
    )
}

/// That a backlog is as before.
fn as_before(now: u64) -> Said {
    said!(now = backlog(now); "{now}, as before", "{now}，与演练前一致")
}

/// A release that is held again while a guard is bad.
fn held_again(which: &Said) -> Said {
    said!(which; "held again, the guard is bad: {which}", "再次暂停，守护越限：{which}")
}

/// That a release ends held, because a guard is bad.
fn stays_held(which: &Said) -> Said {
    said!(which; "it stays held, the guard is bad: {which}", "保持暂停，守护越限：{which}")
}

/// That what is followed is not back in its time.
fn not_back(back_at: u64, within: Span) -> Said {
    let at = count(back_at);
    said!("not back at {at} within {within}", "{within} 内未回到 {at}")
}

/// That the release has ended.
fn took(detail: &Said, begin: Instant) -> Said {
    let took = Span::seconds(elapsed(begin).0 / 1000);
    said!(detail; "{detail} in {took}", "{detail}，用时 {took}")
}

fn unknown(step: StepId, error: &DriverError) -> StepEnd {
    StepEnd::failed(error, unread(step, said!("retry queue", "重试队列"), error, None))
}

fn joined(ends: Vec<StepEnd>) -> StepEnd {
    ends.into_iter().fold(StepEnd::absent(), StepEnd::and)
}

/// Holds every queue whose backlog the drill has grown.
pub async fn hold_retry(scene: &Scene) -> StepEnd {
    let hold = async |queue: Result<Queue<'_>, DriverError>| {
        let queue = match queue {
            Ok(queue) => queue,
            Err(error) => return unknown(StepId::Retry, &error),
        };
        let ended = match &queue {
            Queue::Http(switch) => http::hold(scene, switch).await,
            Queue::Kafka(topic) => kafka::hold(scene, topic).await,
            Queue::Rocketmq(group) => Ok(rocketmq::hold(scene, group).boxed().await),
        };
        ended.unwrap_or_else(|error| queue.failed(StepId::Retry, &error))
    };
    joined(together(queues(scene).into_iter().map(hold)).await)
}

/// Queues that are not as before, or cannot be read. A backlog that only wavers is looked at again.
pub(super) async fn not_as_before(scene: &Scene) -> Vec<Leftover> {
    let look = async |queue: Result<Queue<'_>, DriverError>| match queue {
        Ok(Queue::Http(switch)) => http::not_as_before(scene, &switch).await,
        Ok(Queue::Kafka(topic)) => kafka::not_as_before(scene, &topic).await,
        Ok(Queue::Rocketmq(group)) => rocketmq::not_as_before(scene, &group).boxed().await,
        Err(error) => unknown(StepId::Release, &error).leftovers,
    };
    together(queues(scene).into_iter().map(look))
        .await
        .into_iter()
        .flatten()
        .collect()
}

/// Waits until no change that nobody answered can take effect any more: what is read then stays so.
pub(super) async fn landed(scene: &Scene) {
    for queue in queues(scene) {
        match queue {
            Ok(Queue::Kafka(topic)) => topic.cluster.landed().await,
            Ok(Queue::Rocketmq(group)) => group.cluster.landed().await,
            Ok(Queue::Http(switch)) => scene.drivers.retry().landed(&switch.url).await,
            Err(_) => {}
        }
    }
}

/// Messages over where the backlogs were, and what could not be read.
pub(super) async fn backlog_over(scene: &Scene) -> (u64, Vec<String>) {
    let look = async |queue: Result<Queue<'_>, DriverError>| match queue? {
        Queue::Http(switch) => {
            let now = switch.read(scene, scene.deadline()).await?;
            Ok::<u64, DriverError>(now.backlog.saturating_sub(switch.back_at()))
        }
        Queue::Kafka(topic) => Ok(topic
            .settled(scene)
            .await?
            .backlog()
            .saturating_sub(topic.back_at())),
        Queue::Rocketmq(group) => {
            let now = group.settled(scene).boxed().await;
            let over = now.backlog().saturating_sub(group.back_at());
            now.missing
                .into_iter()
                .next()
                .map_or(Ok(over), |(_, error)| Err(error))
        }
    };
    let (mut over, mut unknown) = (0, Vec::new());
    for one in together(queues(scene).into_iter().map(look)).await {
        match one {
            Ok(n) => over += n,
            Err(error) => unknown.push(error.to_string()),
        }
    }
    (over, unknown)
}

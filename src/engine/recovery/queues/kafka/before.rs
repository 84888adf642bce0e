//! How a retry topic of Kafka and its consumers' quotas stand before the drill.

use std::collections::BTreeSet;

use tokio::time::Instant;

use crate::{
    drivers::{Drivers, error::DriverError, kafka::KafkaCluster},
    engine::recovery::{
        queues::count,
        snapshot::{Part, check},
    },
    model::{
        event::{Check, CheckOutcome},
        playbook::{KafkaQueue, OffsetReset, RetryQueue},
        quota::{Payer, QuotaSeen},
        said::{Said, said},
        snapshot::RetryQueueSeen,
    },
};

use super::{COMMIT, LOOK, limit, pace::Pace};

pub(in crate::engine::recovery::queues) async fn read_topic(
    drivers: &Drivers,
    entry: usize,
    queue: &KafkaQueue,
) -> Part<RetryQueueSeen> {
    let KafkaQueue {
        cluster,
        topic,
        group,
        ..
    } = queue;
    let what = said!(
        "retry topic {topic} of group {group} at Kafka {cluster}",
        "Kafka {cluster} 中消费组 {group} 的重试主题 {topic}"
    );
    let look = async {
        let cluster = drivers.kafka(cluster)?;
        let backlog = smallest_backlog(&cluster, queue).await?;
        every_partition_is_known(&cluster, queue).await?;
        let quotas = quotas(&cluster, queue).await?;
        let mut checks = doubts(&cluster, queue, &what, &quotas).await?;
        checks.insert(0, found(&what, backlog, &quotas));
        Ok::<_, DriverError>((backlog, quotas, checks))
    };
    match look.await {
        Err(error) => Part::refused(what, &error),
        Ok((backlog, quotas, checks)) => Part {
            found: vec![RetryQueueSeen {
                entry,
                backlog,
                held: false,
                rate: None,
                quotas,
                groups: Vec::new(),
            }],
            checks,
        },
    }
}

/// A client id has one quota on a cluster: two queues with one would hold and let go each other's consumers.
pub(in crate::engine::recovery::queues) fn shared(
    queues: &[RetryQueue],
    found: &[RetryQueueSeen],
) -> Vec<Check> {
    let topics: Vec<(&KafkaQueue, &RetryQueueSeen)> = found
        .iter()
        .filter_map(|seen| match queues.get(seen.entry) {
            Some(RetryQueue::Kafka(queue)) => Some((queue, seen)),
            _ => None,
        })
        .collect();
    let mut checks = Vec::new();
    for (n, (queue, seen)) in topics.iter().enumerate() {
        for (other, limited) in topics.iter().take(n).filter(|(o, _)| o.cluster == queue.cluster) {
            let meets = |q: &&QuotaSeen| limited.quotas.iter().any(|o| o.payer.meets(&q.payer));
            if let Some(both) = seen.quotas.iter().find(meets) {
                let (first, second, cluster) = (&other.topic, &queue.topic, &queue.cluster);
                let payer = &both.payer;
                checks.push(check(
                    said!(
                        "retry topics {first} and {second} at Kafka {cluster}",
                        "Kafka {cluster} 的重试主题 {first} 与 {second}"
                    ),
                    CheckOutcome::Refused,
                    said!(
                        "both would be held by the one quota of {payer}",
                        "两者都会被 {payer} 的同一配额暂停"
                    ),
                    Some(said!(
                        "give the consumers of each a client id of their own, or name different `clients` or `user`s",
                        "请让各自的消费者使用各自的 client id，或写明不同的 `clients` 或 `user`"
                    )),
                ));
            }
        }
    }
    checks
}

/// A group that begins at the end of the log has, in a partition without a commit of its own, no backlog that anyone could
/// know: what comes there and is not read would never be seen as waiting.
async fn every_partition_is_known(cluster: &KafkaCluster, queue: &KafkaQueue) -> Result<(), DriverError> {
    if queue.reset != OffsetReset::Latest {
        return Ok(());
    }
    let position = cluster.position(&queue.topic, &queue.group, queue.reset).await?;
    let unknown = position.partitions.iter().find(|p| !p.committed);
    unknown.map_or(Ok(()), |p| {
        Err(DriverError::NotThere {
            what: format!(
                "offset of group {} in partition {} of {}",
                queue.group, p.partition, queue.topic
            ),
            answer: "with `reset: latest` what waits there is not known until the group has committed one"
                .into(),
        })
    })
}

/// The smallest backlog that one commit's time shows: what stands between two commits is not waiting.
async fn smallest_backlog(cluster: &KafkaCluster, queue: &KafkaQueue) -> Result<u64, DriverError> {
    let until = Instant::now() + COMMIT;
    let look = async || {
        let position = cluster.position(&queue.topic, &queue.group, queue.reset).await?;
        Ok::<u64, DriverError>(position.backlog())
    };
    let mut smallest = look().await?;
    while smallest > 0 && Instant::now() < until {
        tokio::time::sleep(LOOK).await;
        smallest = smallest.min(look().await?);
    }
    Ok(smallest)
}

/// The quotas of the consumers' client ids, and the right to change them.
async fn quotas(cluster: &KafkaCluster, queue: &KafkaQueue) -> Result<Vec<QuotaSeen>, DriverError> {
    let clients = match queue.clients.as_slice() {
        [] => cluster.clients(&queue.group).await?.into_iter().collect(),
        named => named.to_vec(),
    };
    if clients.is_empty() || clients.iter().any(String::is_empty) {
        return Err(DriverError::NotThere {
            what: format!("consumers of group {}", queue.group),
            answer:
                "it has no member whose client id can be seen; start them, or name `clients` in the drill"
                    .into(),
        });
    }
    let mut quotas = Vec::new();
    for client in clients {
        let payer = Payer {
            user: queue.user.clone(),
            client,
        };
        cluster.may_set_quota(&payer).await?;
        let bytes = cluster.quota(&payer).await?;
        quotas.push(QuotaSeen { payer, bytes });
    }
    Ok(quotas)
}

fn found(what: &Said, backlog: u64, quotas: &[QuotaSeen]) -> Check {
    let quota = |QuotaSeen { payer, bytes }: &QuotaSeen| said!(limit = limit(*bytes); "{payer} {limit}", "{payer} {limit}");
    let quotas_shown: Vec<Said> = quotas.iter().map(quota).collect();
    let backlog = count(backlog);
    let shown = said!(
        quotas = Said::list(&quotas_shown);
        "{backlog} waiting; quota of {quotas}",
        "{backlog} 条等待；配额 {quotas}"
    );
    let limited = quotas.iter().any(|q| q.bytes.is_some());
    match limited {
        false => check(what.clone(), CheckOutcome::Passed, shown, None),
        true => check(
            what.clone(),
            CheckOutcome::Warned,
            shown,
            Some(said!(
                "a quota is there already: recovery stays below it and puts it back",
                "已有配额：恢复不会超过它，并会还原"
            )),
        ),
    }
}

/// What makes a hold by quota uncertain.
async fn doubts(
    cluster: &KafkaCluster,
    queue: &KafkaQueue,
    what: &Said,
    quotas: &[QuotaSeen],
) -> Result<Vec<Check>, DriverError> {
    let mut checks = Vec::new();
    if queue.user.is_none() {
        let above = cluster.user_quotas().await?;
        if above > 0 {
            checks.push(check(
                what.clone(),
                CheckOutcome::Warned,
                said!(
                    "{above} byte rates of users stand above one of a client id alone",
                    "有 {above} 个用户配额优先于仅按 client id 的配额"
                ),
                Some(said!(
                    "name the consumers' `user` in the drill, so that the hold is of user and client id",
                    "请在演练中写明消费者的 `user`，以便按用户加 client id 暂停"
                )),
            ));
        }
    }
    let members = cluster.clients(&queue.group).await?;
    let strangers: Vec<&str> = members
        .iter()
        .map(String::as_str)
        .filter(|m| !quotas.iter().any(|q| q.payer.client == *m))
        .collect();
    let others = strangers.len();
    if let Some(first) = strangers.first() {
        checks.push(check(
            what.clone(),
            CheckOutcome::Warned,
            said!(
                "{others} members of the group have other client ids: {first}",
                "组内有 {others} 个成员的 client id 不同：{first}"
            ),
            Some(said!(
                "name them under `clients`: nothing else of the group is held",
                "请写入 `clients`：组内其余成员不会被暂停"
            )),
        ));
    }
    let topics = cluster.topics(&queue.group).await?;
    checks.extend(held_with_it(what, queue, &topics));
    checks.extend(coarse(cluster, queue, what).await);
    if let Err(error @ DriverError::Unauthorized { .. }) = cluster.may_read(&queue.topic).await {
        checks.push(check(
            what.clone(),
            CheckOutcome::Warned,
            error.said(),
            Some(said!(
                "with Read on the topic the size of its messages is known, so that the release finds its rate sooner",
                "授予该主题的 Read 权限后可知消息大小，放行能更快达到限速"
            )),
        ));
    }
    Ok(checks)
}

/// What else the group consumes is held with it, and its backlog is not followed.
fn held_with_it(what: &Said, queue: &KafkaQueue, topics: &BTreeSet<String>) -> Option<Check> {
    let others: Vec<&str> = topics
        .iter()
        .map(String::as_str)
        .filter(|t| *t != queue.topic)
        .collect();
    let (count, first) = (others.len(), others.first()?);
    let shown = said!(
        "the group consumes {count} other topics, which are held with it: {first}",
        "该组还消费 {count} 个主题，会一并暂停：{first}"
    );
    let next = said!(
        "what waits there is not looked at before all is clear: give the retries a group of their own, or watch its lag as a metric of the guard",
        "其积压不在全部恢复的核对之列：请让重试使用独立的消费组，或把其 lag 作为守护指标"
    );
    Some(check(what.clone(), CheckOutcome::Warned, shown, Some(next)))
}

/// Batches so large that no quota makes an even flow of them. What cannot be read is told by another check.
async fn coarse(cluster: &KafkaCluster, queue: &KafkaQueue, what: &Said) -> Option<Check> {
    let weight = cluster.newest_weight(&queue.topic).await.ok()??;
    let seconds = Pace::new(queue.rate, weight, 1).coarse()?;
    let (batch, rate, off) = (weight.batch / weight.message, queue.rate, seconds / 0.6);
    Some(check(
        what.clone(),
        CheckOutcome::Warned,
        said!(
            "a batch of {batch:.0} messages is {seconds:.0} s of {rate}/s and comes whole: any minute of the release may be {off:.0} % off",
            "一批 {batch:.0} 条，等于 {rate}/s 的 {seconds:.0} 秒，且整批到达：放行的任一分钟可偏差 {off:.0} %"
        ),
        Some(said!(
            "let producers write smaller batches, or use the application's own switch (`http`)",
            "请让生产者写更小的批次，或使用应用自身的开关（`http`）"
        )),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ids::ServerName, playbook::QueueHold, quota::Payer, time::Span};

    fn queue(cluster: &str, topic: &str) -> RetryQueue {
        RetryQueue::Kafka(KafkaQueue {
            cluster: ServerName::new(cluster).unwrap(),
            topic: topic.to_owned(),
            group: topic.to_owned(),
            reset: OffsetReset::Earliest,
            user: None,
            clients: Vec::new(),
            rate: 200.0,
            within: Span::seconds(60),
            hold: QueueHold::Quota,
        })
    }

    fn seen(entry: usize, user: Option<&str>, client: &str) -> RetryQueueSeen {
        let payer = Payer {
            user: user.map(str::to_owned),
            client: client.to_owned(),
        };
        RetryQueueSeen {
            entry,
            backlog: 0,
            held: false,
            rate: None,
            quotas: vec![QuotaSeen { payer, bytes: None }],
            groups: Vec::new(),
        }
    }

    #[test]
    fn two_queues_whose_members_have_one_client_id_are_refused() {
        let queues = [
            queue("main", "order-retry"),
            queue("main", "payment-retry"),
            queue("other", "order-retry"),
        ];
        let found = [
            seen(0, None, "retry"),
            seen(1, Some("payment"), "retry"),
            seen(2, None, "retry"),
        ];
        let checks = shared(&queues, &found);
        assert_eq!(checks.len(), 1, "{checks:?}");
        assert_eq!(checks[0].outcome, CheckOutcome::Refused);
        assert_eq!(
            checks[0].what.en(),
            "retry topics order-retry and payment-retry at Kafka main"
        );
        let apart = [seen(0, Some("order"), "retry"), seen(1, Some("payment"), "retry")];
        assert_eq!(shared(&queues, &apart), vec![]);
    }
}

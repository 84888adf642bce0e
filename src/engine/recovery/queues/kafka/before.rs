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
        snapshot::RetryQueueSeen,
    },
};

use super::{COMMIT, LOOK, pace::Pace, rate};

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
    let what = format!("retry topic {topic} of group {group} at Kafka {cluster}");
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
                checks.push(check(
                    format!("retry topics {} and {} at Kafka {}", other.topic, queue.topic, queue.cluster),
                    CheckOutcome::Refused,
                    format!("both would be held by the one quota of {}", both.payer),
                    Some("give the consumers of each a client id of their own, or name different `clients` or `user`s"),
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

fn found(what: &str, backlog: u64, quotas: &[QuotaSeen]) -> Check {
    let shown: Vec<String> = quotas
        .iter()
        .map(|q| format!("{} {}", q.payer, rate(q.bytes)))
        .collect();
    let shown = format!("{} waiting; quota of {}", count(backlog), shown.join(", "));
    let limited = quotas.iter().any(|q| q.bytes.is_some());
    match limited {
        false => check(what.to_owned(), CheckOutcome::Passed, shown, None),
        true => check(
            what.to_owned(),
            CheckOutcome::Warned,
            shown,
            Some("a quota is there already: recovery stays below it and puts it back"),
        ),
    }
}

/// What makes a hold by quota uncertain.
async fn doubts(
    cluster: &KafkaCluster,
    queue: &KafkaQueue,
    what: &str,
    quotas: &[QuotaSeen],
) -> Result<Vec<Check>, DriverError> {
    let mut checks = Vec::new();
    if queue.user.is_none() {
        let above = cluster.user_quotas().await?;
        if above > 0 {
            checks.push(check(
                what.to_owned(),
                CheckOutcome::Warned,
                format!("{above} byte rates of users stand above one of a client id alone"),
                Some("name the consumers' `user` in the drill, so that the hold is of user and client id"),
            ));
        }
    }
    let members = cluster.clients(&queue.group).await?;
    let strangers: Vec<&str> = members
        .iter()
        .map(String::as_str)
        .filter(|m| !quotas.iter().any(|q| q.payer.client == *m))
        .collect();
    if let Some(first) = strangers.first() {
        checks.push(check(
            what.to_owned(),
            CheckOutcome::Warned,
            format!(
                "{} members of the group have other client ids: {first}",
                strangers.len()
            ),
            Some("name them under `clients`: nothing else of the group is held"),
        ));
    }
    let topics = cluster.topics(&queue.group).await?;
    checks.extend(held_with_it(what, queue, &topics));
    checks.extend(coarse(cluster, queue, what).await);
    if let Err(error @ DriverError::Unauthorized { .. }) = cluster.may_read(&queue.topic).await {
        checks.push(check(
            what.to_owned(),
            CheckOutcome::Warned,
            error.to_string(),
            Some("with Read on the topic the size of its messages is known, so that the release finds its rate sooner"),
        ));
    }
    Ok(checks)
}

/// What else the group consumes is held with it, and its backlog is not followed.
fn held_with_it(what: &str, queue: &KafkaQueue, topics: &BTreeSet<String>) -> Option<Check> {
    let others: Vec<&str> = topics
        .iter()
        .map(String::as_str)
        .filter(|t| *t != queue.topic)
        .collect();
    let shown = format!(
        "the group consumes {} other topics, which are held with it: {}",
        others.len(),
        others.first()?
    );
    let next = "what waits there is not looked at before all is clear: give the retries a group of their own, or watch its lag as a metric of the guard";
    Some(check(what.to_owned(), CheckOutcome::Warned, shown, Some(next)))
}

/// Batches so large that no quota makes an even flow of them. What cannot be read is told by another check.
async fn coarse(cluster: &KafkaCluster, queue: &KafkaQueue, what: &str) -> Option<Check> {
    let weight = cluster.newest_weight(&queue.topic).await.ok()??;
    let seconds = Pace::new(queue.rate, weight, 1).coarse()?;
    Some(check(
        what.to_owned(),
        CheckOutcome::Warned,
        format!(
            "a batch of {:.0} messages is {seconds:.0} s of {}/s and comes whole: any minute of the release may be {:.0} % off",
            weight.batch / weight.message,
            queue.rate,
            seconds / 0.6
        ),
        Some("let producers write smaller batches, or use the application's own switch (`http`)"),
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
            checks[0].what,
            "retry topics order-retry and payment-retry at Kafka main"
        );
        let apart = [seen(0, Some("order"), "retry"), seen(1, Some("payment"), "retry")];
        assert_eq!(shared(&queues, &apart), vec![]);
    }
}

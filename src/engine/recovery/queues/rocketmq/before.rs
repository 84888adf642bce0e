//! How a consumer group of RocketMQ stands on every master broker before the drill.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::{
    drivers::{Drivers, error::DriverError, rocketmq::RocketmqCluster},
    engine::recovery::{
        gently,
        queues::count,
        snapshot::{Part, check},
    },
    model::{
        event::{Check, CheckOutcome},
        group::GroupSeen,
        playbook::RocketmqQueue,
        snapshot::RetryQueueSeen,
    },
};

use super::{COMMIT, LOOK};

pub(in crate::engine::recovery::queues) async fn read_group(
    drivers: &Drivers,
    entry: usize,
    queue: &RocketmqQueue,
) -> Part<RetryQueueSeen> {
    let RocketmqQueue { cluster, group, .. } = queue;
    let what = format!("retry group {group} at RocketMQ {cluster}");
    let look = async {
        let cluster = drivers.rocketmq(cluster)?;
        let masters = cluster.masters(&queue.topic).await?;
        let groups = configs(&cluster, queue, &masters, &what).await?;
        let backlog = smallest_backlog(&cluster, queue, &masters).await?;
        let topics = topics(&cluster, queue, &masters).await?;
        Ok::<_, DriverError>((groups, backlog, topics))
    };
    match look.await {
        Err(error) => Part::refused(what, &error),
        Ok((groups, backlog, topics)) => {
            let mut checks = vec![found(&what, backlog, &groups), may_write(&what)];
            checks.extend(held_with_it(&what, queue, &topics));
            Part {
                found: vec![RetryQueueSeen {
                    entry,
                    backlog,
                    held: false,
                    rate: None,
                    quotas: Vec::new(),
                    groups,
                }],
                checks,
            }
        }
    }
}

/// The group's config at every master: one that does not know it is refused, since nobody knows how far the group is there.
async fn configs(
    cluster: &RocketmqCluster,
    queue: &RocketmqQueue,
    masters: &BTreeMap<String, String>,
    what: &str,
) -> Result<Vec<GroupSeen>, DriverError> {
    if masters.is_empty() {
        return Err(DriverError::NotThere {
            what: what.to_owned(),
            answer: format!("topic {} has no master broker", queue.topic),
        });
    }
    let configs = masters.iter().map(|(broker, address)| async move {
        let config = cluster.config(address, &queue.group).await?;
        Ok(GroupSeen {
            broker: broker.clone(),
            address: address.clone(),
            enabled: config.is_enabled(),
            config: config.text().to_owned(),
        })
    });
    gently(configs).await.into_iter().collect()
}

/// The smallest backlog that one commit's time shows: what stands between two commits is not waiting.
async fn smallest_backlog(
    cluster: &RocketmqCluster,
    queue: &RocketmqQueue,
    masters: &BTreeMap<String, String>,
) -> Result<u64, DriverError> {
    let until = Instant::now() + COMMIT;
    let look = async || {
        let looks = masters
            .values()
            .map(|address| cluster.offsets(address, &queue.group, &queue.topic));
        let mut backlog = 0;
        for offsets in gently(looks).await {
            backlog += offsets?.backlog();
        }
        Ok::<u64, DriverError>(backlog)
    };
    let mut smallest = look().await?;
    while smallest > 0 && Instant::now() < until {
        tokio::time::sleep(LOOK).await;
        smallest = smallest.min(look().await?);
    }
    Ok(smallest)
}

/// All topics in which the group has got anywhere.
async fn topics(
    cluster: &RocketmqCluster,
    queue: &RocketmqQueue,
    masters: &BTreeMap<String, String>,
) -> Result<BTreeSet<String>, DriverError> {
    let looks = masters
        .values()
        .map(|address| cluster.topics(address, &queue.group));
    let mut topics = BTreeSet::new();
    for seen in gently(looks).await {
        topics.extend(seen?);
    }
    Ok(topics)
}

fn found(what: &str, backlog: u64, groups: &[GroupSeen]) -> Check {
    let brokers: Vec<String> = groups
        .iter()
        .map(|g| format!("{} on {}", if g.enabled { "on" } else { "off" }, g.broker))
        .collect();
    let shown = format!("{} waiting; switched {}", count(backlog), brokers.join(", "));
    match groups.iter().all(|g| g.enabled) {
        true => check(what.to_owned(), CheckOutcome::Passed, shown, None),
        false => check(
            what.to_owned(),
            CheckOutcome::Warned,
            shown,
            Some("where it is off already, recovery leaves it off"),
        ),
    }
}

/// RocketMQ has no dry run, and 5.3 asks no more of who writes a config than of who reads all of them.
fn may_write(what: &str) -> Check {
    let shown = "its config can be read; that it may be written cannot be tried without writing it";
    check(what.to_owned(), CheckOutcome::Passed, shown.into(), None)
}

/// What else the group consumes stands still with it.
fn held_with_it(what: &str, queue: &RocketmqQueue, topics: &BTreeSet<String>) -> Option<Check> {
    let others: Vec<&String> = topics.iter().filter(|t| **t != queue.topic).collect();
    let shown = format!(
        "{} other topics of the group are held with it: {}",
        others.len(),
        others.first()?
    );
    let next = "if they must flow meanwhile, give the retries a group of their own, or use the application's own switch";
    Some(check(what.to_owned(), CheckOutcome::Warned, shown, Some(next)))
}

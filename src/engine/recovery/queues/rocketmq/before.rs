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
        said::{Said, said},
        snapshot::RetryQueueSeen,
    },
};

use super::{
    COMMIT, LOOK,
    beside::{Smallest, named},
    switch::word,
};

pub(in crate::engine::recovery::queues) async fn read_group(
    drivers: &Drivers,
    entry: usize,
    queue: &RocketmqQueue,
) -> Part<RetryQueueSeen> {
    let RocketmqQueue { cluster, group, .. } = queue;
    let what = said!(
        "retry group {group} at RocketMQ {cluster}",
        "RocketMQ {cluster} 的重试消费组 {group}"
    );
    let look = async {
        let cluster = drivers.rocketmq(cluster)?;
        let masters = cluster.masters(&queue.topic).await?;
        let groups = configs(&cluster, queue, &masters, &what).await?;
        let waiting = waiting(&cluster, queue, &masters).await?;
        Ok::<_, DriverError>((groups, waiting))
    };
    match look.await {
        Err(error) => Part::refused(what, &error),
        Ok((mut groups, Waiting { backlog, beside })) => {
            for at in &mut groups {
                at.beside = beside.get(&at.broker).map_or(0, Smallest::waiting);
            }
            let mut checks = vec![
                found(&what, backlog, &groups),
                may_write(&what),
                approximate(&what, queue.rate),
            ];
            checks.extend(held_with_it(&what, &beside));
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
    what: &Said,
) -> Result<Vec<GroupSeen>, DriverError> {
    if masters.is_empty() {
        return Err(DriverError::NotThere {
            what: what.en().to_owned(),
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
            beside: 0,
        })
    });
    gently(configs).await.into_iter().collect()
}

/// What waits, by what one commit's time shows at least.
struct Waiting {
    backlog: u64,
    /// In the group's other topics, by broker.
    beside: BTreeMap<String, Smallest>,
}

/// The smallest backlogs that one commit's time shows: what stands between two commits is not waiting.
async fn waiting(
    cluster: &RocketmqCluster,
    queue: &RocketmqQueue,
    masters: &BTreeMap<String, String>,
) -> Result<Waiting, DriverError> {
    let RocketmqQueue { group, topic, .. } = queue;
    let until = Instant::now() + COMMIT;
    let mut least = Waiting {
        backlog: u64::MAX,
        beside: BTreeMap::new(),
    };
    loop {
        let looks = masters.iter().map(|(broker, address)| async move {
            let own = cluster.offsets(address, group, topic).await?;
            let beside = cluster.offsets_beside(address, group, topic).await?;
            Ok::<_, DriverError>((broker.clone(), own, beside))
        });
        let mut backlog = 0;
        for look in gently(looks).await {
            let (broker, own, beside) = look?;
            backlog += own.backlog();
            least.beside.entry(broker).or_default().see(&beside);
        }
        least.backlog = least.backlog.min(backlog);
        let all = least.backlog + least.beside.values().map(Smallest::waiting).sum::<u64>();
        if all == 0 || Instant::now() >= until {
            return Ok(least);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn found(what: &Said, backlog: u64, groups: &[GroupSeen]) -> Check {
    let stands = |GroupSeen { broker, enabled, .. }: &GroupSeen| said!(word = word(*enabled); "{word} on {broker}", "{broker} 上为{word}");
    let brokers: Vec<Said> = groups.iter().map(stands).collect();
    let backlog = count(backlog);
    let shown = said!(
        brokers = Said::list(&brokers);
        "{backlog} waiting; switched {brokers}",
        "{backlog} 条等待；开关：{brokers}"
    );
    match groups.iter().all(|g| g.enabled) {
        true => check(what.clone(), CheckOutcome::Passed, shown, None),
        false => check(
            what.clone(),
            CheckOutcome::Warned,
            shown,
            Some(said!(
                "where it is off already, recovery leaves it off",
                "已为关的，恢复保持为关"
            )),
        ),
    }
}

/// RocketMQ has no dry run, and to write a config as it was read would overrule whoever changed it in between.
fn may_write(what: &Said) -> Check {
    let shown = said!(
        "its config can be read; that it may be written cannot be tried without writing it",
        "配置可读；能否写入，不写便无从试"
    );
    let next = said!(
        "RocketMQ 5.3 asks no more of who writes it than of who reads it; behind a proxy, or with another version, try it on a group of no importance",
        "RocketMQ 5.3 对写入者的要求不高于读取者；经代理或其他版本，请先用不重要的消费组试"
    );
    check(what.clone(), CheckOutcome::Warned, shown, Some(next))
}

/// RocketMQ has no rate for a group: what comes of switching it on and off is near the rate on the average alone.
fn approximate(what: &Said, rate: f64) -> Check {
    let shown = said!(
        "let go by switching it on and off, which is approximate: it comes in bursts, at {rate}/s on the average over minutes",
        "以开关控制放行，只是近似：成批而来，数分钟平均为 {rate}/s"
    );
    let next = said!(
        "where bursts do harm, use the application's own switch (`http`), or let the consumers fetch less ahead",
        "若成批有害，请使用应用自身的开关（`http`），或让消费者少预取"
    );
    check(what.clone(), CheckOutcome::Warned, shown, Some(next))
}

/// What else the group consumes stands still with it, and comes back at no rate.
fn held_with_it(what: &Said, beside: &BTreeMap<String, Smallest>) -> Option<Check> {
    let others: BTreeSet<&str> = beside.values().flat_map(Smallest::topics).collect();
    if others.is_empty() {
        return None;
    }
    let waiting: u64 = beside.values().map(Smallest::waiting).sum();
    let (topics, waiting) = (others.len(), count(waiting));
    let shown = said!(
        named = named(&others);
        "{topics} other topics of the group are held with it: {named}; {waiting} waiting there",
        "该组另有 {topics} 个主题会一并暂停：{named}；其中 {waiting} 条等待"
    );
    let next = said!(
        "they are let go at no rate, and must be back as well before all is clear; if they must flow meanwhile, give the retries a group of their own, or use the application's own switch",
        "它们放行时不限速，全部恢复前也须回落；若期间必须流动，请让重试使用独立的消费组，或使用应用自身的开关"
    );
    Some(check(what.clone(), CheckOutcome::Warned, shown, Some(next)))
}

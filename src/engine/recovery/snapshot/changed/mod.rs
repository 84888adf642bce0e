//! What differs between two snapshots, each thing with its name and how it stood.

mod kubernetes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::{
    engine::recovery::{breakers::state_word, queues::kafka::limit},
    model::{
        group::GroupSeen,
        plan::Plan,
        playbook::{Flags, KafkaQueue, RetryQueue, RocketmqQueue},
        said::{Said, said},
        snapshot::{BreakerSeen, Changed, GatewayServer, RetryQueueSeen, RulesSeen, Snapshot},
    },
};

/// More changes than that are counted, not named: they are one line of the journal.
pub(super) const NAMED: usize = 50;

/// What of `before` stands otherwise in `now`, by name. Messages that wait come and go: a backlog is no change.
pub(super) fn changes(plan: &Plan, before: &Snapshot, now: &Snapshot) -> Vec<Changed> {
    let (before, now) = (told(plan, before), told(plan, now));
    let (before, now) = (&before.0, &now.0);
    let stands = |of: &Stands, name: &String| match of.get(name) {
        Some((_, stands)) => stands.clone(),
        None => said!("not there", "不存在"),
    };
    let differs = |(name, _): &(&String, &(Said, Said))| before.get(*name) != now.get(*name);
    let new = now.iter().filter(|(name, _)| !before.contains_key(*name));
    let all: Vec<(&String, &(Said, Said))> = before.iter().chain(new).filter(differs).collect();
    let mut changed: Vec<Changed> = all
        .iter()
        .take(NAMED)
        .map(|(name, (what, _))| Changed {
            what: what.clone(),
            before: stands(before, name),
            now: stands(now, name),
        })
        .collect();
    if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
        changed.push(Changed {
            what: said!("{more} more", "另有 {more} 项"),
            before: said!("as preflight found them", "与预检时一致"),
            now: said!("not so", "已不一致"),
        });
    }
    changed
}

/// How a thing is called, and how it stands, by its English name.
type Stands = BTreeMap<String, (Said, Said)>;

/// Everything of a snapshot: two things that stand otherwise are told otherwise.
#[derive(Default)]
struct Told(Stands);

impl Told {
    fn stands(&mut self, what: Said, how: Said) {
        self.0.insert(what.en().to_owned(), (what, how));
    }

    /// A name of its own for a thing that two entries of the playbook have: neither hides the other's change.
    fn unlike(&self, what: Said, entry: usize) -> Said {
        let entry = entry + 1;
        match self.0.contains_key(what.en()) {
            true => said!(what; "{what} (entry {entry})", "{what}（第 {entry} 项）"),
            false => what,
        }
    }
}

fn told(plan: &Plan, snapshot: &Snapshot) -> Told {
    let mut all = Told::default();
    for server in &snapshot.gateway {
        let GatewayServer { instance, at, .. } = server;
        let what = said!("{instance} at gateway {at}", "网关 {at} 上的 {instance}");
        all.stands(what, server_stands(server));
    }
    for breaker in &snapshot.breakers {
        let BreakerSeen { name, instance, .. } = breaker;
        let what = said!("breaker {name} on {instance}", "{instance} 的熔断器 {name}");
        let what = all.unlike(what, breaker.entry);
        all.stands(what, Said::as_it_is(state_word(breaker.state)));
    }
    for seen in &snapshot.rules {
        for instance in &seen.instances {
            let rules = seen.rules;
            let what = said!("{rules} rules on {instance}", "{instance} 的 {rules} 规则");
            let what = all.unlike(what, seen.entry);
            all.stands(what, list_stands(seen));
        }
    }
    for seen in &snapshot.flags {
        for key in &seen.keys {
            all.stands(flag_named(plan, seen.entry, key), there());
        }
    }
    for seen in &snapshot.retry_queues {
        let what = all.unlike(queue_named(plan, seen.entry), seen.entry);
        for group in &seen.groups {
            let broker = &group.broker;
            let on = said!(what; "{what} on {broker}", "{broker} 上的{what}");
            all.stands(on, group_stands(group));
        }
        all.stands(what, queue_stands(seen));
    }
    for (what, how) in kubernetes::stands(&snapshot.kubernetes) {
        all.stands(what, how);
    }
    for rule in &snapshot.foreign {
        all.stands(Said::as_it_is(rule), there());
    }
    all
}

fn there() -> Said {
    said!("there", "存在")
}

fn queue_named(plan: &Plan, entry: usize) -> Said {
    match plan.drill.recovery.retry_queues.get(entry) {
        Some(RetryQueue::Http { url, .. }) => said!("retry queue {url}", "重试队列 {url}"),
        Some(RetryQueue::Kafka(KafkaQueue {
            topic,
            group,
            cluster,
            ..
        })) => said!(
            "retry queue {topic} of {group} at Kafka {cluster}",
            "Kafka {cluster} 上 {group} 的重试队列 {topic}"
        ),
        Some(RetryQueue::Rocketmq(RocketmqQueue { group, cluster, .. })) => said!(
            "retry queue {group} at RocketMQ {cluster}",
            "RocketMQ {cluster} 上的重试队列 {group}"
        ),
        None => {
            let entry = entry + 1;
            said!("retry queue {entry}", "重试队列 {entry}")
        }
    }
}

/// A flag, with its server.
pub(super) fn flag_named(plan: &Plan, entry: usize, key: &str) -> Said {
    let server = match plan.drill.recovery.flags.get(entry) {
        Some(Flags::Redis { server, .. }) => server.as_str(),
        None => "?",
    };
    said!("flag {key} in Redis {server}", "Redis {server} 中的开关 {key}")
}

fn server_stands(server: &GatewayServer) -> Said {
    let running = if server.running { "" } else { ", DOWN" };
    let (weight, of) = (server.weight, server.initial_weight);
    let state = server.state.as_str();
    said!(
        "weight {weight} of {of}, {state}{running}",
        "权重 {weight}/{of}, {state}{running}"
    )
}

/// The count, and a digest of the rules in any order.
fn list_stands(seen: &RulesSeen) -> Said {
    let mut rules: Vec<String> = seen.list.iter().map(ToString::to_string).collect();
    rules.sort_unstable();
    let (count, digest) = (rules.len(), short_digest(&rules.join("\n")));
    said!("{count} rules ({digest})", "{count} 条规则（{digest}）")
}

fn short_digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// Its switch, and a digest of the whole config: all of it is put back.
fn group_stands(group: &GroupSeen) -> Said {
    let digest = short_digest(&group.config);
    match group.enabled {
        true => said!("on ({digest})", "开（{digest}）"),
        false => said!("off ({digest})", "关（{digest}）"),
    }
}

fn queue_stands(seen: &RetryQueueSeen) -> Said {
    let flow = match seen.held {
        true => said!("held", "已暂停"),
        false => said!("flowing", "放行中"),
    };
    let flow = match seen.rate {
        Some(rate) => said!(flow; "{flow} at {rate}/s", "{flow}，速率 {rate}/s"),
        None => flow,
    };
    let quotas = seen.quotas.iter().map(|q| {
        let (payer, bytes) = (&q.payer, limit(q.bytes));
        said!(bytes; "quota of {payer} {bytes}", "{payer} 的配额 {bytes}")
    });
    let quotas: Vec<Said> = quotas.collect();
    Said::list([&flow].into_iter().chain(&quotas))
}

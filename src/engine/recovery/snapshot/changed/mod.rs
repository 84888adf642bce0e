//! What differs between two snapshots, each thing with its name and how it stood.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::{
    drivers::haproxy,
    engine::recovery::{breakers::state_word, queues::kafka::rate},
    model::{
        group::GroupSeen,
        plan::Plan,
        playbook::{Flags, RetryQueue},
        snapshot::{Changed, GatewayServer, KubernetesSeen, RetryQueueSeen, RulesSeen, Snapshot},
    },
};

/// More changes than that are counted, not named: they are one line of the journal.
pub(super) const NAMED: usize = 50;

/// What of `before` stands otherwise in `now`, by name. Messages that wait come and go: a backlog is no change.
pub(super) fn changes(plan: &Plan, before: &Snapshot, now: &Snapshot) -> Vec<Changed> {
    let (before, now) = (told(plan, before), told(plan, now));
    let absent = || "not there".to_owned();
    let differs = |what: &&String| before.get(*what) != now.get(*what);
    let new = now.keys().filter(|what| !before.contains_key(*what));
    let all: Vec<&String> = before.keys().chain(new).filter(differs).collect();
    let mut changed: Vec<Changed> = all
        .iter()
        .take(NAMED)
        .map(|what| Changed {
            what: (*what).clone(),
            before: before.get(*what).cloned().unwrap_or_else(absent),
            now: now.get(*what).cloned().unwrap_or_else(absent),
        })
        .collect();
    if all.len() > NAMED {
        changed.push(Changed {
            what: format!("{} more", all.len() - NAMED),
            before: "as preflight found them".to_owned(),
            now: "not so".to_owned(),
        });
    }
    changed
}

/// Everything of a snapshot, by its name: how it stands. Two things that stand otherwise are told otherwise.
fn told(plan: &Plan, snapshot: &Snapshot) -> BTreeMap<String, String> {
    let playbook = &plan.drill.recovery;
    let mut all = BTreeMap::new();
    for server in &snapshot.gateway {
        all.insert(
            format!("{} at gateway {}", server.instance, server.at),
            server_stands(server),
        );
    }
    for breaker in &snapshot.breakers {
        let what = format!("breaker {} on {}", breaker.name, breaker.instance);
        let what = unlike(&all, what, breaker.entry);
        all.insert(what, state_word(breaker.state).to_owned());
    }
    for seen in &snapshot.rules {
        for instance in &seen.instances {
            let what = unlike(&all, format!("{} rules on {instance}", seen.rules), seen.entry);
            all.insert(what, list_stands(seen));
        }
    }
    for seen in &snapshot.flags {
        let there = |key: &String| (flag_named(plan, seen.entry, key), "there".to_owned());
        all.extend(seen.keys.iter().map(there));
    }
    for seen in &snapshot.retry_queues {
        let what = match playbook.retry_queues.get(seen.entry) {
            Some(RetryQueue::Http { url, .. }) => url.clone(),
            Some(RetryQueue::Kafka(queue)) => {
                format!("{} of {} at Kafka {}", queue.topic, queue.group, queue.cluster)
            }
            Some(RetryQueue::Rocketmq(queue)) => format!("{} at RocketMQ {}", queue.group, queue.cluster),
            None => format!("{}", seen.entry + 1),
        };
        let what = unlike(&all, format!("retry queue {what}"), seen.entry);
        for group in &seen.groups {
            all.insert(format!("{what} on {}", group.broker), group_stands(group));
        }
        all.insert(what, queue_stands(seen));
    }
    all.extend(kubernetes_stands(&snapshot.kubernetes));
    let foreign = snapshot.foreign.iter();
    all.extend(foreign.map(|rule| (rule.clone(), "there".to_owned())));
    all
}

/// A name of its own for a thing that two entries of the playbook have: neither hides the other's change.
fn unlike(all: &BTreeMap<String, String>, what: String, entry: usize) -> String {
    match all.contains_key(&what) {
        true => format!("{what} (entry {})", entry + 1),
        false => what,
    }
}

/// A flag, with its server.
pub(super) fn flag_named(plan: &Plan, entry: usize, key: &str) -> String {
    let server = match plan.drill.recovery.flags.get(entry) {
        Some(Flags::Redis { server, .. }) => server.as_str(),
        None => "?",
    };
    format!("flag {key} in Redis {server}")
}

fn server_stands(server: &GatewayServer) -> String {
    let running = if server.running { "" } else { ", DOWN" };
    format!(
        "weight {} of {}, {}{running}",
        server.weight,
        server.initial_weight,
        haproxy::state_word(server.state)
    )
}

/// The count, and a digest of the rules in any order.
fn list_stands(seen: &RulesSeen) -> String {
    let mut rules: Vec<String> = seen.list.iter().map(ToString::to_string).collect();
    rules.sort_unstable();
    format!("{} rules ({})", rules.len(), short_digest(&rules.join("\n")))
}

fn short_digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// Its switch, and a digest of the whole config: all of it is put back.
fn group_stands(group: &GroupSeen) -> String {
    let switch = if group.enabled { "on" } else { "off" };
    format!("{switch} ({})", short_digest(&group.config))
}

/// Pods by what the API server gave to each alone: a successor of the same name is another pod.
fn kubernetes_stands(seen: &KubernetesSeen) -> Vec<(String, String)> {
    let ready = |is| if is { "ready" } else { "not ready" };
    let pods = seen.pods.iter().map(|p| {
        let stands = format!("{} {}, {}", p.pod, p.pod.uid, ready(p.ready));
        (format!("the pod of {} ({})", p.instance, p.selector), stands)
    });
    let serving = seen.serving.iter().map(|p| {
        let label = p.label.as_deref().unwrap_or("no label");
        let stands = format!(
            "{label} on {} {}, {}, in {}",
            p.pod,
            p.pod.uid,
            ready(p.ready),
            p.services.join(" ")
        );
        (format!("the label of {}", p.instance), stands)
    });
    let rollouts = seen.rollouts.iter().map(|r| {
        let at = r.restarted_at.as_deref().unwrap_or("never");
        let stands = format!("restarted {at}, {} ({})", ready(r.ready), r.uid);
        (r.workload.to_string(), stands)
    });
    let scales = seen.scales.iter().map(|s| {
        let stands = format!("{} replicas, {} Ready ({})", s.replicas, s.ready, s.uid);
        (format!("deployment {}/{}", s.namespace, s.deployment), stands)
    });
    let route = seen.route.iter().map(|r| {
        let name = format!("HTTPRoute {}/{}", r.namespace, r.route);
        let places = r.backends.iter();
        let places: Vec<String> = places
            .map(|b| format!("{} {}.{}", b.service, b.rule, b.backend))
            .collect();
        (name, format!("{} ({})", places.join(", "), r.uid))
    });
    pods.chain(serving)
        .chain(rollouts)
        .chain(scales)
        .chain(route)
        .collect()
}

fn queue_stands(seen: &RetryQueueSeen) -> String {
    let flow = if seen.held { "held" } else { "flowing" };
    let limit = seen.rate.map(|r| format!(" at {r}/s")).unwrap_or_default();
    let quotas = seen
        .quotas
        .iter()
        .map(|q| format!(", quota of {} {}", q.payer, rate(q.bytes)));
    format!("{flow}{limit}{}", quotas.collect::<String>())
}

//! What differs between two snapshots, each thing with its name and how it stood.

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
    pods.chain(serving).chain(scales).chain(route).collect()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        drivers::testing::{environment, nothing_to_do, plan},
        model::{
            ids::{DeploymentName, InstanceName, Namespace},
            kubernetes::{PodId, PodSeen, ScaleSeen, ServingSeen},
            playbook::SentinelRules,
            quota::{Payer, QuotaSeen},
            snapshot::{BreakerSeen, BreakerState, FlagsSeen, GatewayState},
        },
    };

    fn queue(entry: usize) -> RetryQueueSeen {
        let group = |broker: &str| GroupSeen {
            broker: broker.into(),
            address: "127.0.0.1:10911".into(),
            enabled: true,
            config: "{\"retryMaxTimes\":16}".into(),
            beside: 0,
        };
        RetryQueueSeen {
            entry,
            backlog: 10,
            held: false,
            rate: None,
            quotas: vec![QuotaSeen {
                payer: Payer {
                    user: None,
                    client: "c".into(),
                },
                bytes: None,
            }],
            groups: vec![group("a"), group("b")],
        }
    }

    fn kubernetes() -> KubernetesSeen {
        let instance = InstanceName::new("order-0").unwrap();
        let namespace = Namespace::new("shop").unwrap();
        let pod = PodId {
            namespace: namespace.clone(),
            name: "order-0".into(),
            uid: "1".into(),
        };
        KubernetesSeen {
            pods: vec![PodSeen {
                instance: instance.clone(),
                pod: pod.clone(),
                selector: "app=order-0".into(),
                ready: true,
            }],
            serving: vec![ServingSeen {
                instance,
                pod,
                selector: "app=order-0".into(),
                label: Some("true".into()),
                serves_with: Some("true".into()),
                services: vec!["order".into()],
                ready: true,
            }],
            scales: vec![ScaleSeen {
                entry: 0,
                namespace,
                deployment: DeploymentName::new("retry").unwrap(),
                uid: "2".into(),
                replicas: 2,
                ready: 2,
            }],
            route: None,
        }
    }

    fn seen() -> Snapshot {
        let instance = InstanceName::new("order-0").unwrap();
        Snapshot {
            gateway: vec![GatewayServer {
                at: "lb".into(),
                instance: instance.clone(),
                weight: 100,
                initial_weight: 100,
                state: GatewayState::Ready,
                running: true,
            }],
            breakers: vec![BreakerSeen {
                entry: 0,
                instance: instance.clone(),
                name: "coupon".into(),
                state: BreakerState::Closed,
            }],
            rules: vec![RulesSeen {
                entry: 1,
                rules: SentinelRules::Degrade,
                instances: vec![instance],
                list: vec![json!({"count": 1.0}), json!({"count": 2.0})],
            }],
            flags: vec![FlagsSeen {
                keys: vec!["degrade:old".into()],
                ..FlagsSeen::default()
            }],
            retry_queues: vec![queue(0), queue(1)],
            kubernetes: kubernetes(),
            foreign: vec!["rule of run 11aa22".into()],
        }
    }

    /// What is told to have changed, if this is done to the snapshot.
    fn told_of(change: fn(&mut Snapshot)) -> Vec<String> {
        let mut now = seen();
        change(&mut now);
        let changes = changes(&plan(environment(&[]), nothing_to_do()), &seen(), &now);
        changes.into_iter().map(|one| one.what).collect()
    }

    #[test]
    fn a_switch_or_any_option_of_a_group_is_a_change_of_that_broker_and_that_queue() {
        assert_eq!(told_of(|_| {}), Vec::<String>::new());
        let off = told_of(|s| s.retry_queues[0].groups[1].enabled = false);
        assert_eq!(off, ["retry queue 1 on b"]);
        let option = told_of(|s| s.retry_queues[1].groups[0].config = "{\"retryMaxTimes\":3}".into());
        assert_eq!(option, ["retry queue 2 on a"]);
        let gone = told_of(|s| s.retry_queues[1].groups.truncate(1));
        assert_eq!(gone, ["retry queue 2 on b"]);
    }

    #[test]
    fn another_pod_of_the_same_name_a_label_a_service_and_a_scale_are_changes() {
        let (pod, label, scale) = (
            "the pod of order-0",
            "the label of order-0",
            "deployment shop/retry",
        );
        let starts = |told: Vec<String>, with: &str| {
            assert!(told.len() == 1 && told[0].starts_with(with), "{told:?}");
        };
        starts(told_of(|s| s.kubernetes.pods[0].pod.uid = "9".into()), pod);
        starts(told_of(|s| s.kubernetes.pods[0].ready = false), pod);
        starts(told_of(|s| s.kubernetes.serving[0].pod.uid = "9".into()), label);
        starts(told_of(|s| s.kubernetes.serving[0].label = None), label);
        starts(told_of(|s| s.kubernetes.serving[0].services.clear()), label);
        starts(told_of(|s| s.kubernetes.serving[0].ready = false), label);
        starts(told_of(|s| s.kubernetes.scales[0].replicas = 3), scale);
        starts(told_of(|s| s.kubernetes.scales[0].ready = 1), scale);
        starts(told_of(|s| s.kubernetes.scales[0].uid = "9".into()), scale);
    }

    #[test]
    fn two_entries_of_one_thing_hide_nothing_of_each_other() {
        let mut all = BTreeMap::new();
        let name = unlike(&all, "breaker coupon on order-0".to_owned(), 0);
        all.insert(name, String::new());
        let again = unlike(&all, "breaker coupon on order-0".to_owned(), 2);
        assert_eq!(again, "breaker coupon on order-0 (entry 3)");
    }

    #[test]
    fn whatever_of_a_server_a_breaker_a_list_of_rules_a_flag_or_a_limit_stands_otherwise_is_a_change() {
        let (server, rules, flag) = (
            ["order-0 at gateway lb"],
            ["degrade rules on order-0"],
            "flag degrade:old in Redis ?",
        );
        assert_eq!(told_of(|s| s.gateway[0].weight = 50), server);
        assert_eq!(told_of(|s| s.gateway[0].initial_weight = 50), server);
        assert_eq!(told_of(|s| s.gateway[0].state = GatewayState::Drain), server);
        assert_eq!(told_of(|s| s.gateway[0].running = false), server);
        let breaker = told_of(|s| s.breakers[0].state = BreakerState::ForcedOpen);
        assert_eq!(breaker, ["breaker coupon on order-0"]);
        assert_eq!(told_of(|s| s.rules[0].list.truncate(1)), rules);
        assert_eq!(told_of(|s| s.rules[0].list[1] = json!({"count": 3.0})), rules);
        assert_eq!(told_of(|s| s.rules[0].list.reverse()), [""; 0], "in any order");
        assert_eq!(told_of(|s| s.flags[0].keys.clear()), [flag], "it is gone");
        assert_eq!(told_of(|s| s.flags[0].keys.push("degrade:new".into())).len(), 1);
        assert_eq!(told_of(|s| s.retry_queues[0].held = true), ["retry queue 1"]);
        assert_eq!(told_of(|s| s.retry_queues[0].rate = Some(5.0)), ["retry queue 1"]);
        let quota = told_of(|s| s.retry_queues[1].quotas[0].bytes = Some(9.0));
        assert_eq!(quota, ["retry queue 2"]);
        assert_eq!(told_of(|s| s.retry_queues[1].backlog = 9_000), [""; 0]);
        assert_eq!(told_of(|s| s.foreign.clear()), ["rule of run 11aa22"]);
    }

    #[test]
    fn more_changes_than_a_line_has_room_for_are_counted() {
        let many = |s: &mut Snapshot| s.foreign.extend((0..60).map(|n| format!("rule {n}")));
        let told = told_of(many);
        assert_eq!(
            (told.len(), told.last().map(String::as_str)),
            (NAMED + 1, Some("10 more"))
        );
    }
}

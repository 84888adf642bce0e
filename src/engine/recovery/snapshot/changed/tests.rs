//! What counts as a change, thing by thing.

use serde_json::json;

use super::*;
use crate::{
    drivers::testing::{environment, nothing_to_do, plan},
    engine::recovery::snapshot::testing::kubernetes,
    model::{
        ids::InstanceName,
        kubernetes::RouteSeen,
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
    changes.into_iter().map(|one| one.what.en().to_owned()).collect()
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
fn another_pod_of_the_same_name_a_label_a_service_a_scale_and_a_route_are_changes() {
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
    let of_route = |change: fn(&mut RouteSeen)| {
        let mut now = seen();
        change(now.kubernetes.route.as_mut().unwrap());
        let changes = changes(&plan(environment(&[]), nothing_to_do()), &seen(), &now);
        changes
            .into_iter()
            .map(|one| one.what.en().to_owned())
            .collect::<Vec<_>>()
    };
    let route = "HTTPRoute shop/order";
    starts(of_route(|r| r.uid = "9".into()), route);
    starts(of_route(|r| r.backends[0].rule = 1), route);
    starts(of_route(|r| r.backends.clear()), route);
    starts(told_of(|s| s.kubernetes.route = None), route);
}

#[test]
fn two_entries_of_one_thing_hide_nothing_of_each_other() {
    let mut all = Told::default();
    let name = all.unlike("breaker coupon on order-0".into(), 0);
    all.stands(name, "CLOSED".into());
    let again = all.unlike("breaker coupon on order-0".into(), 2);
    assert_eq!(again.en(), "breaker coupon on order-0 (entry 3)");
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

//! What a recovery may say beyond the example.

use super::*;
use crate::model::playbook::{Gateway, How, Method, Playbook, Restart};

const POOL: &str = "if_stuck: {http: {restart: \"http://{instance}/restart\"}}";
const COMMAND: &str = "run: [./warm.sh], check: [./warm.sh, --ok], timeout: 30s";

fn recovery(from: &str, to: &str) -> Playbook {
    match drill(&with(DRILL, from, to)) {
        Ok(read) => read.value.recovery,
        Err(wrong) => panic!("{}", rendered(&wrong)),
    }
}

fn wrong(from: &str, to: &str) -> String {
    match drill(&with(DRILL, from, to)) {
        Ok(_) => panic!("{to} was read"),
        Err(wrong) => rendered(&wrong),
    }
}

#[test]
fn one_socket_or_several() {
    let sockets = |to: &str| match recovery("socket: \"lb:9999\"", to).gateway {
        Some(Gateway::Haproxy { sockets, .. }) => sockets,
        _ => Vec::new(),
    };
    assert_eq!(sockets("socket: lb"), ["lb"]);
    assert_eq!(
        sockets("socket: [lb, \"/run/haproxy.sock\"]"),
        ["lb", "/run/haproxy.sock"]
    );
    assert!(wrong("socket: \"lb:9999\"", "socket: []").contains("1 to 100 load balancers"));
    assert!(wrong("socket: \"lb:9999\"", "socket: [lb, lb]").contains("lb"));
}

#[test]
fn a_name_of_several_sockets_that_the_environment_lacks_is_told() {
    let text = with(DRILL, "socket: \"lb:9999\"", "socket: [lb, bl]");
    let read = drill(&text).unwrap().value;
    let found = meet_environment(&read, &environment("preprod"));
    assert_eq!(
        found,
        ["recovery.gateway.haproxy.socket.1: environment `preprod` has no gateway `bl`"]
    );
}

/// The errors that a drill has in an environment.
fn meet_environment(drill: &Drill, environment: &Environment) -> Vec<String> {
    let found = check_against(drill, environment).into_iter();
    let errors = found.filter(|d| d.severity == Severity::Error);
    errors.map(|d| format!("{}: {}", d.keys, d.message)).collect()
}

#[test]
fn a_restart_is_a_request_a_program_or_a_unit() {
    let restart = |to: &str| recovery(POOL, to).pools[0].if_stuck.clone().unwrap();
    let words = |to: &str| match restart(to) {
        Restart::Command { run, .. } => run.join(" "),
        Restart::Http { url } => url,
        Restart::Kubernetes(pods) => pods.selector,
        Restart::Rollout(rollout) => rollout.name,
    };
    assert_eq!(
        words("if_stuck: {command: {run: [./restart, \"{target}\"]}}"),
        "./restart {target}"
    );
    assert_eq!(
        words("if_stuck: {systemd: {unit: \"order@{target}\"}}"),
        "systemctl restart order@{target}"
    );
    assert_eq!(
        words("if_stuck: {systemd: {unit: order, run: [ssh, \"ops@{host}\", sudo]}}"),
        "ssh ops@{host} sudo systemctl restart order"
    );
    assert!(wrong(POOL, "if_stuck: {command: {run: []}}").contains("names no program"));
    assert!(
        wrong(POOL, "if_stuck: {command: {run: [a]}, systemd: {unit: b}}").contains("exclude each other")
    );
}

#[test]
fn a_restart_that_names_no_instance_is_refused_where_there_are_several() {
    let text = with(DRILL, POOL, "if_stuck: {systemd: {unit: order}}");
    let alone = drill(&text).unwrap().value;
    assert!(meet_environment(&alone, &environment("preprod")).is_empty());
    let both = with(&text, "instances: [order-0]", "instances: [order-0, order-1]");
    let found = meet_environment(&drill(&both).unwrap().value, &environment("preprod"));
    assert!(
        found.iter().any(|f| f.contains("the restart names no instance")),
        "{found:?}"
    );
}

#[test]
fn what_the_scrape_holds_and_readiness_are_read() {
    let pool = recovery(POOL, "scrape_holds: 1, ready: \"http://{instance}/ready\"").pools[0].clone();
    assert_eq!(
        (pool.busy(6.0), pool.is_idle(6.0), pool.is_idle(6.5)),
        (5.0, true, false)
    );
    assert_eq!(pool.ready.as_deref(), Some("http://{instance}/ready"));
    assert!(wrong(POOL, "ready: \"http://order/ready\"").contains("lacks `{instance}`"));
    assert!(wrong(POOL, "scrape_holds: -1").contains("below 0"));
}

#[test]
fn a_step_of_ones_own_may_be_a_request_with_a_check() {
    let http = "http: {put: \"http://{instance}/switch\", body: {on: true, weight: 0}, \
                check: {get: \"http://{instance}/switch\", json: {/on: true}}}";
    let command = recovery(COMMAND, http).commands[0].clone();
    assert!(command.has_check());
    let How::Http {
        method, body, check, ..
    } = command.how
    else {
        panic!("{command:?}")
    };
    assert_eq!(
        (method, body),
        (Method::Put, Some(serde_json::json!({"on": true, "weight": 0})))
    );
    let check = check.unwrap();
    assert_eq!(
        (check.status, check.json["/on"].clone()),
        (200, serde_json::json!(true))
    );
}

#[test]
fn a_step_of_ones_own_does_one_thing() {
    assert!(wrong(COMMAND, "timeout: 30s").contains("needs one of `run`, `http`"));
    let both = "run: [a], http: {delete: \"http://h/x\"}";
    assert!(wrong(COMMAND, both).contains("exclude each other"));
    let two = "http: {delete: \"http://h/x\", put: \"http://h/x\"}";
    assert!(wrong(COMMAND, two).contains("exclude each other"));
    let pointer = "http: {delete: \"http://h/x\", check: {get: \"http://h/x\", json: {on: true}}}";
    assert!(wrong(COMMAND, pointer).contains("is not a JSON pointer"));
}

#[test]
fn two_queues_that_would_share_a_quota_are_refused() {
    let queue = "    - kafka: {cluster: main, topic: order-retry,";
    let second = |names: &str| {
        let other = "kafka: {cluster: main, topic: payment-retry, group: payment-retry";
        format!("    - {other}, {names}, release: {{rate: 10/s}}}}\n{queue}")
    };
    let shared = wrong(queue, &second("user: order, clients: [other, order-retry]"));
    assert!(
        shared.contains("client order-retry of user order is limited by a queue above"),
        "{shared}"
    );
    assert!(wrong(queue, &second("clients: [order-retry]")).contains("limited by a queue above"));
    for apart in [
        "user: payment, clients: [order-retry]",
        "user: order, clients: [other]",
    ] {
        assert_eq!(recovery(queue, &second(apart)).retry_queues.len(), 4, "{apart}");
    }
}

#[test]
fn two_queues_that_would_scale_one_deployment_are_refused() {
    let queue = "    - kafka: {cluster: main, topic: order-retry,";
    let scaled = |cluster: &str, topic: &str, hold: &str| {
        format!(
            "    - kafka: {{cluster: {cluster}, topic: {topic}, group: {topic}, release: {{rate: 10/s}}, hold: {{{hold}}}}}\n"
        )
    };
    let both = |one: &str, other: &str| scaled("main", "a", one) + &scaled("other", "b", other) + queue;
    let plain = "scale: deployment/consumers";
    for (one, other) in [
        (plain, plain),
        (plain, "scale: deployment/consumers, namespace: shop"),
        ("scale: deployment/consumers, namespace: shop", plain),
    ] {
        let shared = wrong(queue, &both(one, other));
        assert!(shared.contains("scaled for a above already"), "{shared}");
    }
    for other in [
        "scale: deployment/others, namespace: shop",
        "scale: deployment/consumers, namespace: till",
    ] {
        let apart = both("scale: deployment/consumers, namespace: shop", other);
        assert_eq!(recovery(queue, &apart).retry_queues.len(), 5, "{other}");
    }
}

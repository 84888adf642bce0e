//! A drill meets an environment.

use super::*;
use crate::model::{
    playbook::{Breakers, SentinelRules, Via},
    time::Span,
};

fn meet(drill_text: &str, environment: &Environment) -> Vec<Diagnostic> {
    let source = source("expectations/coupon-slow.yaml", drill_text);
    let drill = read_drill(&source, &find).unwrap().value;
    check_against(&drill, environment)
        .into_iter()
        .map(|d| d.located(&source))
        .collect()
}

#[test]
fn the_example_drill_fits_the_example_environment() {
    let mut environment = environment("preprod");
    environment.services.retain(|name, _| name.as_str() == "order");
    let found = meet(
        &with(DRILL, "baseline: 10m", "baseline: 10m\nwindow: 15s"),
        &environment,
    );
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_name_that_the_environment_lacks_is_shown_in_the_drill() {
    let text = with(DRILL, "instances: [order-0]}    #", "instances: [order-9]}    #");
    let text = with(
        &text,
        "{point: coupon.query,",
        "{point: coupon.query, service: cupon,",
    );
    let text = with(&text, "callers: order,", "callers: orders,");
    let text = with(&text, "server: main", "server: mian");
    let text = with(&text, "cluster: main", "cluster: mian");
    let text = with(&text, "\"lb:9999\"", "bl");
    let text = with(&text, "{order-1}", "{order}");
    let text = with(&text, "http://{instance}/restart", "http://{instance}/{x}");
    let shown: String = meet(&text, &environment("preprod"))
        .iter()
        .map(|d| rendered(d))
        .collect();
    insta::assert_snapshot!("unknown_in_environment", shown);
}

#[test]
fn a_service_that_the_environment_lacks_is_told_once() {
    let text = with(DRILL, "targets: {service: order,", "targets: {service: odrer,");
    let found = meet(&text, &environment("preprod"));
    let about_targets: Vec<_> = found.iter().filter(|d| d.keys.starts_with("targets")).collect();
    assert_eq!(about_targets.len(), 1);
    assert_eq!(about_targets[0].help.as_deref(), Some("did you mean `order`?"));
}

#[test]
fn a_query_without_a_server_is_refused_and_a_coarse_scrape_is_warned_of() {
    let text = with(
        DRILL,
        "{metric: payment_backlog, at_most: 200}",
        "{metric: heap, at_most: 2GiB}",
    );
    let mut local = environment("local");
    local.services = environment("preprod").services;
    local.redis = environment("preprod").redis;
    local.kafka = environment("preprod").kafka;
    local.rocketmq = environment("preprod").rocketmq;
    let found = meet(&text, &local);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].keys, "guard.steady_state.3.metric");
    assert!(found[0].message.contains("no Prometheus server"));
    let coarse = meet(DRILL, &environment("preprod"));
    assert_eq!(coarse.len(), 1, "{coarse:?}");
    assert_eq!(coarse[0].help.as_deref(), Some("write `window: 30s` or more"));
}

const BREAKERS: &str =
    r#"{resilience4j: {actuator: "http://{instance}/actuator", callers: order, names: [coupon], via: app}}"#;

fn breakers(entry: &str) -> Vec<Breakers> {
    let source = source("expectations/coupon-slow.yaml", &with(DRILL, BREAKERS, entry));
    let drill = read_drill(&source, &find).unwrap().value;
    let environment = environment("preprod");
    let about_breakers: Vec<_> = check_against(&drill, &environment)
        .into_iter()
        .filter(|d| d.keys.starts_with("recovery.breakers"))
        .collect();
    assert!(about_breakers.is_empty(), "{about_breakers:?}");
    drill.recovery.breakers
}

#[test]
fn a_breaker_can_be_tried_by_calls_after_its_wait() {
    let probe = r#"via: {wait: {probe: "http://{instance}/call/{name}"}}"#;
    let read = breakers(&BREAKERS.replace("via: app", probe));
    let Breakers::Resilience4j { via, .. } = &read[0] else {
        panic!("{read:?}");
    };
    let (url, after) = ("http://{instance}/call/{name}".to_owned(), Span::seconds(60));
    assert_eq!(*via, Via::Probe { url, after });
}

#[test]
fn lists_of_sentinel_rules_are_named_with_the_api_on_each_host() {
    let entry = r#"{sentinel: {api: "http://{host}:8719", callers: order, rules: [flow, degrade]}}"#;
    let read = breakers(entry);
    let Breakers::Sentinel { rules, .. } = &read[0] else {
        panic!("{read:?}");
    };
    assert_eq!(*rules, [SentinelRules::Flow, SentinelRules::Degrade]);
}

#[test]
fn sentinel_rules_that_lead_nowhere_are_refused() {
    for (entry, complaint) in [
        (
            r#"{sentinel: {api: "http://order-0:8719", callers: order, rules: [flow]}}"#,
            "lacks `{instance}` or `{host}`",
        ),
        (
            r#"{sentinel: {api: "http://{host}:8719", callers: order, rules: [flwo]}}"#,
            "not one of the words",
        ),
        (
            r#"{sentinel: {api: "http://{host}:8719", callers: order, rules: []}}"#,
            "no list of rules",
        ),
    ] {
        let refused = drill(&with(DRILL, BREAKERS, entry)).unwrap_err();
        let shown: String = refused.all.iter().map(|d| rendered(d)).collect();
        assert!(shown.contains(complaint), "{shown}");
    }
}

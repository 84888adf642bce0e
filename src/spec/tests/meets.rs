//! A drill meets an environment.

use super::*;

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
    let found = meet(&text, &local);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].keys, "guard.steady_state.3.metric");
    assert!(found[0].message.contains("no Prometheus server"));
    let coarse = meet(DRILL, &environment("preprod"));
    assert_eq!(coarse.len(), 1, "{coarse:?}");
    assert_eq!(coarse[0].help.as_deref(), Some("write `window: 30s` or more"));
}

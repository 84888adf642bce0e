//! What a recovery may do in Kubernetes, and where.

use super::*;
use crate::model::{
    kubernetes::WorkloadKind,
    playbook::{Gateway, QueueHold, Restart, RetryQueue},
    time::Span,
};

const GATEWAY: &str = "haproxy: {socket: \"lb:9999\", backend: order, ramp: [10%, 30%, 100%], hold: 30s}";
const RESTART: &str = "http: {restart: \"http://{instance}/restart\"}";
const RELEASE: &str = "release: {rate: 200/s}, within: 15m}";
const PODS: &str = "kubernetes: {restart: targets, pods: \"app=order,instance={target}\"}";

fn read(from: &str, to: &str) -> Drill {
    match drill(&with(DRILL, from, to)) {
        Ok(read) => read.value,
        Err(wrong) => panic!("{}", rendered(&wrong)),
    }
}

fn wrong(from: &str, to: &str) -> String {
    match drill(&with(DRILL, from, to)) {
        Ok(_) => panic!("{to} was read"),
        Err(wrong) => rendered(&wrong),
    }
}

fn meet(drill: &Drill, environment: &Environment) -> Vec<String> {
    let found = check_against(drill, environment).into_iter();
    let errors = found.filter(|d| d.severity == Severity::Error);
    errors.map(|d| format!("{}: {}", d.keys, d.message)).collect()
}

#[test]
fn a_gateway_of_pods_goes_by_a_label() {
    let of = |label: &str| {
        let gateway = format!("kubernetes: {{pods: \"app={{target}}\", label: {label}, hold: 5s}}");
        match read(GATEWAY, &gateway).recovery.gateway {
            Some(Gateway::Pods(gateway)) => gateway,
            other => panic!("{other:?}"),
        }
    };
    let gateway = of("{key: shop.example/serving}");
    assert_eq!(
        (gateway.key.as_str(), gateway.out.as_str()),
        ("shop.example/serving", "false")
    );
    assert_eq!(
        (gateway.pods.namespace, gateway.pods.selector.as_str()),
        (None, "app={target}")
    );
    assert_eq!(of("{key: serving, out: \"no\"}").out, "no");
    let with_ramp = "kubernetes: {pods: \"app={target}\", label: {key: serving}, ramp: [10%, 100%]}";
    assert!(wrong(GATEWAY, with_ramp).contains("`ramp`"));
    let both = format!("{GATEWAY}, kubernetes: {{pods: \"app={{target}}\", label: {{key: serving}}}}");
    assert!(wrong(GATEWAY, &both).contains("exclude each other"));
}

#[test]
fn a_gateway_of_a_route_goes_by_the_weight_of_a_service_for_each_target() {
    let with_rest = |rest: &str| format!("httproute: {{route: order, {rest}}}");
    let route = match read(GATEWAY, &with_rest("backend: \"order-{target}\", hold: 5s"))
        .recovery
        .gateway
    {
        Some(Gateway::Route(route)) => route,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (route.route.as_str(), route.backend.as_str()),
        ("order", "order-{target}")
    );
    assert_eq!(
        (route.namespace, route.ramp.len(), route.hold),
        (None, 3, Span::seconds(5))
    );
    assert!(wrong(GATEWAY, &with_rest("backend: order")).contains("the Service lacks `{target}`"));
    assert!(wrong(GATEWAY, &with_rest("backend: \"A_{target}\"")).contains("is not a Service's name"));
    let falls = with_rest("backend: \"{target}\", ramp: [30%, 10%]");
    assert!(wrong(GATEWAY, &falls).contains("the stages of a ramp rise"));
    let both = format!("{GATEWAY}, {}", with_rest("backend: \"{target}\""));
    assert!(wrong(GATEWAY, &both).contains("exclude each other"));
}

#[test]
fn pods_are_not_selected_by_the_label_that_takes_them_out() {
    let by = |pods: &str| format!("kubernetes: {{pods: \"{pods}\", label: {{key: serving}}, hold: 5s}}");
    let refused = wrong(GATEWAY, &by("app={target},serving=true"));
    assert!(refused.contains("none would be found by it"), "{refused}");
    let file = with(DRILL, GATEWAY, &by("app={target}"));
    let restart = "kubernetes: {restart: targets, pods: \"app={target},serving=true\"}";
    let refused = drill(&with(&file, RESTART, restart)).map(|_| ());
    let refused = rendered(&refused.unwrap_err());
    assert!(refused.contains("none would be found by it"), "{refused}");
    assert!(drill(&with(&file, RESTART, PODS)).is_ok());
}

#[test]
fn a_selector_that_could_match_anything_is_refused() {
    let refused = |selector: &str| {
        wrong(
            RESTART,
            &format!("kubernetes: {{restart: targets, pods: \"{selector}\"}}"),
        )
    };
    assert!(refused("app=order").contains("the selector lacks `{target}`"));
    assert!(
        refused("instance={target},tier!=x").contains("is not KEY=VALUE")
            || refused("instance={target},tier!=x").contains("is not a label's key")
    );
    assert!(refused("instance in ({target})").contains("is not KEY=VALUE"));
    assert!(refused("instance={target},").contains("is not KEY=VALUE"));
    assert!(refused("-app={target}").contains("is not a label's key"));
    assert!(refused("app={target},zone=a b").contains("is not a label's value"));
    let both = wrong(
        RESTART,
        "kubernetes: {restart: everything, pods: \"app={target}\"}",
    );
    assert!(both.contains("targets"), "{both}");
}

#[test]
fn a_restart_may_be_a_rollout_of_a_workload_for_each_target() {
    let rollout = |to: &str| match read(RESTART, to).recovery.pools.remove(0).if_stuck {
        Some(Restart::Rollout(rollout)) => rollout,
        other => panic!("{other:?}"),
    };
    let read = rollout("kubernetes: {rollout: \"deployment/{target}\", namespace: shop}");
    assert_eq!(
        (read.kind, read.name.as_str(), read.namespace.unwrap().as_str()),
        (WorkloadKind::Deployment, "{target}", "shop")
    );
    let read = rollout("kubernetes: {rollout: statefulset/order}");
    assert_eq!(
        (read.kind, read.name.as_str()),
        (WorkloadKind::StatefulSet, "order")
    );
    let refused = |to: &str| wrong(RESTART, &format!("kubernetes: {{{to}}}"));
    assert!(refused("rollout: order").contains("names no kind"));
    assert!(refused("rollout: daemonset/order").contains("has no rollout here"));
    assert!(refused("rollout: deployment/Order").contains("is not a workload's name"));
    assert!(refused("rollout: \"deployment/{instance}\"").contains("is not a workload's name"));
    assert!(refused("rollout: deployment/order, restart: targets").contains("exclude each other"));
    assert!(refused("rollout: deployment/order, pods: \"app={target}\"").contains("exclude each other"));
    assert!(refused("restart: targets").contains("`pods`"));
}

#[test]
fn one_rollout_is_not_taken_for_the_restart_of_several_targets() {
    let to = |rollout: &str| {
        let file = with(DRILL, "instances: [order-0]", "instances: [order-0, order-1]");
        let file = with(&file, RESTART, &format!("kubernetes: {{rollout: \"{rollout}\"}}"));
        drill(&file)
            .map(|read| meet(&read.value, &environment("preprod")))
            .map_err(|e| rendered(&e))
            .unwrap()
    };
    let refused = to("deployment/order");
    assert!(
        refused.iter().any(|e| e.contains("names no instance")),
        "{refused:?}"
    );
    let allowed = to("deployment/{target}");
    assert!(
        !allowed.iter().any(|e| e.contains("names no instance")),
        "{allowed:?}"
    );
}

#[test]
fn a_queue_is_held_by_the_scale_of_a_deployment() {
    let hold = |to: &str| {
        let drill = read(
            RELEASE,
            &format!("release: {{rate: 200/s}}, hold: {{scale: {to}}}}}"),
        );
        match &drill.recovery.retry_queues[0] {
            RetryQueue::Kafka(queue) => queue.hold.clone(),
            other => panic!("{other:?}"),
        }
    };
    let QueueHold::Scale {
        namespace,
        deployment,
    } = hold("deployment/retry-consumer, namespace: shop")
    else {
        panic!("not by scale")
    };
    assert_eq!(
        (namespace.unwrap().as_str(), deployment.as_str()),
        ("shop", "retry-consumer")
    );
    let refused = |to: &str| {
        wrong(
            RELEASE,
            &format!("release: {{rate: 200/s}}, hold: {{scale: {to}}}}}"),
        )
    };
    assert!(refused("retry-consumer").contains("write `deployment/NAME`"));
    assert!(refused("statefulset/x").contains("cannot be scaled here"));
    assert!(refused("deployment/Retry").contains("is not a Deployment's name"));
    assert!(refused("deployment/x, namespace: Shop").contains("is not a namespace's name"));
}

#[test]
fn nothing_is_touched_outside_the_namespaces_that_the_environment_allows() {
    let drill = read(RESTART, PODS);
    let mut environment = environment("preprod");
    assert_eq!(meet(&drill, &environment), Vec::<String>::new());
    let Some(Restart::Kubernetes(pods)) = &drill.recovery.pools[0].if_stuck else {
        panic!("no restart of pods")
    };
    assert_eq!(pods.selector, "app=order,instance={target}");
    let elsewhere = read(
        RESTART,
        &PODS.replace("restart: targets", "restart: targets, namespace: kube-system"),
    );
    assert_eq!(
        meet(&elsewhere, &environment),
        [
            "recovery.pools.0.if_stuck.kubernetes.namespace: environment `preprod` does not allow the namespace `kube-system`"
        ]
    );
    let cluster = environment.kubernetes.as_mut().unwrap();
    cluster
        .namespaces
        .push(crate::model::ids::Namespace::new("other").unwrap());
    assert_eq!(
        meet(&drill, &environment),
        ["recovery.pools.0.if_stuck.kubernetes: no namespace is named, and the environment allows several"]
    );
    environment.kubernetes = None;
    assert_eq!(
        meet(&drill, &environment),
        ["recovery.pools.0.if_stuck.kubernetes: environment `preprod` has no Kubernetes"]
    );
}

#[test]
fn a_cluster_without_a_namespace_is_refused() {
    let kubernetes = "namespaces: [shop]}";
    let config = |to: &str| read_config(&source("allclear.yaml", &with(CONFIG, kubernetes, to)));
    assert!(rendered(&config("namespaces: []}").unwrap_err()).contains("no namespace is allowed"));
    assert!(rendered(&config("namespaces: [Shop]}").unwrap_err()).contains("is not a namespace's name"));
    assert!(config("namespaces: [shop, shop]}").is_err());
}

//! What the tables give as an example is accepted by the reader, wherever the tables give it.

use std::collections::BTreeSet;

use super::*;
use crate::spec::{
    shape::{Form, Scalar},
    tree::{Node, Value},
};

/// The single values of a file, with what its table says of each and the key that it stands under.
fn singles(node: &Node, form: &Form, key: &str, found: &mut Vec<(Node, Scalar, String)>) {
    match (&node.value, form) {
        (Value::Text { .. }, Form::One(scalar)) => found.push((node.clone(), *scalar, key.to_owned())),
        (Value::Map(entries), Form::Map(shape)) => {
            for entry in entries {
                let known = shape.key(&entry.key).expect("a known key");
                singles(
                    &entry.value,
                    &known.form,
                    &format!("{} of {}", entry.key, shape.name),
                    found,
                );
            }
        }
        (Value::Map(entries), Form::Named(form)) => {
            entries.iter().for_each(|e| singles(&e.value, form, key, found));
        }
        (Value::List(items), Form::List(form)) => items.iter().for_each(|n| singles(n, form, key, found)),
        (_, Form::Either(forms)) => forms.iter().for_each(|form| singles(node, form, key, found)),
        _ => {}
    }
}

fn complaints(kind: Kind, text: &str) -> Vec<Diagnostic> {
    let file = source("file.yaml", text);
    let all = match kind {
        Kind::Drill => read_drill(&file, &find).err(),
        Kind::Dashboard => read_dashboard(&file).err(),
        Kind::Config => read_config(&file).err(),
    };
    all.map_or_else(Vec::new, |found| found.all)
}

/// The example drill with each of its parts in another form as well.
fn drills() -> Vec<String> {
    let changes = [
        (
            r#"haproxy: {socket: "lb:9999", backend: order,"#,
            r#"httproute: {route: order, backend: "order-{target}", namespace: shop,"#,
        ),
        (
            r#"haproxy: {socket: "lb:9999", backend: order, ramp: [10%, 30%, 100%],"#,
            r#"kubernetes: {pods: "app=order,instance={target}", label: {key: serving, out: no},"#,
        ),
        (
            "haproxy: {socket: \"lb:9999\",",
            "haproxy: {socket: [lb-a, lb-b],",
        ),
        ("via: app", r#"via: {app: "http://{instance}/{name}"}"#),
        (
            "via: app",
            r#"via: {wait: {probe: "http://{instance}/call", after: 60s}}"#,
        ),
        (
            r#"resilience4j: {actuator: "http://{instance}/actuator", callers: order, names: [coupon], via: app}"#,
            r#"sentinel: {api: "http://{host}:8719", callers: order, rules: [flow]}"#,
        ),
        ("match: \"degrade:order:*\"", "prefix: degrade"),
        (
            r#"http: {restart: "http://{instance}/restart"}"#,
            r#"systemd: {unit: "order@{target}", run: [sudo], timeout: 60s}"#,
        ),
        (
            r#"http: {restart: "http://{instance}/restart"}"#,
            "command: {run: [restart], timeout: 60s}",
        ),
        (
            r#"http: {restart: "http://{instance}/restart"}"#,
            r#"kubernetes: {restart: targets, pods: "app=order,instance={target}"}"#,
        ),
        (
            r#"http: {restart: "http://{instance}/restart"}"#,
            r#"kubernetes: {rollout: "deployment/{target}", namespace: shop}"#,
        ),
        ("wait: 60s,", r#"scrape_holds: 1, ready: "http://{instance}/up","#),
        (
            "user: order, clients: [order-retry],",
            "hold: {scale: deployment/retry-consumer, namespace: shop},",
        ),
        (
            "run: [./warm.sh], check: [./warm.sh, --ok], timeout: 30s",
            r#"http: {put: "http://{instance}/x", check: {get: "http://{instance}/x", status: 200}}"#,
        ),
        ("delay: {mean: 2s, jitter: 500ms}", "delay: 2s"),
        ("delay: {mean: 2s, jitter: 500ms}", "status: 503"),
        (
            "delay: {mean: 2s, jitter: 500ms}",
            "status: {code: 503, body: no}",
        ),
        ("delay: {mean: 2s, jitter: 500ms}", "exception: java.lang.Error"),
        (
            "delay: {mean: 2s, jitter: 500ms}",
            "exception: {class: java.lang.Error}",
        ),
        ("delay: {mean: 2s, jitter: 500ms}", "memory: 64MiB"),
        ("delay: {mean: 2s, jitter: 500ms}", "empty: true"),
    ];
    let changed = changes.iter().map(|(from, to)| with(DRILL, from, to));
    [DRILL.to_owned()].into_iter().chain(changed).collect()
}

/// The example configuration with its Redis and its login in another form as well.
fn configs() -> Vec<String> {
    let one = r#"{address: "redis.example:6379", user: drill, password: {file: secrets/redis}, db: 0}"#;
    let tls = "tls: {ca: a.pem, cert: b.pem, key: c.pem}";
    let sentinel = r#"sentinel: {master: shop, addresses: ["s1:26379"], user: drill, password: "${P}"}"#;
    [
        CONFIG.to_owned(),
        with(CONFIG, one, &format!("{{{sentinel}, {tls}}}")),
        with(
            CONFIG,
            one,
            &format!(r#"{{cluster: {{addresses: ["c1:6379"]}}, {tls}}}"#),
        ),
        with(
            CONFIG,
            r#"basic: {user: allclear, password: "${PROM_PASSWORD}"}"#,
            r#"bearer: "${TOKEN}""#,
        ),
        with(
            CONFIG,
            "lease: {redis: main}",
            "lease: {kubernetes: {namespace: shop}}",
        ),
    ]
    .to_vec()
}

#[test]
fn every_example_is_accepted_where_the_tables_give_it() {
    let files = drills().into_iter().map(|text| (Kind::Drill, text));
    let files = files.chain(configs().into_iter().map(|text| (Kind::Config, text)));
    let (mut keys, mut tried) = (BTreeSet::new(), BTreeSet::new());
    for (kind, text) in files.chain([(Kind::Dashboard, DASHBOARD.to_owned())]) {
        assert!(
            complaints(kind, &text).is_empty(),
            "{:?}",
            complaints(kind, &text)
        );
        let mut found = Vec::new();
        singles(
            &tree::parse(&text).unwrap(),
            &Form::Map(kind.shape()),
            "the file",
            &mut found,
        );
        for (node, scalar, key) in found {
            // What such a bound is written in depends on the metric's unit; bounds.rs tries each. A jitter has the mean
            // beside it for its bound.
            let depends = matches!(scalar, Scalar::Level | Scalar::Change | Scalar::Fraction);
            if depends || key == "jitter of a delay" || !keys.insert(key.clone()) {
                continue;
            }
            let quoted = serde_json::to_string(scalar.example()).unwrap();
            let mut with_example = text.clone();
            with_example.replace_range(node.span.clone(), &quoted);
            let refused: Vec<Diagnostic> = complaints(kind, &with_example)
                .into_iter()
                .filter(|d| matches!(d.problem, Problem::BadValue | Problem::WrongType))
                .filter(|d| d.span.as_ref().is_some_and(|span| span.start >= node.span.start))
                .filter(|d| {
                    d.span
                        .as_ref()
                        .is_some_and(|span| span.end <= node.span.start + quoted.len())
                })
                .collect();
            assert!(refused.is_empty(), "{key}: {quoted} is refused: {refused:?}");
            tried.insert(format!("{scalar:?}"));
        }
    }
    // Those whose values are bounded by more than their type are all among them.
    for scalar in [
        "Path",
        "UrlPath",
        "Quantile",
        "HttpStatus",
        "Unit",
        "Workload",
        "PodLabels",
        "Secret",
    ] {
        assert!(tried.contains(scalar), "no file has one: {scalar}");
    }
}

#[test]
fn a_headings_anchor_has_nothing_that_a_link_to_it_would_lose() {
    for kind in Kind::ALL {
        for shape in super::reference::all_shapes(kind.shape()) {
            let name = schema::def_name(shape);
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{name}"
            );
        }
    }
}

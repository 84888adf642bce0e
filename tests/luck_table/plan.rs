//! A plan with one sick row and one healthy one, and a metric that holds throughout.

use allclear::model::plan::Plan;
use serde_json::{Value, json};

/// What a row adds is merged in: objects by their fields, lists one after the other.
fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(more)) => into.extend(more),
        (into, more) => *into = more,
    }
}

/// The plan of a run about `order-0`. Its guard looks at `shop_orders` alone.
pub fn plan(environments: [Value; 2], playbooks: [Value; 2]) -> Plan {
    let mut environment = json!({
        "name": "parts", "stage": "practice", "metrics": {"scrape": {"every": 1000, "path": "/metrics"}},
        "services": {"order": {}}, "redis": {}, "gateways": {}, "notify": []
    });
    let mut playbook = json!({
        "gateway": null, "breakers": [], "flags": [], "retry_queues": [], "pools": [], "commands": [],
        "hold": 300, "verify_within": 10_000
    });
    environments
        .into_iter()
        .for_each(|more| merge(&mut environment, more));
    playbooks.into_iter().for_each(|more| merge(&mut playbook, more));
    let gauge = |id: &str, name: &str| {
        json!({"id": id, "title": {"en": ""}, "kind": "business", "unit": "count", "better": null,
            "read": {"gauge": {"selector": {"name": name, "matchers": []}, "agg": "max"}}})
    };
    let held = json!({"metric": "orders", "scope": null, "window": 1000, "limit": {"at_most": 100.0}});
    let plan = json!({
        "run": "7f3a01", "drill_source": "", "drill_folder": "/", "started_by": "test", "purpose": "drill",
        "attended": false, "lang": "en", "allclear_version": "0", "environment": environment,
        "drill": {
            "name": "luck", "title": {"en": ""}, "hypothesis": {"en": ""}, "risk": null, "baseline": 2000,
            "window": 1000, "settle": null, "accept_no_expiry": false,
            "targets": {"service": "order", "instances": ["order-0"]},
            "steps": [{
                "name": "look", "duration": 1000, "start": "in_order", "settle": null, "expect": [], "action": "observe"
            }],
            "dashboard": {"name": "shop", "scopes": [], "panels": [], "topology": [],
                "metrics": [gauge("orders", "shop_orders"), gauge("busy", "order_threads_busy")]},
            "guard": {"every": 500, "samples": 3, "steady_state": [held], "tripwires": []},
            "recovery": playbook
        }
    });
    serde_json::from_value(plan).expect("the plan above")
}

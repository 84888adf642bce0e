//! A plan about the apps, and recovery's steps on it.

use std::sync::Arc;

use allclear::{
    drivers::{Drivers, Patience},
    engine::recovery::{StepEnd, breakers_open, left_behind, read_snapshot, traffic},
    model::{
        event::{Check, CheckOutcome},
        ids::InstanceName,
        plan::Plan,
        recovery::Leftover,
        secret::Secrets,
        snapshot::{BreakerSeen, BreakerState, Snapshot},
        time::Span,
    },
};
use serde_json::{Value, json};

use crate::parts_support::Staged;

/// The ways back, with the app's own addresses.
pub const WAYS: [&str; 4] = ["app", "close", "wait", "probe"];

pub fn via(way: &str) -> Value {
    match way {
        "app" => json!({"app": {"url": "http://{instance}/app/breakers/{name}/half-open"}}),
        "probe" => json!({"probe": {"url": "http://{instance}/call/{name}", "after": 2000}}),
        word => json!(word),
    }
}

pub fn resilience4j(names: &[&str], way: &str) -> Value {
    json!({"resilience4j": {
        "actuator": "http://{instance}/actuator", "callers": "order", "names": names, "via": via(way)
    }})
}

/// A plan that observes, with these breakers to be put back and these instances of `order`.
pub fn plan(addresses: &[String], breakers: Value) -> Plan {
    let instances: Value = addresses
        .iter()
        .enumerate()
        .map(|(number, address)| (format!("order-{number}"), json!(address)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let metric = json!({"id": "threads", "title": {"en": ""}, "kind": "business", "unit": "count", "better": null,
        "read": {"gauge": {"selector": {"name": "jvm_threads_live_threads", "matchers": []}, "agg": "max"}}});
    let held = json!({"metric": "threads", "scope": null, "window": 1000, "limit": {"at_most": 100_000.0}});
    let plan = json!({
        "run": "7f3a01", "drill_source": "", "drill_folder": "/", "started_by": "test", "purpose": "drill",
        "attended": false, "lang": "en", "allclear_version": "0",
        "environment": {
            "name": "parts", "stage": "practice",
            "metrics": {"scrape": {"every": 500, "path": "/actuator/prometheus"}},
            "services": {"order": instances}, "redis": {}, "gateways": {}, "notify": []
        },
        "drill": {
            "name": "parts", "title": {"en": ""}, "hypothesis": {"en": ""}, "risk": null, "baseline": 2000,
            "window": 1000, "settle": null, "accept_no_expiry": false,
            "targets": {"service": "order", "instances": ["order-0"]},
            "steps": [{
                "name": "look", "duration": 1000, "start": "in_order", "settle": null, "expect": [], "action": "observe"
            }],
            "dashboard": {"name": "shop", "scopes": [], "panels": [], "topology": [], "metrics": [metric]},
            "guard": {"every": 500, "samples": 3, "steady_state": [held], "tripwires": []},
            "recovery": {
                "gateway": null, "breakers": [breakers], "flags": [], "retry_queues": [], "pools": [], "commands": [],
                "hold": 500, "verify_within": 30_000
            }
        }
    });
    serde_json::from_value(plan).expect("the plan above")
}

/// Long enough for a busy machine, short enough for a table of cases.
pub const PATIENCE: Patience = Patience {
    connect: Span::seconds(1),
    call: Span::seconds(2),
    late: Span::millis(300),
    step: Span::seconds(5),
    confirm: Span::seconds(6),
    guard: Span::seconds(1),
    poll: Span::millis(50),
};

/// How a recovery ended, by its own account.
pub struct Ended {
    pub opened: StepEnd,
    pub left: Vec<Leftover>,
}

impl Staged {
    pub fn new(plan: Plan, patience: Patience) -> Self {
        Self::of(plan, Secrets::none(), patience)
    }

    /// The snapshot that preflight would have taken with these breakers.
    pub fn before(mut self, breakers: Vec<BreakerSeen>) -> Self {
        self.scene.snapshot = Arc::new(Snapshot {
            breakers,
            ..Snapshot::default()
        });
        self
    }

    /// The steps that have to do with breakers, and the last look.
    pub async fn recover(&self) -> Ended {
        let opened = breakers_open(&self.scene).await;
        traffic(&self.scene).await;
        Ended {
            opened,
            left: left_behind(&self.scene).await,
        }
    }
}

/// What preflight finds, and refuses.
pub async fn checks(plan: Plan) -> Vec<Check> {
    let drivers = Drivers::with_patience(&plan, Secrets::none(), PATIENCE).expect("the clients");
    read_snapshot(&plan, &drivers).await.1
}

pub fn refused(checks: &[Check]) -> Vec<&Check> {
    let refused = checks.iter().filter(|c| c.outcome == CheckOutcome::Refused);
    refused.collect()
}

pub fn seen(number: usize, name: &str, state: &str) -> BreakerSeen {
    BreakerSeen {
        entry: 0,
        instance: InstanceName::new(&format!("order-{number}")).expect("a name"),
        name: name.to_owned(),
        state: serde_json::from_value::<BreakerState>(json!(state)).expect("a state"),
    }
}

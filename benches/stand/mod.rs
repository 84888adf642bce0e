//! What the engine's benches stand on: services on loopback that answer after a latency, a plan about them, and the real
//! engine with a real journal.
#![allow(dead_code, unused_imports, reason = "each bench uses its own part")]

pub mod bound;
mod engine;

pub use engine::Engine;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use allclear::model::plan::Plan;
use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post, put},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::Mutex,
    task::JoinHandle,
    time::{Instant, sleep},
};

/// The run of every plan here.
pub const RUN: &str = "7f3a01";
/// Threads that a service calls too many; the plans' limits lie between this and zero.
pub const BUSY: u64 = 46;

/// What all services of a bench share: how they answer, and what they have seen.
#[derive(Default)]
pub struct World {
    /// How long the injection-point API takes to answer, in milliseconds. A change is made when the answer leaves.
    pub latency: AtomicU64,
    /// Whether the services are in a state that the guard calls bad.
    pub bad: AtomicBool,
    /// Rules in force everywhere.
    pub live: AtomicU64,
    /// Rules that were ever put in force.
    pub made: AtomicU64,
    /// When the last rule went.
    pub emptied: Mutex<Option<Instant>>,
    /// Breakers that are still open.
    pub open: AtomicU64,
}

/// One instance.
struct Service {
    world: Arc<World>,
    rules: Mutex<BTreeMap<String, Value>>,
    open: AtomicBool,
}

/// Instances on loopback; gone when dropped.
pub struct Services {
    pub world: Arc<World>,
    pub addresses: Vec<String>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Services {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Services {
    /// `count` instances, each with `rules` rules of the run in force and, if asked, an open breaker.
    pub async fn start(count: usize, rules: usize, open: bool) -> Self {
        raise_file_limit();
        let world = Arc::new(World::default());
        world.live.store((count * rules) as u64, SeqCst);
        world.open.store(if open { count as u64 } else { 0 }, SeqCst);
        let (mut addresses, mut tasks) = (Vec::new(), Vec::new());
        for number in 0..count {
            let held = (0..rules).map(|n| (rule_id(number, n), rule_json(number, n)));
            let service = Arc::new(Service {
                world: world.clone(),
                rules: Mutex::new(held.collect()),
                open: AtomicBool::new(open),
            });
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            addresses.push(listener.local_addr().expect("an address").to_string());
            tasks.push(tokio::spawn(async move {
                axum::serve(listener, router(service)).await.expect("a server");
            }));
        }
        Self {
            world,
            addresses,
            tasks,
        }
    }

    /// The instances' names and addresses, as an environment has them.
    pub fn environment(&self) -> Value {
        self.addresses
            .iter()
            .enumerate()
            .map(|(n, address)| (instance(n), json!(address)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

/// The name of an instance.
pub fn instance(number: usize) -> String {
    format!("order-{number}")
}

/// The id of a rule that is in force from the start.
pub fn rule_id(number: usize, n: usize) -> String {
    format!("{RUN}-slow-order-{number}-{n}")
}

fn rule_json(number: usize, n: usize) -> Value {
    json!({"id": rule_id(number, n), "run": RUN, "point": "coupon.query"})
}

fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/metrics", get(page))
        .route(
            "/chaos/points",
            get(|| async { Json(json!({"points": ["coupon.query"]})) }),
        )
        .route("/chaos/rules", get(list).delete(delete_all))
        .route("/chaos/rules/{id}", put(create).delete(delete))
        .route("/actuator/circuitbreakers", get(breakers))
        .route("/breakers/{name}/half-open", post(half_open))
        .with_state(service)
}

async fn page(State(service): State<Arc<Service>>) -> String {
    let bad = service.world.bad.load(SeqCst);
    let (busy, success) = if bad { (BUSY, 0.5) } else { (1, 1.0) };
    format!("busy {busy}\nsuccess {success}\n")
}

async fn after_latency(service: &Service) {
    let latency = service.world.latency.load(SeqCst);
    if latency > 0 {
        sleep(Duration::from_millis(latency)).await;
    }
}

async fn list(State(service): State<Arc<Service>>) -> Json<Value> {
    after_latency(&service).await;
    let rules: Vec<Value> = service.rules.lock().await.values().cloned().collect();
    Json(json!({ "rules": rules }))
}

async fn create(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    Json(mut rule): Json<Value>,
) -> StatusCode {
    after_latency(&service).await;
    rule["id"] = json!(id);
    if service.rules.lock().await.insert(id, rule).is_none() {
        service.world.live.fetch_add(1, SeqCst);
        service.world.made.fetch_add(1, SeqCst);
    }
    StatusCode::CREATED
}

async fn delete(State(service): State<Arc<Service>>, Path(id): Path<String>) -> StatusCode {
    after_latency(&service).await;
    let there = service.rules.lock().await.remove(&id).is_some();
    went(&service.world, u64::from(there)).await;
    if there {
        StatusCode::NO_CONTENT
    } else {
        StatusCode::NOT_FOUND
    }
}

/// All rules here are of one run.
async fn delete_all(State(service): State<Arc<Service>>) -> Json<Value> {
    after_latency(&service).await;
    let removed = std::mem::take(&mut *service.rules.lock().await).len() as u64;
    went(&service.world, removed).await;
    Json(json!({ "removed": removed }))
}

/// The system is well again with its last rule.
async fn went(world: &World, count: u64) {
    if count > 0 && world.live.fetch_sub(count, SeqCst) == count {
        *world.emptied.lock().await = Some(Instant::now());
        world.bad.store(false, SeqCst);
    }
}

async fn breakers(State(service): State<Arc<Service>>) -> Json<Value> {
    let state = if service.open.load(SeqCst) {
        "OPEN"
    } else {
        "CLOSED"
    };
    Json(json!({"circuitBreakers": {"coupon": {"failureRate": "-1.0%", "state": state}}}))
}

async fn half_open(State(service): State<Arc<Service>>) -> StatusCode {
    if service.open.swap(false, SeqCst) {
        service.world.open.fetch_sub(1, SeqCst);
        StatusCode::NO_CONTENT
    } else {
        StatusCode::CONFLICT
    }
}

/// A plan: one fault on all instances but the last, so that the targets are never everything.
pub fn plan(services: &Services, rules: usize, guard: Value, change: impl FnOnce(&mut Value)) -> Plan {
    let targets: Vec<String> = (0..services.addresses.len() - 1).map(instance).collect();
    let metric = |id: &str, kind: &str, unit: &str| {
        json!({"id": id, "title": {"en": id}, "kind": kind, "unit": unit, "better": null,
            "read": {"gauge": {"selector": {"name": id, "matchers": []}, "agg": "max"}}})
    };
    let fault = json!({"rule": {"point": "coupon.query", "service": null,
        "effect": {"delay": {"mean": 2000, "jitter": 0}}}});
    let envelope = json!({"header": {"x-drill": "bench"}, "instances": [], "percent": 0.2, "max_concurrent": 20,
        "window": null});
    let mut plan = json!({
        "run": RUN, "drill_source": "", "drill_folder": "/", "started_by": "bench", "purpose": "drill",
        "attended": false, "lang": "en", "allclear_version": "0",
        "environment": {
            "name": "bench", "stage": "practice", "metrics": {"scrape": {"every": 1000, "path": "/metrics"}},
            "services": {"order": services.environment()}, "redis": {}, "gateways": {}, "notify": []
        },
        "drill": {
            "name": "bench", "title": {"en": ""}, "hypothesis": {"en": ""}, "risk": null, "baseline": 2000,
            "window": 1000, "settle": null, "accept_no_expiry": false,
            "targets": {"service": "order", "instances": targets},
            "steps": [{
                "name": "slow", "duration": 120_000, "start": "in_order", "settle": null, "expect": [],
                "action": {"fault": {"faults": vec![fault; rules], "envelope": envelope}}
            }],
            "dashboard": {"name": "shop", "scopes": [], "panels": [], "topology": [],
                "metrics": [metric("busy", "system", "count"), metric("success", "business", "percent")]},
            "guard": guard,
            "recovery": {
                "gateway": null, "breakers": [], "flags": [], "retry_queues": [], "pools": [], "commands": [],
                "hold": 500, "verify_within": 30_000
            }
        }
    });
    change(&mut plan);
    serde_json::from_value(plan).expect("the plan above")
}

/// Smallest, middle and largest.
pub fn spread(mut took: Vec<Duration>) -> String {
    took.sort();
    let ms = |d: Duration| d.as_secs_f64() * 1000.0;
    format!(
        "{:.0} / {:.0} / {:.0} ms (least / median / worst of {})",
        ms(took[0]),
        ms(took[took.len() / 2]),
        ms(took[took.len() - 1]),
        took.len()
    )
}

fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum.map(|m| m.min(65_536)).or(Some(65_536)),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).expect("files for a thousand services and their clients");
}

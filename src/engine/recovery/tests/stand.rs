//! Stand-ins that answer as the documented services do, and can be put into a mood.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::{Path, Query, Request, State},
    http::{HeaderMap, StatusCode},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post, put},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Mutex, task::JoinHandle, time::Instant};

/// How a stand-in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Well,
    Slow,
    Refuses,
    Broken,
    Garbage,
}

/// A service on loopback; gone when dropped.
pub struct Stand {
    pub address: String,
    mood: Arc<AtomicU8>,
    /// How many it has got, whatever its mood.
    pub requests: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stand {
    pub async fn start(router: Router) -> Stand {
        let mood = Arc::new(AtomicU8::new(Mood::Well as u8));
        let requests = Arc::new(AtomicU64::new(0));
        let seen = (mood.clone(), requests.clone());
        let router = router.layer(from_fn_with_state(seen, moody));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Stand {
            address,
            mood,
            requests,
            task,
        }
    }

    pub fn turn(&self, mood: Mood) {
        self.mood.store(mood as u8, Relaxed);
    }
}

async fn moody(
    State((mood, requests)): State<(Arc<AtomicU8>, Arc<AtomicU64>)>,
    request: Request,
    next: Next,
) -> Response {
    requests.fetch_add(1, Relaxed);
    match mood.load(Relaxed) {
        m if m == Mood::Slow as u8 => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            StatusCode::OK.into_response()
        }
        m if m == Mood::Refuses as u8 => (StatusCode::FORBIDDEN, "not for you\u{1b}[31m").into_response(),
        m if m == Mood::Broken as u8 => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        m if m == Mood::Garbage as u8 => (
            StatusCode::OK,
            [("content-type", "text/html")],
            "<html>please log in</html>",
        )
            .into_response(),
        _ => next.run(request).await,
    }
}

pub use crate::drivers::testing::nobody;

/// Something that accepts connections and never says a word.
pub struct Silent {
    pub address: String,
    task: JoinHandle<()>,
}

impl Drop for Silent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub async fn silent() -> Silent {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            open.push(connection);
        }
    });
    Silent { address, task }
}

/// The injection-point API.
#[derive(Clone, Default)]
pub struct Injector {
    pub rules: Arc<Mutex<BTreeMap<String, Value>>>,
    pub latency: Arc<AtomicU64>,
    /// Deletes are answered well and do nothing.
    pub deaf: Arc<AtomicU8>,
    pub requests: Arc<AtomicU64>,
}

impl Injector {
    pub async fn holding(ids: &[(&str, &str)]) -> Self {
        let injector = Self::default();
        for (run, id) in ids {
            injector.insert(run, id).await;
        }
        injector
    }

    pub async fn insert(&self, run: &str, id: &str) {
        let rule = json!({"id": id, "run": run, "point": "coupon.query", "hits": 3, "expires_in_ms": 1000});
        self.rules.lock().await.insert(id.to_owned(), rule);
    }

    pub async fn ids(&self) -> Vec<String> {
        self.rules.lock().await.keys().cloned().collect()
    }

    pub fn router(&self) -> Router {
        Router::new()
            .route("/chaos/rules", get(rules).delete(delete_run))
            .route("/chaos/rules/{id}", put(create).delete(delete_rule))
            .route(
                "/chaos/points",
                get(|| async { Json(json!({"points": ["coupon.query", "order.db"]})) }),
            )
            .with_state(self.clone())
    }

    async fn pace(&self) {
        self.requests.fetch_add(1, Relaxed);
        tokio::time::sleep(Duration::from_millis(self.latency.load(Relaxed))).await;
    }
}

async fn rules(State(injector): State<Injector>) -> Json<Value> {
    injector.pace().await;
    let rules: Vec<Value> = injector.rules.lock().await.values().cloned().collect();
    Json(json!({ "rules": rules }))
}

async fn create(
    State(injector): State<Injector>,
    Path(id): Path<String>,
    Json(mut rule): Json<Value>,
) -> StatusCode {
    injector.pace().await;
    rule["id"] = json!(id);
    injector.rules.lock().await.insert(id, rule);
    StatusCode::CREATED
}

async fn delete_rule(State(injector): State<Injector>, Path(id): Path<String>) -> StatusCode {
    injector.pace().await;
    if injector.deaf.load(Relaxed) == 1 {
        return StatusCode::NO_CONTENT;
    }
    match injector.rules.lock().await.remove(&id) {
        Some(_) => StatusCode::NO_CONTENT,
        None => StatusCode::NOT_FOUND,
    }
}

async fn delete_run(
    State(injector): State<Injector>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Json<Value> {
    injector.pace().await;
    let mut rules = injector.rules.lock().await;
    let before = rules.len();
    if injector.deaf.load(Relaxed) == 0 {
        rules.retain(|_, rule| rule["run"].as_str() != query.get("run").map(String::as_str));
    }
    Json(json!({"removed": before - rules.len()}))
}

/// Resilience4j's actuator with its traps, and the service's half-open endpoint.
#[derive(Clone, Default)]
pub struct Actuator {
    pub states: Arc<Mutex<BTreeMap<String, String>>>,
    pub posts: Arc<Mutex<Vec<String>>>,
    /// A half-open breaker closes after this many looks: real calls.
    pub closes_after: Arc<AtomicU64>,
}

impl Actuator {
    pub async fn with(states: &[(&str, &str)]) -> Self {
        let actuator = Self::default();
        actuator.closes_after.store(u64::MAX, Relaxed);
        for (name, state) in states {
            actuator.set(name, state).await;
        }
        actuator
    }

    pub async fn set(&self, name: &str, state: &str) {
        self.states.lock().await.insert(name.to_owned(), state.to_owned());
    }

    pub async fn state(&self, name: &str) -> Option<String> {
        self.states.lock().await.get(name).cloned()
    }

    pub fn router(&self) -> Router {
        Router::new()
            .route("/actuator/circuitbreakers", get(list))
            .route("/actuator/circuitbreakers/{name}", post(update))
            .route("/app/breakers/{name}/half-open", post(half_open))
            .with_state(self.clone())
    }
}

async fn list(State(actuator): State<Actuator>) -> Json<Value> {
    let mut states = actuator.states.lock().await;
    for state in states.values_mut().filter(|s| *s == "HALF_OPEN") {
        if actuator.closes_after.fetch_sub(1, Relaxed) == 0 {
            "CLOSED".clone_into(state);
        }
    }
    let listed: BTreeMap<&String, Value> = states
        .iter()
        .map(|(name, state)| (name, json!({"failureRate": "-1.0%", "state": state})))
        .collect();
    Json(json!({ "circuitBreakers": listed }))
}

async fn update(
    State(actuator): State<Actuator>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let bytes = axum::body::to_bytes(body, 4096).await.unwrap();
    if headers
        .get("content-type")
        .is_none_or(|t| t != "application/json")
    {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    let asked: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let state = match asked["updateState"].as_str() {
        Some("CLOSE") => "CLOSED",
        Some("FORCE_OPEN") => "FORCED_OPEN",
        Some("DISABLE") => "DISABLED",
        _ => return StatusCode::BAD_REQUEST.into_response(),
    };
    actuator.posts.lock().await.push(name.clone());
    // The trap: an unknown name makes a fresh breaker.
    actuator.set(&name, state).await;
    Json(json!({"circuitBreakerName": name, "currentState": state})).into_response()
}

async fn half_open(State(actuator): State<Actuator>, Path(name): Path<String>) -> StatusCode {
    actuator.posts.lock().await.push(format!("half-open {name}"));
    match actuator.states.lock().await.get_mut(&name) {
        None => StatusCode::NOT_FOUND,
        Some(state) if state == "OPEN" => {
            "HALF_OPEN".clone_into(state);
            StatusCode::NO_CONTENT
        }
        Some(_) => StatusCode::CONFLICT,
    }
}

/// A retry queue that really lets messages go at its rate.
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Mutex<QueueState>>,
}

pub struct QueueState {
    pub backlog: f64,
    pub released: f64,
    pub rate: Option<f64>,
    pub held: bool,
    /// PUTs are answered well and do nothing.
    pub deaf: bool,
    moved: Instant,
}

impl Queue {
    pub fn of(backlog: u32, held: bool, rate: Option<f64>) -> Self {
        let inner = QueueState {
            backlog: f64::from(backlog),
            released: 0.0,
            rate,
            held,
            deaf: false,
            moved: Instant::now(),
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    pub async fn state(&self) -> tokio::sync::MutexGuard<'_, QueueState> {
        let mut state = self.inner.lock().await;
        let seconds = state.moved.elapsed().as_secs_f64();
        state.moved = Instant::now();
        if !state.held {
            let moved = state
                .rate
                .map_or(state.backlog, |r| (r * seconds).min(state.backlog));
            state.backlog -= moved;
            state.released += moved;
        }
        state
    }

    pub fn router(&self) -> Router {
        Router::new()
            .route("/app/retry", get(read_queue).put(set_queue))
            .with_state(self.clone())
    }
}

async fn read_queue(State(queue): State<Queue>) -> Json<Value> {
    let state = queue.state().await;
    Json(json!({
        "backlog": state.backlog.ceil() as u64, "released": state.released as u64,
        "rate": state.rate, "held": state.held,
    }))
}

async fn set_queue(State(queue): State<Queue>, Json(asked): Json<Value>) -> StatusCode {
    let mut state = queue.state().await;
    if !state.deaf {
        state.held = asked["held"].as_bool().unwrap();
        state.rate = asked["rate"].as_f64();
    }
    StatusCode::OK
}

//! The recipes for registries, as docs/drivers/commands.md shows them, on small servers that answer as Nacos (3.0.3, 2.5.1) and
//! Consul are documented to.

use std::collections::BTreeMap;

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, put},
};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{
    documented::out_and_back,
    stand::{Mood, Stand},
    *,
};
use crate::model::playbook::Command;

const PAGE: &str = include_str!("../../../../docs/drivers/commands.md");

type Asked = BTreeMap<String, String>;

/// An instance of a service in Nacos.
#[derive(Clone, Copy)]
struct Registered {
    ip: &'static str,
    weight: f64,
    enabled: bool,
}

impl Registered {
    /// An update: what it leaves out becomes what it is by default.
    fn update(&mut self, asked: &Asked) {
        self.weight = asked.get("weight").map_or(1.0, |weight| weight.parse().unwrap());
        self.enabled = asked.get("enabled").is_none_or(|is| is == "true");
    }

    fn shown(&self) -> Value {
        json!({
            "instanceId": format!("{}#8080#DEFAULT#DEFAULT_GROUP@@order", self.ip), "ip": self.ip, "port": 8080,
            "weight": self.weight, "healthy": true, "enabled": self.enabled, "ephemeral": true, "clusterName": "DEFAULT",
            "serviceName": "DEFAULT_GROUP@@order", "metadata": {}
        })
    }
}

/// A Nacos with the service `order`.
#[derive(Clone)]
struct Nacos(Arc<Mutex<[Registered; 2]>>);

impl Nacos {
    fn new() -> Self {
        let order = |ip| Registered {
            ip,
            weight: 1.0,
            enabled: true,
        };
        Self(Arc::new(Mutex::new([order("10.0.0.8"), order("10.0.0.7")])))
    }

    async fn start(&self) -> Stand {
        let router = Router::new()
            .route("/nacos/v3/admin/ns/instance/partial", put(v3_partial))
            .route("/nacos/v3/admin/ns/instance", get(v3_detail))
            .route("/nacos/v1/ns/instance", put(v1_update))
            .route("/nacos/v1/ns/instance/list", get(v1_list));
        Stand::start(router.with_state(self.clone())).await
    }

    /// What it says of the instance that is asked for; nothing of one that it does not have.
    async fn of<T>(&self, asked: &Asked, what: impl FnOnce(&mut Registered) -> T) -> Option<T> {
        let is = |key: &str, value: &str| asked.get(key).is_some_and(|has| has == value);
        let mut instances = self.0.lock().await;
        let found = instances
            .iter_mut()
            .find(|i| is("ip", i.ip) && is("port", "8080"));
        found.filter(|_| is_order(asked)).map(what)
    }

    /// Whom it tells callers.
    async fn tells(&self) -> Vec<&'static str> {
        let instances = self.0.lock().await;
        instances.iter().filter(|i| i.enabled).map(|i| i.ip).collect()
    }
}

fn is_order(asked: &Asked) -> bool {
    ["namespaceId", "groupName", "serviceName"].map(|key| asked.get(key).map(String::as_str))
        == [Some("public"), Some("DEFAULT_GROUP"), Some("order")]
}

fn v3(data: Option<Value>) -> Response {
    match data {
        Some(data) => Json(json!({"code": 0, "message": "success", "data": data})).into_response(),
        None => {
            let refusal =
                json!({"code": 20004, "message": "resource not found", "data": "no matched ip found!"});
            (StatusCode::NOT_FOUND, Json(refusal)).into_response()
        }
    }
}

async fn v3_partial(State(nacos): State<Nacos>, Query(asked): Query<Asked>) -> Response {
    let updated = nacos.of(&asked, |instance| instance.update(&asked)).await;
    v3(updated.map(|()| "ok".into()))
}

async fn v3_detail(State(nacos): State<Nacos>, Query(asked): Query<Asked>) -> Response {
    v3(nacos.of(&asked, |instance| instance.shown()).await)
}

async fn v1_update(State(nacos): State<Nacos>, Query(asked): Query<Asked>) -> Response {
    match nacos.of(&asked, |instance| instance.update(&asked)).await {
        Some(()) => "ok".into_response(),
        None => (StatusCode::BAD_REQUEST, "caused: service not found").into_response(),
    }
}

async fn v1_list(State(nacos): State<Nacos>, Query(asked): Query<Asked>) -> Json<Value> {
    let instances = nacos.0.lock().await;
    let told = instances.iter().filter(|i| i.enabled && is_order(&asked));
    let hosts: Vec<Value> = told.map(Registered::shown).collect();
    Json(json!({
        "name": "DEFAULT_GROUP@@order", "groupName": "DEFAULT_GROUP", "clusters": "", "cacheMillis": 10000, "hosts": hosts,
        "lastRefTime": 1_764_540_000_000_u64, "checksum": "", "allIPs": false, "reachProtectionThreshold": false,
        "valid": true
    }))
}

/// The step out and the step back that the page shows, of a registry at this address.
fn recipe(heading: &str, there: &str, here: &str) -> [Command; 2] {
    assert!(PAGE.contains(there));
    out_and_back(&PAGE.replace(there, here), heading)
}

fn target() -> Stage {
    stage(
        environment(&[("order", "order-0", "10.0.0.7:8080")]),
        nothing_to_do(),
    )
}

async fn ends(stage: &Stage, step: &Command, state: StepState) -> StepEnd {
    let end = super::super::command(&stage.scene, step).await;
    assert_eq!(end.state, state, "{}: {}", step.name, end.detail.en());
    end
}

#[tokio::test]
async fn nacos_tells_callers_of_no_target_from_the_documented_step_out_to_the_step_back() {
    for heading in ["Nacos 3", "Nacos 2"] {
        let nacos = Nacos::new();
        let (stand, stage) = (nacos.start().await, target());
        let [out, back] = recipe(heading, "nacos:8848", &stand.address);
        ends(&stage, &back, StepState::Nothing).await;
        ends(&stage, &out, StepState::Done).await;
        assert_eq!(nacos.tells().await, ["10.0.0.8"], "{heading}");
        let end = ends(&stage, &back, StepState::Done).await;
        assert!(
            end.detail.en().contains("checked"),
            "{heading}: {}",
            end.detail.en()
        );
        assert_eq!(nacos.tells().await, ["10.0.0.8", "10.0.0.7"], "{heading}");
        ends(&stage, &back, StepState::Nothing).await;
    }
}

#[tokio::test]
async fn a_nacos_that_asks_for_a_login_or_lacks_the_instance_never_has_it_back() {
    for heading in ["Nacos 3", "Nacos 2"] {
        let nacos = Nacos::new();
        let (stand, stage) = (nacos.start().await, target());
        let [out, back] = recipe(heading, "nacos:8848", &stand.address);
        ends(&stage, &out, StepState::Done).await;
        stand.turn(Mood::Refuses);
        let end = ends(&stage, &back, StepState::Failed).await;
        stand.turn(Mood::Well);
        type_by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
        assert_eq!(nacos.tells().await.len(), 2, "{heading}");
        ends(&stage, &back, StepState::Nothing).await;

        nacos.0.lock().await[1].ip = "10.0.0.9";
        ends(&stage, &back, StepState::Failed).await;
    }
}

#[tokio::test]
async fn a_weight_that_an_update_has_changed_is_set_right_by_the_step_back() {
    let nacos = Nacos::new();
    let (stand, stage) = (nacos.start().await, target());
    let [_, back] = recipe("Nacos 3", "nacos:8848", &stand.address);
    nacos.0.lock().await[1].weight = 7.0;
    ends(&stage, &back, StepState::Done).await;
    assert!((nacos.0.lock().await[1].weight - 1.0).abs() < f64::EPSILON);
}

/// Consul's agent at the target's host: the reason of a maintenance.
type Agent = Arc<Mutex<Option<String>>>;

async fn maintenance(
    State(agent): State<Agent>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> StatusCode {
    let reason = || asked.get("reason").cloned().unwrap_or_default();
    match asked.get("enable").map(String::as_str) {
        _ if id != "order-0" => return StatusCode::NOT_FOUND,
        Some("true") => *agent.lock().await = Some(reason()),
        Some("false") => *agent.lock().await = None,
        _ => return StatusCode::BAD_REQUEST,
    }
    StatusCode::OK
}

async fn health(State(agent): State<Agent>, Path(id): Path<String>) -> Response {
    let (status, word) = match agent.lock().await.as_ref() {
        _ if id != "order-0" => return StatusCode::NOT_FOUND.into_response(),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, "maintenance"),
        None => (StatusCode::OK, "passing"),
    };
    let shown = json!({"AggregatedStatus": word, "Service": {"ID": id, "Service": "order"}, "Checks": []});
    (status, Json(shown)).into_response()
}

#[tokio::test]
async fn consul_has_a_target_in_maintenance_from_the_documented_step_out_to_the_step_back() {
    let agent = Agent::default();
    let router = Router::new()
        .route("/v1/agent/service/maintenance/{id}", put(maintenance))
        .route("/v1/agent/health/service/id/{id}", get(health));
    let stand = Stand::start(router.with_state(agent.clone())).await;
    let stage = target();
    let [out, back] = recipe("Consul", "{host}:8500", &stand.address);
    ends(&stage, &back, StepState::Nothing).await;
    ends(&stage, &out, StepState::Done).await;
    assert_eq!(agent.lock().await.as_deref(), Some("allclear-7f3a"));
    let end = ends(&stage, &back, StepState::Done).await;
    assert!(end.detail.en().contains("checked"), "{}", end.detail.en());
    assert_eq!(*agent.lock().await, None);
    ends(&stage, &back, StepState::Nothing).await;
}

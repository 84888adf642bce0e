//! An API server with three pods of a shop behind one Service, as far as recovery asks it, and its bad moods.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, patch},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;

use super::{stand::Stand, *};
use crate::model::{
    environment::Kubernetes,
    ids::Namespace,
    kubernetes::{PodId, ServingSeen},
    playbook::{Gateway, PodGateway, PodsOf},
    snapshot::KubernetesSeen,
};

/// The label by which a pod is in the Service, and its values.
pub const KEY: &str = "serving";
pub const IN: &str = "true";
pub const OUT: &str = "false";
/// What the Service selects by.
pub const SERVICE: &str = "app=order,serving=true";

type Labels = BTreeMap<String, String>;

#[derive(Default)]
struct Inner {
    /// By name: labels and phase.
    pods: Mutex<BTreeMap<String, (Labels, &'static str)>>,
    /// Each so many lists of pods is lost; 0: none.
    lose_every: AtomicU64,
    lists: AtomicU64,
    /// So many lists of the Service's pods are refused.
    refuse: AtomicU64,
}

/// Gone when dropped.
pub struct Cluster {
    inner: Arc<Inner>,
    stand: Stand,
    folder: TempDir,
}

impl Cluster {
    pub async fn start() -> Self {
        let inner = Arc::<Inner>::default();
        let space = "/api/v1/namespaces/shop";
        let router = Router::new()
            .route(&format!("{space}/pods"), get(list))
            .route(&format!("{space}/pods/{{name}}"), patch(change))
            .route(&format!("{space}/services"), get(services))
            .route(
                "/apis/apps/v1/namespaces/shop/deployments/retry/scale",
                get(scale),
            )
            .with_state(inner.clone());
        let cluster = Self {
            inner,
            stand: Stand::start(router).await,
            folder: tempfile::tempdir().unwrap(),
        };
        for name in ["order-0", "order-1", "order-2"] {
            cluster.put(name, "order", "Running").await;
            cluster.label(name, IN).await;
        }
        cluster
    }

    /// A pod of an application.
    pub async fn put(&self, name: &str, app: &str, phase: &'static str) {
        let labels = [("app", app), ("name", name)].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let pod = (Labels::from(labels), phase);
        self.inner.pods.lock().await.insert(name.to_owned(), pod);
    }

    pub async fn label(&self, name: &str, value: &str) {
        let mut pods = self.inner.pods.lock().await;
        pods.get_mut(name)
            .unwrap()
            .0
            .insert(KEY.to_owned(), value.to_owned());
    }

    pub async fn label_of(&self, name: &str) -> String {
        self.inner.pods.lock().await[name].0[KEY].clone()
    }

    pub fn lose_every(&self, nth: u64) {
        self.inner.lose_every.store(nth, Relaxed);
    }

    pub fn refuse(&self, lists: u64) {
        self.inner.refuse.store(lists, Relaxed);
    }

    /// An environment with this cluster.
    pub fn environment(&self) -> Environment {
        let path = self.folder.path().join("kubeconfig");
        let server = format!("http://{}", self.stand.address);
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        std::fs::write(&path, config.to_string()).unwrap();
        let mut environment = environment(&[("order", "order-0", "127.0.0.1:9")]);
        environment.kubernetes = Some(Kubernetes {
            kubeconfig: Some(path.to_string_lossy().into_owned()),
            context: Some("c".into()),
            namespaces: vec![shop()],
        });
        environment
    }

    /// Recovery of order-0, which was in the Service before.
    pub fn stage(&self, hold: Span) -> Stage {
        let gateway = PodGateway {
            pods: PodsOf {
                namespace: None,
                selector: "name={target}".into(),
            },
            key: KEY.into(),
            out: OUT.into(),
            hold,
        };
        let book = Playbook {
            gateway: Some(Gateway::Pods(gateway)),
            ..nothing_to_do()
        };
        let mut stage = stage(self.environment(), book);
        let seen = ServingSeen {
            instance: instance("order-0"),
            pod: PodId {
                namespace: shop(),
                name: "order-0".into(),
                uid: uid("order-0"),
            },
            selector: "name=order-0".into(),
            label: Some(IN.into()),
            serves_with: Some(IN.into()),
            services: vec!["order".into()],
            ready: true,
        };
        stage.scene.snapshot = Arc::new(Snapshot {
            kubernetes: KubernetesSeen {
                serving: vec![seen],
                ..KubernetesSeen::default()
            },
            ..Snapshot::default()
        });
        stage
    }
}

fn shop() -> Namespace {
    Namespace::new("shop").unwrap()
}

fn uid(name: &str) -> String {
    format!("uid-of-{name}")
}

fn shown(name: &str, labels: &Labels, phase: &str) -> Value {
    let ready = if phase == "Running" { "True" } else { "False" };
    json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "uid": uid(name), "resourceVersion": "1", "labels": labels},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
    })
}

fn unavailable() -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "etcdserver: leader changed", "reason": "ServiceUnavailable", "code": 503,
    });
    (StatusCode::SERVICE_UNAVAILABLE, Json(status)).into_response()
}

async fn list(State(inner): State<Arc<Inner>>, Query(query): Query<Labels>) -> Response {
    let selector = query.get("labelSelector").cloned().unwrap_or_default();
    let nth = inner.lists.fetch_add(1, Relaxed) + 1;
    let every = inner.lose_every.load(Relaxed);
    let is_refused = || {
        let left = |n: u64| n.checked_sub(1);
        inner.refuse.fetch_update(Relaxed, Relaxed, left).is_ok()
    };
    if (every > 0 && nth.is_multiple_of(every)) || (selector == SERVICE && is_refused()) {
        return unavailable();
    }
    let pods = inner.pods.lock().await;
    let matches = |labels: &Labels| {
        let mut pairs = selector.split(',').filter_map(|pair| pair.split_once('='));
        pairs.all(|(key, value)| labels.get(key).is_some_and(|v| v == value))
    };
    let items: Vec<Value> = pods
        .iter()
        .filter(|(_, (labels, _))| matches(labels))
        .map(|(name, (labels, phase))| shown(name, labels, phase))
        .collect();
    Json(json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items})).into_response()
}

async fn change(State(inner): State<Arc<Inner>>, Path(name): Path<String>, body: String) -> Json<Value> {
    let asked: Value = serde_json::from_str(&body).unwrap();
    let mut pods = inner.pods.lock().await;
    let (labels, phase) = pods.get_mut(&name).unwrap();
    for (key, value) in asked["metadata"]["labels"].as_object().unwrap() {
        match value.as_str() {
            Some(value) => labels.insert(key.clone(), value.to_owned()),
            None => labels.remove(key),
        };
    }
    Json(shown(&name, labels, phase))
}

async fn services() -> Json<Value> {
    let order = json!({"metadata": {"name": "order"}, "spec": {"selector": {"app": "order", KEY: IN}}});
    Json(json!({"kind": "ServiceList", "apiVersion": "v1", "metadata": {}, "items": [order]}))
}

async fn scale() -> Json<Value> {
    Json(json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "retry", "uid": "2", "resourceVersion": "1"},
        "spec": {},
        "status": {"replicas": 1, "selector": "app=retry"},
    }))
}

#[tokio::test]
async fn a_load_that_cannot_be_read_once_is_read_again_and_one_that_never_can_is_no_success() {
    let cluster = Cluster::start().await;
    let stage = cluster.stage(Span::ZERO);
    cluster.refuse(1);
    let end = drain(&stage.scene, true).await;
    assert_eq!(
        (end.state, end.detail.en()),
        (
            StepState::Done,
            "pod shop/order-0 serving=true → serving=false; 2 of 3 Ready pods stay in Service order"
        )
    );
    assert_eq!(cluster.label_of("order-0").await, OUT);
    cluster.label("order-0", IN).await;
    cluster.refuse(u64::MAX);
    let end = drain(&stage.scene, true).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(
        end.detail.en().starts_with("not drained: "),
        "{}",
        end.detail.en()
    );
    assert_eq!(cluster.label_of("order-0").await, IN);
}

#[tokio::test]
async fn a_pod_that_is_out_comes_back_by_hand_once_the_guards_hold() {
    let cluster = Cluster::start().await;
    cluster.label("order-0", OUT).await;
    let left = left_behind(&cluster.stage(Span::ZERO).scene).await;
    let by_hand = left[0].by_hand.as_deref().unwrap();
    assert!(
        by_hand.starts_with("# only once the guards hold / 守护成立后再执行\nkubectl "),
        "{by_hand}"
    );
}

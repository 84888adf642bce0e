//! The weight of a target's Service in an HTTPRoute, at a real API server.

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};

use crate::{
    kube::Kube,
    luck::Luck,
    proxy::Proxy,
    row::{LOGIN_PAGE, Row},
};

const WEIGHT: u32 = 20;
/// What the drill leaves.
const SICK: u32 = 3;
const API: &str = "/apis/gateway.networking.k8s.io/v1";

pub struct Route(Kube);

impl Route {
    pub async fn start() -> Self {
        let kube = Kube::start("route").await;
        let app = kube.order();
        kube.cluster.service(&app, 3).await;
        let one = |n: u8| {
            let name = format!("{app}-{n}");
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"ports": [{"port": 80}], "selector": {"statefulset.kubernetes.io/pod-name": name}}})
        };
        kube.apply([0, 1, 2].map(one).into()).await;
        Self(kube)
    }

    /// The target stands in both rules, at different places.
    async fn put(&self, weight: u32) {
        let app = self.0.order();
        let to = |n: u8, weight: u32| json!({"name": format!("{app}-{n}"), "port": 80, "weight": weight});
        let rules = json!([
            {"backendRefs": [to(1, WEIGHT), to(0, weight), to(2, WEIGHT)]},
            {"matches": [{"path": {"type": "PathPrefix", "value": "/pay"}}], "backendRefs": [to(0, weight), to(2, WEIGHT)]}
        ]);
        let route = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": app}, "spec": {"rules": rules}});
        self.0.apply(vec![route]).await;
    }
}

impl Row for Route {
    fn environment(&self) -> Value {
        json!({
            "services": {"order": {"order-0": "127.0.0.1:9"}},
            "kubernetes": self.0.environment()
        })
    }

    fn playbook(&self) -> Value {
        json!({"gateway": {"route": {
            "namespace": null, "route": self.0.order(), "backend": format!("{}-{{target}}", self.0.name),
            "ramp": [0.1, 0.3, 1.0], "hold": 100
        }}})
    }

    fn proxy(&self) -> &Proxy {
        &self.0.proxy
    }

    fn garbage(&self) -> &'static [u8] {
        LOGIN_PAGE
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Gateway { .. })
    }

    async fn before(&self) {
        self.put(WEIGHT).await;
    }

    async fn sick(&self) {
        self.put(SICK).await;
    }

    /// Rule by rule: `1 20, 0 20, 2 20; 0 20, 2 20`.
    async fn now(&self) -> Option<String> {
        let app = self.0.order();
        let route = self.0.get(API, &format!("httproutes/{app}")).await?;
        let rules = route["spec"]["rules"].as_array()?.iter().map(|rule| {
            let backends = rule["backendRefs"].as_array()?.iter();
            let ours = backends.filter_map(|b| {
                // What has joined has another name.
                let n = b["name"].as_str()?.strip_prefix(&app)?.strip_prefix('-')?;
                Some(format!("{n} {}", b["weight"]))
            });
            Some(ours.collect::<Vec<_>>().join(", "))
        });
        Some(rules.collect::<Option<Vec<_>>>()?.join("; "))
    }

    /// Out, a stage of the ramp, before or the drill's, the same in both rules; nobody else's weight is touched.
    fn may_be(&self, seen: &str) -> bool {
        let weights = [0, WEIGHT / 10, WEIGHT * 3 / 10, WEIGHT, SICK];
        let so = |w: u32| format!("1 {WEIGHT}, 0 {w}, 2 {WEIGHT}; 0 {w}, 2 {WEIGHT}");
        weights.into_iter().any(|w| seen == so(w))
    }

    async fn strike(&self, luck: Luck) {
        if luck != Luck::Topology {
            return self.0.strike(luck).await;
        }
        // A canary joins at the first place of each rule: whatever stood there stands one further on.
        let joins = |rule: u8| {
            json!({"op": "add", "path": format!("/spec/rules/{rule}/backendRefs/0"),
                "value": {"name": format!("{}-canary", self.0.name), "port": 80, "weight": 1}})
        };
        let patch = json!([joins(0), joins(1)]);
        let line = format!("patch httproute {} --type=json -p {patch}", self.0.order());
        self.0.cluster.kubectl(&line).await;
    }

    async fn relent(&self, luck: Luck) {
        self.0.relent(luck).await;
    }
}

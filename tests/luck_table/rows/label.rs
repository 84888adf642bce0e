//! A pod that was taken out of its Service by a label, at a real API server.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};

use crate::{
    kube::{Kube, is_ready},
    luck::Luck,
    proxy::Proxy,
    row::{LOGIN_PAGE, Row},
};

pub struct Label {
    kube: Kube,
    /// Somebody replaces the pod in this luck.
    is_replaced: AtomicBool,
}

impl Label {
    pub async fn start() -> Self {
        let kube = Kube::start("label").await;
        kube.cluster.service(&kube.order(), 3).await;
        Self {
            kube,
            is_replaced: AtomicBool::new(false),
        }
    }

    fn pod(&self) -> String {
        format!("{}-0", self.kube.order())
    }

    async fn put(&self, value: &str) {
        let line = format!("label pod {} --overwrite serving={value}", self.pod());
        self.kube.cluster.kubectl(&line).await;
    }
}

impl Row for Label {
    fn environment(&self) -> Value {
        json!({
            "services": {"order": {"order-0": "127.0.0.1:9"}},
            "kubernetes": self.kube.environment()
        })
    }

    fn playbook(&self) -> Value {
        let selector = format!("statefulset.kubernetes.io/pod-name={}-{{target}}", self.kube.name);
        json!({"gateway": {"pods": {
            "pods": {"namespace": null, "selector": selector}, "key": "serving", "out": "false", "hold": 100
        }}})
    }

    fn proxy(&self) -> &Proxy {
        &self.kube.proxy
    }

    fn garbage(&self) -> &'static [u8] {
        LOGIN_PAGE
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Label { .. })
    }

    fn expect(&self, luck: Luck) {
        self.is_replaced.store(luck == Luck::Topology, Relaxed);
    }

    async fn before(&self) {
        self.kube.cluster.ready(&self.kube.order(), 3).await;
        self.put("true").await;
    }

    async fn sick(&self) {
        self.put("false").await;
    }

    async fn now(&self) -> Option<String> {
        let app = self.kube.order();
        let pods = self.kube.pods(&app).await?;
        let stands = |n: u8| {
            let name = format!("{app}-{n}");
            let Some(pod) = pods.iter().find(|pod| pod["metadata"]["name"] == name) else {
                return "none".to_owned();
            };
            let label = pod["metadata"]["labels"]["serving"].as_str().unwrap_or("without");
            match is_ready(pod) {
                true => label.to_owned(),
                false => format!("{label} not Ready"),
            }
        };
        Some([0, 1, 2].map(stands).join(", "))
    }

    /// In or out; one that somebody replaces is away for a moment. Nobody else's pod is touched.
    fn may_be(&self, seen: &str) -> bool {
        let Some(target) = seen.strip_suffix(", true, true") else {
            return false;
        };
        let is_away = ["none", "false not Ready", "true not Ready"].contains(&target);
        ["true", "false"].contains(&target) || self.is_replaced.load(Relaxed) && is_away
    }

    async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Topology => self.kube.cluster.replace(&self.pod()).await,
            _ => self.kube.strike(luck).await,
        }
    }

    async fn relent(&self, luck: Luck) {
        self.kube.relent(luck).await;
    }
}

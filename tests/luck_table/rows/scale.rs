//! A retry topic whose consumers' Deployment goes to zero and comes back, at a real API server and a real broker. The luck is the API
//! server's.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use allclear::model::{secret::Secrets, undo::ChangeIntent};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::kafka::Kafka;
use crate::{
    kube::{Kube, is_ready},
    luck::Luck,
    part::until,
    proxy::Proxy,
    row::{LOGIN_PAGE, Row},
};

const REPLICAS: usize = 2;
/// What somebody else makes of them.
const OTHERS: usize = 3;

pub struct Scale {
    kube: Arc<Kube>,
    kafka: Kafka,
    is_scaled: AtomicBool,
    kubelet: JoinHandle<()>,
}

impl Drop for Scale {
    fn drop(&mut self) {
        self.kubelet.abort();
    }
}

impl Scale {
    pub async fn start() -> Self {
        let (kube, kafka) = tokio::join!(Kube::start("scale"), Kafka::with_a_backlog());
        kube.cluster.deployment(&kube.order(), REPLICAS as u32).await;
        let kube = Arc::new(kube);
        let consumer = kafka.consumer().expect("it has one");
        Self {
            kubelet: tokio::spawn(run_pods(kube.clone(), consumer)),
            kube,
            kafka,
            is_scaled: AtomicBool::new(false),
        }
    }

    async fn scale(&self, to: usize) {
        let line = format!("scale deployment/{} --replicas={to}", self.kube.order());
        self.kube.cluster.kubectl(&line).await;
    }
}

/// The consumer runs while a pod of its Deployment does, as a kubelet would have it.
async fn run_pods(kube: Arc<Kube>, consumer: Arc<AtomicBool>) {
    loop {
        if let Some(pods) = kube.pods(&kube.order()).await {
            consumer.store(pods.iter().any(is_ready), Relaxed);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

impl Row for Scale {
    fn environment(&self) -> Value {
        let mut environment = self.kafka.environment();
        environment["kubernetes"] = self.kube.environment();
        environment
    }

    fn playbook(&self) -> Value {
        let mut playbook = self.kafka.playbook();
        playbook["retry_queues"][0]["kafka"]["hold"] =
            json!({"scale": {"namespace": null, "deployment": self.kube.order()}});
        playbook
    }

    fn secrets(&self) -> Secrets {
        self.kafka.secrets()
    }

    fn variables(&self) -> Vec<(String, String)> {
        self.kafka.variables()
    }

    /// What somebody else has scaled stays so.
    fn heals(&self, luck: Luck) -> bool {
        !luck.lasts() && luck != Luck::Topology
    }

    fn proxy(&self) -> &Proxy {
        &self.kube.proxy
    }

    fn garbage(&self) -> &'static [u8] {
        LOGIN_PAGE
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Scale { .. })
    }

    fn expect(&self, luck: Luck) {
        self.is_scaled.store(luck == Luck::Topology, Relaxed);
    }

    async fn before(&self) {
        self.scale(REPLICAS).await;
        self.kafka.before().await;
        let ready = async || {
            self.now()
                .await
                .is_some_and(|now| now.starts_with("2 replicas, 2 Ready"))
        };
        until("its pods are Ready", ready).await.expect("pods");
    }

    /// A storm, and consumers that are as they were.
    async fn sick(&self) {
        self.kafka.sick().await;
    }

    async fn now(&self) -> Option<String> {
        let app = self.kube.order();
        let deployment = self
            .kube
            .get("/apis/apps/v1", &format!("deployments/{app}"))
            .await?;
        let ready = self
            .kube
            .pods(&app)
            .await?
            .iter()
            .filter(|pod| is_ready(pod))
            .count();
        let kafka = self.kafka.now().await?;
        Some(format!(
            "{} replicas, {ready} Ready, {kafka}",
            deployment["spec"]["replicas"]
        ))
    }

    /// At zero or as before, unless somebody else scales it; the quota is none above the one of before.
    fn may_be(&self, seen: &str) -> bool {
        let mut words = seen.splitn(3, ", ");
        let replicas = words.next().and_then(|w| w.strip_suffix(" replicas"));
        let ready = words.next().and_then(|w| w.strip_suffix(" Ready"));
        let number = |word: Option<&str>| word.and_then(|w| w.parse::<usize>().ok());
        let (Some(replicas), Some(ready)) = (number(replicas), number(ready)) else {
            return false;
        };
        let most = if self.is_scaled.load(Relaxed) {
            OTHERS
        } else {
            REPLICAS
        };
        [0, REPLICAS, most].contains(&replicas)
            && ready <= most
            && words.next().is_some_and(|kafka| self.kafka.may_be(kafka))
    }

    async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Topology => self.scale(OTHERS).await,
            _ => self.kube.strike(luck).await,
        }
    }

    async fn relent(&self, luck: Luck) {
        self.kube.relent(luck).await;
    }
}

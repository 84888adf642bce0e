//! A pool that only a restart empties, of a target whose pod is deleted at a real API server.

use std::sync::Arc;

use allclear::model::undo::ChangeIntent;
use axum::{Router, extract::State, http::StatusCode, routing::get};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Mutex, task::JoinHandle};

use crate::{
    kube::{Kube, is_ready},
    luck::Luck,
    proxy::Proxy,
    row::{LOGIN_PAGE, Row},
};

/// The pods that the target has had.
#[derive(Debug, Default)]
struct Had {
    uids: Vec<String>,
    /// This one never works off what it has begun.
    stuck: Option<String>,
}

/// The target: one pod of a StatefulSet.
struct Target {
    kube: Kube,
    had: Mutex<Had>,
}

/// How it stands.
enum Stands {
    Away,
    NotReady,
    Busy(u32),
}

impl Target {
    /// The one pod that is there to stay.
    async fn uid(&self) -> Option<(Option<String>, bool)> {
        let pods = self.kube.pods(&self.kube.order()).await?;
        let pod = pods
            .iter()
            .find(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        let uid = pod.and_then(|pod| pod["metadata"]["uid"].as_str());
        Some((uid.map(str::to_owned), pod.is_some_and(is_ready)))
    }

    async fn stands(&self) -> Option<Stands> {
        let (uid, is_ready) = self.uid().await?;
        let Some(uid) = uid else {
            return Some(Stands::Away);
        };
        let mut had = self.had.lock().await;
        if !had.uids.contains(&uid) {
            had.uids.push(uid.clone());
        }
        Some(match is_ready {
            false => Stands::NotReady,
            true if had.stuck.as_ref() == Some(&uid) => Stands::Busy(50),
            true => Stands::Busy(2),
        })
    }
}

async fn metrics(State(target): State<Arc<Target>>) -> Result<String, StatusCode> {
    match target.stands().await {
        Some(Stands::Busy(busy)) => Ok(format!(
            "# TYPE order_threads_busy gauge\norder_threads_busy {busy}\n"
        )),
        _ => Err(StatusCode::SERVICE_UNAVAILABLE),
    }
}

pub struct Pod {
    target: Arc<Target>,
    /// Where its metrics are.
    address: String,
    task: JoinHandle<()>,
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pod {
    pub async fn start() -> Self {
        let kube = Kube::start("pod").await;
        kube.cluster.service(&kube.order(), 1).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address").to_string();
        let had = Mutex::default();
        let target = Arc::new(Target { kube, had });
        let router = Router::new()
            .route("/metrics", get(metrics))
            .with_state(target.clone());
        Self {
            target,
            address,
            task: tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") }),
        }
    }

    fn kube(&self) -> &Kube {
        &self.target.kube
    }
}

impl Row for Pod {
    fn environment(&self) -> Value {
        json!({
            "services": {"order": {"order-0": self.address}},
            "kubernetes": self.kube().environment()
        })
    }

    fn playbook(&self) -> Value {
        let selector = format!(
            "statefulset.kubernetes.io/pod-name={}-{{target}}",
            self.kube().name
        );
        json!({"pools": [{"metric": "busy", "scope": null, "idle_at_most": 5.0, "scrape_holds": 0.0, "wait": 4000,
            "if_stuck": {"kubernetes": {"namespace": null, "selector": selector}}, "ready": null}]})
    }

    fn proxy(&self) -> &Proxy {
        &self.kube().proxy
    }

    fn garbage(&self) -> &'static [u8] {
        LOGIN_PAGE
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Restart { .. })
    }

    async fn before(&self) {
        self.kube().cluster.ready(&self.kube().order(), 1).await;
        let (uid, _) = self.target.uid().await.expect("it can be read");
        *self.target.had.lock().await = Had {
            uids: uid.into_iter().collect(),
            stuck: None,
        };
    }

    /// Whichever pod it has now.
    async fn sick(&self) {
        let (uid, _) = self.target.uid().await.expect("it can be read");
        let uid = uid.expect("a pod");
        *self.target.had.lock().await = Had {
            uids: vec![uid.clone()],
            stuck: Some(uid),
        };
    }

    async fn now(&self) -> Option<String> {
        let stands = self.target.stands().await?;
        let restarts = self.target.had.lock().await.uids.len().saturating_sub(1);
        Some(match stands {
            _ if restarts > 1 => format!("replaced {restarts} times"),
            Stands::Away => "away".to_owned(),
            Stands::NotReady => "not Ready".to_owned(),
            Stands::Busy(busy) => format!("busy {busy}"),
        })
    }

    /// Its pod goes once, whoever deletes it: never its successor.
    fn may_be(&self, seen: &str) -> bool {
        ["busy 50", "away", "not Ready", "busy 2"].contains(&seen)
    }

    async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Topology => {
                let pod = format!("{}-0", self.kube().order());
                self.kube().cluster.replace(&pod).await;
            }
            _ => self.kube().strike(luck).await,
        }
    }

    /// What a person restarts after it is no second restart of the run.
    async fn relent(&self, luck: Luck) {
        self.kube().relent(luck).await;
        let mut had = self.target.had.lock().await;
        let now = had.uids.pop();
        had.uids = now.into_iter().collect();
    }

    fn is_once_a_run(&self) -> bool {
        true
    }
}

//! A breaker of a real Spring Boot app.

use std::time::Duration;

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    http::ask,
    luck::Luck,
    part::{ports, script, starts, until},
    parts_support::Script,
    proxy::{Place, Proxy},
    row::{LOGIN_PAGE, Row},
};

/// One that stays open for an hour, unless someone moves it.
const NAME: &str = "payment";

/// How it is brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    App,
    Close,
}

pub struct Resilience4j {
    via: Via,
    part: Script,
    port: u16,
    proxy: Proxy,
    calls: JoinHandle<()>,
}

impl Drop for Resilience4j {
    fn drop(&mut self) {
        self.calls.abort();
    }
}

impl Resilience4j {
    pub async fn start(via: Via) -> Self {
        let port = ports(2);
        let settings = vec![("PART_PORTS", port.to_string())];
        let part = script("spring", settings, &["down", "order-0"]);
        starts(&part, &["up", "order-0"]).await;
        // Real calls close what is half-open.
        let calls = tokio::spawn(async move {
            loop {
                let _ = ask("GET", port, &format!("/call/{NAME}"), "").await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        Self {
            via,
            part,
            port,
            proxy: Proxy::to(port + 1, Place::Tcp(port)),
            calls,
        }
    }

    async fn put(&self, state: &str) {
        let path = format!("/scene/{NAME}/state?is={state}");
        let put = async || ask("POST", self.port, &path, "").await.as_deref() == Some(state);
        until("the breaker is put", put).await.expect("a state");
    }
}

impl Row for Resilience4j {
    fn environment(&self) -> Value {
        json!({"services": {"order": {"order-0": self.proxy.address()}}})
    }

    fn playbook(&self) -> Value {
        let via = match self.via {
            Via::App => json!({"app": {"url": "http://{instance}/app/breakers/{name}/half-open"}}),
            Via::Close => json!("close"),
        };
        json!({"breakers": [{"resilience4j": {
            "actuator": "http://{instance}/actuator", "callers": "order", "names": [NAME], "via": via
        }}]})
    }

    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    fn garbage(&self) -> &'static [u8] {
        LOGIN_PAGE
    }

    fn refuses_by_gateway(&self) -> bool {
        true
    }

    fn cannot(&self, luck: Luck) -> Option<&'static str> {
        (luck == Luck::Topology).then_some("targets are pinned")
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Breaker { .. })
    }

    async fn before(&self) {
        self.put("CLOSED").await;
    }

    async fn sick(&self) {
        self.put("OPEN").await;
    }

    async fn now(&self) -> Option<String> {
        let listed = ask("GET", self.port, "/actuator/circuitbreakers", "").await?;
        let listed: Value = serde_json::from_str(&listed).ok()?;
        Some(listed["circuitBreakers"][NAME]["state"].as_str()?.to_owned())
    }

    fn may_be(&self, seen: &str) -> bool {
        ["CLOSED", "OPEN"].contains(&seen) || self.via == Via::App && seen == "HALF_OPEN"
    }

    async fn strike(&self, luck: Luck) {
        if luck == Luck::Restarts {
            self.part.does(&["down", "order-0"], &[]).await;
            self.part.does(&["up", "order-0"], &[]).await;
        }
    }

    async fn relent(&self, _: Luck) {}
}

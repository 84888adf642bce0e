//! A retry queue with a switch of the application's own.

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};

use super::stand::Stand;
use crate::{
    luck::Luck,
    proxy::Proxy,
    row::{LOGIN_PAGE, Row},
};

pub struct Queue(Stand);

impl Queue {
    pub async fn start() -> Self {
        Self(Stand::start().await)
    }
}

impl Row for Queue {
    fn environment(&self) -> Value {
        json!({"services": {"order": {"order-0": "127.0.0.1:9"}}})
    }

    fn playbook(&self) -> Value {
        let url = format!("http://{}/switch", self.0.proxy.address());
        json!({"retry_queues": [{"http": {"url": url, "rate": 100.0, "within": 20_000}}]})
    }

    fn proxy(&self) -> &Proxy {
        &self.0.proxy
    }

    fn garbage(&self) -> &'static [u8] {
        LOGIN_PAGE
    }

    fn refuses_by_gateway(&self) -> bool {
        true
    }

    fn cannot(&self, luck: Luck) -> Option<&'static str> {
        (luck == Luck::Topology).then_some("one address")
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::RetryQueue { .. })
    }

    async fn before(&self) {
        let before = json!({"backlog": 0, "released": 0, "held": false, "rate": 400.0});
        self.0.hold(before).await;
    }

    /// Stuck, with what has gathered meanwhile.
    async fn sick(&self) {
        let sick = json!({"backlog": 90, "released": 0, "held": true, "rate": 5.0});
        self.0.hold(sick).await;
    }

    async fn now(&self) -> Option<String> {
        let held = self.0.now().await.value;
        let waits = held["backlog"] != json!(0);
        Some(format!(
            "held {}, rate {}, waits {waits}",
            held["held"], held["rate"]
        ))
    }

    /// The drill's, held at its rate, let go at the playbook's, held again by a keeper that finds it let go, or as before.
    fn may_be(&self, seen: &str) -> bool {
        let switch = seen.rsplit_once(", ").map(|(switch, _)| switch);
        [
            "held true, rate 5.0",
            "held true, rate 100.0",
            "held false, rate 100.0",
            "held false, rate 400.0",
        ]
        .contains(&switch.unwrap_or_default())
    }

    async fn strike(&self, luck: Luck) {
        if luck == Luck::Restarts {
            self.0.restart().await;
        }
    }

    async fn relent(&self, _: Luck) {}
}

//! A step of one's own: a request with a check.

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};

use super::stand::Stand;
use crate::{
    luck::Luck,
    proxy::Proxy,
    row::{LOGIN_PAGE, Row},
};

pub struct Request(Stand);

impl Request {
    pub async fn start() -> Self {
        Self(Stand::start().await)
    }
}

impl Row for Request {
    fn environment(&self) -> Value {
        json!({"services": {"order": {"order-0": self.0.proxy.address()}}})
    }

    fn playbook(&self) -> Value {
        json!({"commands": [{"name": "switch-on", "after": "drain", "timeout": 8000, "how": {"http": {
            "method": "PUT", "url": "http://{instance}/switch", "body": {"on": true},
            "check": {"url": "http://{instance}/switch", "status": 200, "json": {"/on": true}}
        }}}]})
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
        matches!(change, ChangeIntent::Command { name } if name.starts_with("switch-on"))
    }

    async fn before(&self) {
        self.0.hold(json!({"on": true, "limit": 7})).await;
    }

    async fn sick(&self) {
        self.0.hold(json!({"on": false, "limit": 7})).await;
    }

    async fn now(&self) -> Option<String> {
        Some(self.0.now().await.value.to_string())
    }

    fn may_be(&self, seen: &str) -> bool {
        [r#"{"on":true,"limit":7}"#, r#"{"on":false,"limit":7}"#].contains(&seen)
    }

    async fn strike(&self, luck: Luck) {
        if luck == Luck::Restarts {
            self.0.restart().await;
        }
    }

    async fn relent(&self, _: Luck) {}
}

//! A pool that only a restart empties, by a program.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};

use super::stand::Stand;
use crate::{
    luck::Luck,
    proxy::Proxy,
    row::{LOGIN_PAGE, Row},
};

pub struct Pool {
    stand: Stand,
    /// Restarts that may be seen before a person makes one.
    most: AtomicU32,
}

impl Pool {
    pub async fn start() -> Self {
        Self {
            stand: Stand::start().await,
            most: AtomicU32::new(1),
        }
    }
}

impl Row for Pool {
    fn environment(&self) -> Value {
        json!({"services": {"order": {"order-0": self.stand.proxy.address()}}})
    }

    fn playbook(&self) -> Value {
        let run = [
            "curl",
            "-fsS",
            "-m",
            "8",
            "-X",
            "POST",
            "http://{instance}/restart",
        ];
        json!({"pools": [{"metric": "busy", "scope": null, "idle_at_most": 5.0, "scrape_holds": 0.0, "wait": 4000,
            "if_stuck": {"command": {"run": run, "timeout": 9000}}, "ready": null}]})
    }

    fn proxy(&self) -> &Proxy {
        &self.stand.proxy
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
        matches!(change, ChangeIntent::Restart { .. })
    }

    /// Each of two keepers knows of its own restart alone: the locks of run and environment keep them from being two.
    fn expect(&self, luck: Luck) {
        self.most.store(if luck == Luck::Twice { 2 } else { 1 }, Relaxed);
    }

    async fn before(&self) {
        self.stand.hold(json!({"busy": 2})).await;
    }

    async fn sick(&self) {
        self.stand.hold(json!({"busy": 50})).await;
    }

    async fn now(&self) -> Option<String> {
        let held = self.stand.now().await;
        match held.restarts <= self.most.load(Relaxed) {
            true => Some(format!("busy {}", held.value["busy"])),
            false => Some(format!("restarted {} times", held.restarts)),
        }
    }

    fn may_be(&self, seen: &str) -> bool {
        ["busy 50", "busy 2"].contains(&seen)
    }

    async fn strike(&self, luck: Luck) {
        if luck == Luck::Restarts {
            self.stand.restart().await;
        }
    }

    /// What a person restarts after it is no second restart of the run.
    async fn relent(&self, _: Luck) {
        self.stand.forget_restarts().await;
    }

    fn is_once_a_run(&self) -> bool {
        true
    }
}

//! The row that nothing happens to: flags in a Redis of its own, and a program as the last step of all. Whatever becomes
//! of the other row, these are put back.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use axum::{Router, routing::get};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::part::{Redis, ports};

/// A shop whose orders hold throughout, and the healthy row.
pub struct Healthy {
    redis: Redis,
    shop: SocketAddr,
    task: JoinHandle<()>,
    round: Arc<AtomicU32>,
}

impl Drop for Healthy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Healthy {
    pub async fn start() -> Self {
        let metrics = "# TYPE shop_orders gauge\nshop_orders 5\n";
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let shop = listener.local_addr().expect("its address");
        let router = Router::new().route("/metrics", get(async move || metrics));
        Self {
            redis: Redis::start(ports(1), &[]).await,
            shop,
            task: tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") }),
            round: Arc::new(AtomicU32::new(0)),
        }
    }

    pub fn environment(&self) -> Value {
        json!({
            "services": {"shop": {"shop-0": self.shop.to_string()}},
            "redis": {"healthy": {"address": format!("127.0.0.1:{}", self.redis.port), "user": null, "password": null,
                "db": 0, "tls": null}}
        })
    }

    pub fn playbook(&self) -> Value {
        let port = self.redis.port;
        let check = format!("redis-cli -p {port} GET last | grep -qx done");
        json!({
            "flags": [{"redis": {"server": "healthy", "pattern": "healthy:*", "at_most": 100}}],
            "commands": [{"name": "last", "after": "release", "timeout": 15_000, "how": {"run": {
                "run": ["redis-cli", "-p", port.to_string(), "SET", "last", "done"],
                "check": ["sh", "-c", check]
            }}}]
        })
    }

    pub async fn before(&self) {
        self.redis.ask(&["FLUSHALL"]).await.expect("emptied");
        self.redis
            .ask(&["SET", "healthy:old", "before"])
            .await
            .expect("set");
    }

    /// A drill's flag, which is another one each time, and the last step undone.
    pub async fn sick(&self) {
        let flag = format!("healthy:{}", self.round.fetch_add(1, Relaxed));
        self.redis.ask(&["SET", &flag, "1"]).await.expect("set");
        self.redis.ask(&["DEL", "last"]).await.expect("deleted");
    }

    /// As before, and the last step done.
    ///
    /// # Errors
    /// What it is instead.
    pub async fn is_put_back(&self) -> Result<(), String> {
        let names = self.redis.names("*").await.expect("it answers");
        match names == ["healthy:old", "last"] {
            true => Ok(()),
            false => Err(format!("the healthy row was not put back: {names:?}")),
        }
    }
}

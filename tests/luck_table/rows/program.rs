//! A step of one's own: a program with a check. What it changes is a value in a real Redis.

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};

use crate::{
    luck::Luck,
    part::{Redis, ports},
    proxy::{Place, Proxy},
    row::Row,
};

pub struct Program {
    redis: Redis,
    proxy: Proxy,
    port: u16,
}

impl Program {
    pub async fn start() -> Self {
        let base = ports(2);
        Self {
            redis: Redis::start(base, &["--user", "warmer", "on", "nopass", "~*", "+@all"]).await,
            proxy: Proxy::to(base + 1, Place::Tcp(base)),
            port: base + 1,
        }
    }
}

impl Row for Program {
    fn environment(&self) -> Value {
        json!({"services": {"order": {"order-0": "127.0.0.1:9"}}})
    }

    fn playbook(&self) -> Value {
        let cli = format!(
            "redis-cli -e -p {} --user warmer --pass any --no-auth-warning",
            self.port
        );
        let run = format!("{cli} SET cache:coupon warm");
        let check = format!("{cli} GET cache:coupon | grep -qx warm");
        json!({"commands": [{"name": "warm-cache", "after": "drain", "timeout": 8000, "how": {"run": {
            "run": run.split(' ').collect::<Vec<_>>(), "check": ["sh", "-c", check]
        }}}]})
    }

    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    fn cannot(&self, luck: Luck) -> Option<&'static str> {
        (luck == Luck::Topology).then_some("one address")
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Command { name } if name == "warm-cache")
    }

    async fn before(&self) {
        self.redis
            .ask(&["SET", "cache:coupon", "warm"])
            .await
            .expect("set");
    }

    async fn sick(&self) {
        self.redis
            .ask(&["SET", "cache:coupon", "cold"])
            .await
            .expect("set");
    }

    async fn now(&self) -> Option<String> {
        self.redis.ask(&["GET", "cache:coupon"]).await
    }

    fn may_be(&self, seen: &str) -> bool {
        ["warm", "cold"].contains(&seen)
    }

    async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Refuses => {
                let words = ["ACL", "SETUSER", "warmer", "-set"];
                self.redis.ask(&words).await.expect("taken away");
            }
            _ => {
                self.redis.kill().await;
                self.redis.up().await;
            }
        }
    }

    async fn relent(&self, luck: Luck) {
        if luck == Luck::Refuses {
            let words = ["ACL", "SETUSER", "warmer", "+@all"];
            self.redis.ask(&words).await.expect("as it was");
        }
    }
}

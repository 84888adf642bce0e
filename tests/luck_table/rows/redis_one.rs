//! Flags in one real Redis.

use allclear::model::{
    environment::SecretRef,
    secret::{SecretText, Secrets},
    undo::ChangeIntent,
};
use serde_json::{Value, json};

use crate::{
    luck::Luck,
    part::{Redis, ports},
    proxy::{Place, Proxy},
    row::Row,
};

const PASSWORD: (&str, &str) = ("DRILL_PASSWORD", "pw-of-drill");
const FLAGS: usize = 40;

pub struct RedisOne {
    redis: Redis,
    proxy: Proxy,
}

impl RedisOne {
    pub async fn start() -> Self {
        let base = ports(2);
        let drill = format!(">{}", PASSWORD.1);
        Self {
            redis: Redis::start(base, &["--user", "drill", "on", &drill, "~*", "&*", "+@all"]).await,
            proxy: Proxy::to(base + 1, Place::Tcp(base)),
        }
    }
}

/// `before` where it is as it was, then the numbers of the drill's flags.
pub fn shown(names: &[String], old: &str) -> String {
    let flags = names.iter().filter_map(|n| n.strip_prefix("degrade:order:"));
    let flags: Vec<&str> = flags.filter(|f| *f != "old").collect();
    format!(
        "old {old}, {} others, flags {}",
        names.iter().filter(|n| !n.starts_with("degrade:")).count(),
        match flags.len() {
            0 => "none".to_owned(),
            n if n == FLAGS => "all".to_owned(),
            _ => flags.join(" "),
        }
    )
}

/// What was there before is never touched, and only flags of the drill are there besides.
pub fn may_be(seen: &str) -> bool {
    let Some(flags) = seen.strip_prefix("old before, 1 others, flags ") else {
        return false;
    };
    let is_ones = |f: &str| f.parse::<usize>().is_ok_and(|n| n < FLAGS);
    ["none", "all"].contains(&flags) || flags.split(' ').all(is_ones)
}

/// All that was there before the drill, at once: whoever looks sees no moment without it.
pub const BEFORE: [&str; 3] = [
    "EVAL",
    "redis.call('FLUSHALL') redis.call('MSET', 'degrade:order:old', 'before', 'session', '1')",
    "0",
];

/// What sets all of the drill's flags at once.
pub fn sick() -> Vec<String> {
    let pairs = flags().flat_map(|flag| [flag, "1".to_owned()]);
    ["MSET".to_owned()].into_iter().chain(pairs).collect()
}

/// How the flags of one server stand.
pub async fn now(redis: &Redis) -> Option<String> {
    let names = redis.names("*").await?;
    let old = redis.ask(&["GET", "degrade:order:old"]).await?;
    Some(shown(&names, &old))
}

/// The drill's flags, one by one.
pub fn flags() -> impl Iterator<Item = String> {
    (0..FLAGS).map(|n| format!("degrade:order:{n}"))
}

impl Row for RedisOne {
    fn environment(&self) -> Value {
        json!({
            "services": {"order": {"order-0": "127.0.0.1:9"}},
            "redis": {"main": {"address": self.proxy.address(), "user": "drill", "password": {"env": PASSWORD.0},
                "db": 0, "tls": null}}
        })
    }

    fn playbook(&self) -> Value {
        json!({"flags": [{"redis": {"server": "main", "pattern": "degrade:order:*", "at_most": 1000}}]})
    }

    fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::none();
        secrets.insert(SecretRef::Env(PASSWORD.0.into()), SecretText::new(PASSWORD.1));
        secrets
    }

    /// What became a replica stays one.
    fn heals(&self, luck: Luck) -> bool {
        !luck.lasts() && luck != Luck::Topology
    }

    fn variables(&self) -> Vec<(String, String)> {
        vec![(PASSWORD.0.to_owned(), PASSWORD.1.to_owned())]
    }

    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Flags { pattern, .. } if pattern.starts_with("degrade"))
    }

    async fn before(&self) {
        self.redis.ask(&BEFORE).await.expect("set");
    }

    async fn sick(&self) {
        let words = sick();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.redis.ask(&words).await.expect("set");
    }

    async fn now(&self) -> Option<String> {
        now(&self.redis).await
    }

    fn may_be(&self, seen: &str) -> bool {
        may_be(seen)
    }

    async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Refuses => {
                let words = ["ACL", "SETUSER", "drill", "-unlink", "-del"];
                self.redis.ask(&words).await.expect("taken away");
            }
            Luck::Restarts => {
                self.redis.kill().await;
                self.redis.up().await;
            }
            // A replica of nobody: it keeps what it has, and lets nothing be written.
            _ => {
                let words = ["REPLICAOF", "127.0.0.1", "9"];
                self.redis.ask(&words).await.expect("demoted");
            }
        }
    }

    async fn relent(&self, luck: Luck) {
        let words: &[&str] = match luck {
            Luck::Refuses => &["ACL", "SETUSER", "drill", "+@all"],
            Luck::Topology => &["REPLICAOF", "NO", "ONE"],
            _ => return,
        };
        self.redis.ask(words).await.expect("as it was");
    }
}

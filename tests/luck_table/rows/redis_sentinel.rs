//! Flags in a real Redis with a replica, both watched by a real Sentinel; the luck is that of the master.

use std::{
    fs::{self, File},
    process::Stdio,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::redis_one::{self, may_be};
use crate::{
    luck::Luck,
    part::{Redis, ports, said_by, until},
    proxy::{Place, Proxy},
    row::Row,
};

/// The longest bad luck is shorter: nobody but this row makes the replica the master.
const DOWN_AFTER: &str = "600000";

pub struct RedisSentinel {
    nodes: Vec<Redis>,
    /// One before each node: the Sentinel tells of these.
    proxies: Vec<Proxy>,
    base: u16,
    /// Which node was the master before the luck came.
    master: AtomicUsize,
    _sentinel: (Child, TempDir),
}

impl RedisSentinel {
    pub async fn start() -> Self {
        // Ports, proxies' ports, the Sentinel's.
        let base = ports(5);
        let proxies = vec![
            Proxy::to(base + 2, Place::Tcp(base)),
            Proxy::to(base + 3, Place::Tcp(base + 1)),
        ];
        let of_master = format!("127.0.0.1 {}", base + 2);
        let mut nodes = Vec::new();
        for (n, is) in [(0, vec![]), (1, vec!["--replicaof", &of_master])] {
            let seen = (base + 2 + n).to_string();
            let told = [
                "--replica-announce-ip",
                "127.0.0.1",
                "--replica-announce-port",
                &seen,
            ];
            let quick = ["--repl-diskless-sync-delay", "0"];
            nodes.push(Redis::start(base + n, &[&told[..], &quick, &is[..]].concat()).await);
        }
        let row = Self {
            nodes,
            proxies,
            base,
            master: AtomicUsize::new(0),
            _sentinel: sentinel(base + 4, base + 2),
        };
        row.is_whole().await;
        row
    }

    async fn ask_sentinel(&self, words: &[&str]) -> Option<String> {
        said_by(self.base + 4, words).await
    }

    /// Which node the Sentinel calls the master.
    async fn told(&self) -> Option<usize> {
        let said = self
            .ask_sentinel(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"])
            .await?;
        let port: u16 = said.lines().nth(1)?.parse().ok()?;
        usize::from(port.checked_sub(self.base + 2)?).into()
    }

    /// The node that was the master when the cell began.
    fn master(&self) -> &Redis {
        &self.nodes[self.master.load(Relaxed)]
    }

    /// Until the Sentinel's master is one, and its replica has all that it has.
    async fn is_whole(&self) {
        let whole = async || {
            let Some(told) = self.told().await else {
                return false;
            };
            self.master.store(told, Relaxed);
            let role = self.master().ask(&["ROLE"]).await.unwrap_or_default();
            role.starts_with("master") && self.is_copied().await
        };
        until("master and replica are one", whole).await.expect("a pair");
    }

    async fn is_copied(&self) -> bool {
        let copies = self.master().ask(&["WAIT", "1", "1000"]).await;
        copies.as_deref() == Some("1")
    }

    async fn write(&self, words: &[&str]) {
        self.master().ask(words).await.expect("set");
        let copied = async || self.is_copied().await;
        until("the replica has it", copied).await.expect("a copy");
    }
}

/// A Sentinel that watches the master behind port `master`, and decides alone.
fn sentinel(port: u16, master: u16) -> (Child, TempDir) {
    let folder = tempfile::Builder::new()
        .prefix("luck-")
        .tempdir_in("/tmp")
        .expect("a folder");
    let file = folder.path().join("sentinel.conf");
    let settings = format!(
        "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor main 127.0.0.1 {master} 1\nsentinel \
         down-after-milliseconds main {DOWN_AFTER}\n",
        folder.path().display()
    );
    fs::write(&file, settings).expect("its settings");
    let mut command = Command::new("redis-server");
    command
        .arg(&file)
        .arg("--sentinel")
        .stdin(Stdio::null())
        .stdout(File::create(folder.path().join("log")).expect("a log"))
        .kill_on_drop(true);
    (command.spawn().expect("apt-get install -y redis-server"), folder)
}

impl Row for RedisSentinel {
    fn environment(&self) -> Value {
        let sentinel = json!({"master": "main", "addresses": [format!("127.0.0.1:{}", self.base + 4)],
            "user": null, "password": null});
        json!({
            "services": {"order": {"order-0": "127.0.0.1:9"}},
            "redis": {"main": {"sentinel": sentinel, "user": null, "password": null, "db": 0, "tls": null}}
        })
    }

    fn playbook(&self) -> Value {
        json!({"flags": [{"redis": {"server": "main", "pattern": "degrade:order:*", "at_most": 1000}}]})
    }

    fn proxy(&self) -> &Proxy {
        &self.proxies[self.master.load(Relaxed)]
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Flags { pattern, .. } if pattern.starts_with("degrade"))
    }

    async fn before(&self) {
        self.is_whole().await;
        self.write(&redis_one::BEFORE).await;
    }

    async fn sick(&self) {
        let words = redis_one::sick();
        self.write(&words.iter().map(String::as_str).collect::<Vec<_>>())
            .await;
    }

    async fn now(&self) -> Option<String> {
        redis_one::now(&self.nodes[self.told().await?]).await
    }

    fn may_be(&self, seen: &str) -> bool {
        may_be(seen)
    }

    async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Refuses => {
                let words = ["ACL", "SETUSER", "default", "-unlink", "-del"];
                self.master().ask(&words).await.expect("taken away");
            }
            Luck::Restarts => {
                self.master().kill().await;
                self.master().up().await;
            }
            _ => {
                // It has to have heard of the replica, which it asks for every ten seconds.
                let agrees = async || {
                    self.ask_sentinel(&["SENTINEL", "FAILOVER", "main"])
                        .await
                        .is_some()
                };
                until("the Sentinel begins", agrees).await.expect("a failover");
                let was = self.master.load(Relaxed);
                let other = async || self.told().await.is_some_and(|now| now != was);
                until("the replica is the master", other)
                    .await
                    .expect("a failover");
            }
        }
    }

    async fn relent(&self, luck: Luck) {
        if luck == Luck::Refuses {
            let words = ["ACL", "SETUSER", "default", "+@all"];
            self.master().ask(&words).await.expect("as it was");
        }
    }
}

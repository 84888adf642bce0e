//! Flags in a real Redis cluster of three masters; the luck is that of the first.

use std::collections::BTreeSet;

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};

use super::redis_one::{flags, may_be, shown};
use crate::{
    luck::Luck,
    part::{Redis, ports, tool, until},
    proxy::{Place, Proxy},
    row::Row,
};

pub struct RedisCluster {
    nodes: Vec<Redis>,
    /// One before each node: clients are told of these.
    proxies: Vec<Proxy>,
    base: u16,
}

impl RedisCluster {
    pub async fn start() -> Self {
        // Ports, proxies' ports, bus ports.
        let base = ports(9);
        let mut nodes = Vec::new();
        for n in 0..3 {
            let (seen, bus) = ((base + 3 + n).to_string(), (base + 6 + n).to_string());
            let settings = ["--cluster-enabled", "yes", "--cluster-node-timeout", "15000"];
            let told = [
                "--cluster-announce-ip",
                "127.0.0.1",
                "--cluster-announce-port",
                &seen,
            ];
            let bus = ["--cluster-port", &bus];
            nodes.push(Redis::start(base + n, &[&settings[..], &told, &bus].concat()).await);
        }
        let proxies = (0..3)
            .map(|n| Proxy::to(base + 3 + n, Place::Tcp(base + n)))
            .collect();
        let cluster = Self { nodes, proxies, base };
        cluster.join().await;
        cluster
    }

    async fn join(&self) {
        let firsts = [0, 5461, 10923, 16384];
        for (n, node) in self.nodes.iter().enumerate() {
            let (first, last) = (firsts[n].to_string(), (firsts[n + 1] - 1).to_string());
            node.ask(&["CLUSTER", "ADDSLOTSRANGE", &first, &last])
                .await
                .expect("slots");
            let (port, bus) = ((self.base + 3).to_string(), (self.base + 6).to_string());
            if n > 0 {
                node.ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus])
                    .await
                    .expect("met");
            }
        }
        self.is_whole().await;
    }

    async fn is_whole(&self) {
        let whole = async || {
            let mut views = BTreeSet::new();
            for node in &self.nodes {
                let info = node.ask(&["CLUSTER", "INFO"]).await.unwrap_or_default();
                let nodes = node.ask(&["CLUSTER", "NODES"]).await.unwrap_or_default();
                if !info.contains("cluster_state:ok") || nodes.lines().count() != 3 || nodes.contains("fail")
                {
                    return false;
                }
                views.insert(owners(&nodes));
            }
            // They take a moment to hear of each other's slots, and to settle whose decision is the newer one.
            let epochs =
                |view: &BTreeSet<Owner>| view.iter().map(|o| &o.epoch).collect::<BTreeSet<_>>().len();
            views.len() == 1 && views.iter().all(|view| epochs(view) == self.nodes.len())
        };
        until("the cluster is whole", whole).await.expect("a cluster");
    }

    async fn id(&self, n: usize) -> String {
        self.nodes[n].ask(&["CLUSTER", "MYID"]).await.expect("its id")
    }

    /// As one that speaks to all nodes.
    async fn say(&self, words: &[&str]) {
        let port = (self.base + 1).to_string();
        let args = [&["-c", "-p", &port][..], words].concat();
        tool("redis-cli", &args).await.expect("said");
    }
}

/// Who has which slots, by which decision.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    id: String,
    epoch: String,
    slots: Vec<String>,
}

/// The owners of all slots, in one node's view.
fn owners(nodes: &str) -> BTreeSet<Owner> {
    let owner = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let [id, _, _, _, _, _, epoch, _, slots @ ..] = words.as_slice() else {
            return None;
        };
        Some(Owner {
            id: id.clone(),
            epoch: epoch.clone(),
            slots: slots.to_vec(),
        })
    };
    nodes.lines().filter_map(owner).collect()
}

impl Row for RedisCluster {
    fn environment(&self) -> Value {
        let addresses: Vec<String> = self.proxies.iter().map(Proxy::address).collect();
        json!({
            "services": {"order": {"order-0": "127.0.0.1:9"}},
            "redis": {"main": {"cluster": {"addresses": addresses}, "user": null, "password": null, "db": 0, "tls": null}}
        })
    }

    fn playbook(&self) -> Value {
        json!({"flags": [{"redis": {"server": "main", "pattern": "degrade:order:*", "at_most": 1000}}]})
    }

    fn proxy(&self) -> &Proxy {
        &self.proxies[0]
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Flags { pattern, .. } if pattern.starts_with("degrade"))
    }

    async fn before(&self) {
        self.is_whole().await;
        for node in &self.nodes {
            let cli = format!("redis-cli -p {}", node.port);
            let script = format!("{cli} --scan --pattern 'degrade:order:[0-9]*' | sed 's/^/DEL /' | {cli}");
            tool("sh", &["-c", &script]).await.expect("emptied");
        }
        self.say(&["SET", "degrade:order:old", "before"]).await;
        self.say(&["SET", "session", "1"]).await;
    }

    async fn sick(&self) {
        let lines: Vec<String> = flags().map(|flag| format!("SET {flag} 1")).collect();
        let script = format!(
            "printf '{}\\n' | redis-cli -c -p {}",
            lines.join("\\n"),
            self.base + 1
        );
        // A node that was away may not be one of the cluster for the others yet.
        self.is_whole().await;
        let set = async || tool("sh", &["-c", &script]).await.is_some();
        until("the flags are set", set).await.expect("flags");
    }

    async fn now(&self) -> Option<String> {
        let (mut names, mut old) = (Vec::new(), None);
        for node in &self.nodes {
            let here = node.names("*").await?;
            if here.iter().any(|n| n == "degrade:order:old") {
                old = node.ask(&["GET", "degrade:order:old"]).await;
            }
            names.extend(here);
        }
        // A flag that moves meanwhile is seen at both of its places.
        names.sort();
        names.dedup();
        Some(shown(&names, &old?))
    }

    fn may_be(&self, seen: &str) -> bool {
        may_be(seen)
    }

    async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Refuses => {
                let words = ["ACL", "SETUSER", "default", "-unlink", "-del"];
                self.nodes[0].ask(&words).await.expect("taken away");
            }
            Luck::Restarts => {
                self.nodes[0].kill().await;
                self.nodes[0].up().await;
            }
            _ => {
                let (from, to, at) = (
                    self.id(0).await,
                    self.id(2).await,
                    format!("127.0.0.1:{}", self.base),
                );
                let moves = [
                    "--cluster-from",
                    &from,
                    "--cluster-to",
                    &to,
                    "--cluster-slots",
                    "300",
                ];
                let args = [&["--cluster", "reshard", &at, "--cluster-yes"][..], &moves].concat();
                tool("redis-cli", &args).await.expect("slots move");
            }
        }
    }

    async fn relent(&self, luck: Luck) {
        if luck == Luck::Refuses {
            let words = ["ACL", "SETUSER", "default", "+@all"];
            self.nodes[0].ask(&words).await.expect("as it was");
        }
        self.is_whole().await;
    }
}

//! A cluster of three masters.

use std::fs;

use super::{
    RedisPart, named, redis_server,
    tls::{Certificates, port},
    tool,
};
use crate::{
    drivers::testing::until,
    model::environment::{Redis, RedisCluster, RedisPlace},
};

/// A cluster of three masters.
pub struct ClusterPart {
    pub nodes: Vec<RedisPart>,
    /// Where the nodes talk to each other, and to clients but the test.
    ports: Vec<String>,
    tls: Option<Certificates>,
}

pub async fn cluster() -> ClusterPart {
    clustered(None).await
}

/// The same, all of it by TLS. Its nodes send clients on to each other by addresses that their certificates are not good for.
pub async fn cluster_over_tls() -> ClusterPart {
    clustered(Some(Certificates::new())).await
}

async fn clustered(tls: Option<Certificates>) -> ClusterPart {
    let (mut nodes, mut ports) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        // The bus may need a free port of its own: the usual one is ten thousand above.
        let (bus, own) = (port().await, port().await);
        let mut options = vec![
            "--cluster-enabled",
            "yes",
            "--cluster-port",
            &bus,
            "--cluster-node-timeout",
            "2000",
        ];
        if let Some(certificates) = &tls {
            options.extend(certificates.options(&own));
            options.extend(["--tls-cluster", "yes", "--cluster-announce-hostname", "localhost"]);
        }
        let node = redis_server(&options).await;
        ports.push(match tls {
            Some(_) => own,
            None => node.port().to_owned(),
        });
        nodes.push(node);
    }
    let part = ClusterPart { nodes, ports, tls };
    let mut slots = [(0, 5460), (5461, 10922), (10923, 16383)].into_iter();
    for (epoch, node) in part.nodes.iter().enumerate() {
        let (first, last) = slots.next().unwrap();
        node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(epoch + 1).to_string()])
            .await;
        node.ask(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()])
            .await;
    }
    for (node, port) in part.nodes.iter().zip(&part.ports).skip(1) {
        let bus = &node.arguments[node.arguments.iter().position(|a| a == "--cluster-port").unwrap() + 1];
        part.nodes[0]
            .ask(&["CLUSTER", "MEET", "127.0.0.1", port, bus])
            .await;
    }
    part.is_whole().await;
    part
}

impl ClusterPart {
    /// Waits until all nodes agree.
    pub async fn is_whole(&self) {
        until("the cluster is whole", async || {
            for node in &self.nodes {
                let info: String = redis::from_redis_value(node.ask(&["CLUSTER", "INFO"]).await).unwrap();
                let view: String = redis::from_redis_value(node.ask(&["CLUSTER", "NODES"]).await).unwrap();
                let known = |other: &RedisPart| view.contains(&format!("{}@", other.address));
                let named = self.tls.is_none() || view.matches(",localhost").count() == 3;
                if !info.contains("cluster_state:ok")
                    || view.matches("connected ").count() < 3
                    || !(named && self.nodes.iter().all(known))
                {
                    return false;
                }
            }
            true
        })
        .await;
    }

    /// How an environment names it: by two of its nodes.
    pub fn named(&self) -> Redis {
        self.named_by(&[1, 2])
    }

    /// How an environment names it by these of its nodes.
    pub fn named_by(&self, nodes: &[usize]) -> Redis {
        let host = self.tls.as_ref().map_or("127.0.0.1", |_| "localhost");
        let address = |node: &usize| format!("{host}:{}", self.ports[*node]);
        let addresses = nodes.iter().map(address).collect();
        let mut redis = named(RedisPlace::Cluster(RedisCluster { addresses }));
        redis.tls = self.tls.as_ref().map(|tls| tls.named("ca.pem", true));
        redis
    }

    /// Writes keys, each where it belongs.
    pub fn set(&self, keys: &[&str]) {
        let lines: String = keys.iter().map(|key| format!("SET {key} 1\n")).collect();
        let file = self.nodes[0].part.as_ref().unwrap().folder().join("lines");
        fs::write(&file, lines).unwrap();
        let port = self.nodes[0].port();
        let said = tool(
            "sh",
            &["-c", &format!("redis-cli -c -p {port} < {}", file.display())],
        );
        assert_eq!(said.matches("OK").count(), keys.len(), "{said}");
    }

    /// All keys of all nodes.
    pub async fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for node in &self.nodes {
            keys.extend(node.keys().await);
        }
        keys.sort();
        keys.dedup();
        keys
    }

    pub async fn id(&self, node: usize) -> String {
        redis::from_redis_value(self.nodes[node].ask(&["CLUSTER", "MYID"]).await).unwrap()
    }

    /// Opens the slot of a key for a move between two nodes.
    pub async fn begin_move(&self, slot: u16, from: usize, to: usize) {
        let (slot, ids) = (slot.to_string(), [self.id(from).await, self.id(to).await]);
        self.nodes[to]
            .ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &ids[0]])
            .await;
        self.nodes[from]
            .ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &ids[1]])
            .await;
    }

    /// Moves a key while its slot is open.
    pub async fn move_key(&self, key: &str, from: usize, to: usize) {
        self.nodes[from]
            .ask(&["MIGRATE", "127.0.0.1", &self.ports[to], key, "0", "1000"])
            .await;
    }

    /// Ends a move.
    pub async fn end_move(&self, slot: u16, to: usize) {
        let (slot, id) = (slot.to_string(), self.id(to).await);
        self.nodes[to]
            .ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &id])
            .await;
        for node in &self.nodes {
            node.ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &id]).await;
        }
    }
}

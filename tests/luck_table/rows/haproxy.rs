//! Weights and states at two real HAProxys; the luck is that of one of them.

use std::path::PathBuf;

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};

use crate::{
    luck::Luck,
    part::{ports, said_at, script},
    parts_support::Script,
    proxy::{Place, Proxy},
    row::Row,
};

/// Before the drill, and not what the configuration says: a reload brings 100.
const WEIGHT: u32 = 60;
/// What the drill leaves.
const SICK: u32 = 7;

pub struct Haproxy {
    part: Script,
    port: u16,
    proxy: Proxy,
}

impl Haproxy {
    pub async fn start() -> Self {
        let base = ports(8);
        let servers = |n: u16| {
            let each = (0..n).map(|i| format!("127.0.0.1:{}", base + 4 + i));
            each.collect::<Vec<_>>().join(" ")
        };
        let settings = vec![("PART_PORT", base.to_string()), ("PART_SERVERS", servers(3))];
        let part = script("haproxy", settings, &["down"]);
        part.does(&["up"], &[]).await;
        Self {
            part,
            port: base,
            proxy: Proxy::to(ports(1), Place::Tcp(base)),
        }
    }

    fn socket(&self, balancer: &str) -> PathBuf {
        self.part.file(&format!("{balancer}.sock"))
    }

    async fn say(&self, balancer: &str, commands: &str) -> Option<String> {
        said_at(&self.socket(balancer), commands).await
    }

    /// `order-0 60 ready, …`, by HAProxy's own table.
    async fn servers(&self, balancer: &str) -> Option<String> {
        let table = self.say(balancer, "show servers state order").await?;
        let rows = table.lines().skip(2).filter(|l| !l.trim().is_empty());
        let server = |row: &str| {
            let fields: Vec<&str> = row.split(' ').collect();
            let state = match *fields.get(6)? {
                "0" => "ready",
                "8" => "drain",
                "1" => "maint",
                other => other,
            };
            Some(format!("{} {} {state}", fields.get(3)?, fields.get(7)?))
        };
        let servers: Vec<String> = rows.filter_map(server).collect();
        (servers.len() >= 3).then(|| servers.join(", "))
    }

    async fn reload(&self, servers: usize) {
        let all: Vec<String> = (0..servers as u16)
            .map(|i| format!("127.0.0.1:{}", self.port + 4 + i))
            .collect();
        let all = all.join(" ");
        self.part
            .does(&["reload", "lb-a"], &[("PART_SERVERS", &all)])
            .await;
    }
}

impl Row for Haproxy {
    fn environment(&self) -> Value {
        json!({"services": {"order": {"order-0": format!("127.0.0.1:{}", self.port + 4)}}})
    }

    fn playbook(&self) -> Value {
        let sockets = [self.proxy.address(), format!("127.0.0.1:{}", self.port + 1)];
        json!({"gateway": {"haproxy": {"sockets": sockets, "backend": "order", "ramp": [0.1, 0.3, 1.0], "hold": 100}}})
    }

    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Gateway { at, .. } if *at == self.proxy.address())
    }

    async fn before(&self) {
        for balancer in ["lb-a", "lb-b"] {
            let commands =
                format!("set server order/order-0 weight {WEIGHT}; set server order/order-0 state ready");
            self.say(balancer, &commands).await.expect("said");
        }
    }

    async fn sick(&self) {
        let at_a = format!("set server order/order-0 weight {SICK}; set server order/order-0 state drain");
        self.say("lb-a", &at_a).await.expect("said");
        let at_b = format!("set server order/order-0 weight {SICK}");
        self.say("lb-b", &at_b).await.expect("said");
    }

    async fn now(&self) -> Option<String> {
        let (a, b) = (self.servers("lb-a").await?, self.servers("lb-b").await?);
        // One that has come by a reload is nobody's matter here.
        let a = a.replace(", order-3 100 ready", "");
        Some(format!("{a} | {b}"))
    }

    /// Out (0), a stage of the ramp, before, the drill's, or what a reload brings; nobody else is touched.
    fn may_be(&self, seen: &str) -> bool {
        seen.split(" | ").all(|balancer| {
            let mut servers = balancer.split(", ");
            let target = servers.next().and_then(|s| s.strip_prefix("order-0 "));
            let (weight, state) = target.and_then(|t| t.split_once(' ')).unwrap_or_default();
            ["0", "6", "7", "18", "60", "100"].contains(&weight)
                && ["ready", "drain"].contains(&state)
                && servers.eq(["order-1 100 ready", "order-2 100 ready"])
        })
    }

    async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Refuses => {
                let operator = self.part.file("lb-a-operator.sock");
                self.proxy.lead_to(Place::Unix(operator)).await;
            }
            Luck::Restarts => self.reload(3).await,
            _ => self.reload(4).await,
        }
    }

    async fn relent(&self, luck: Luck) {
        match luck {
            Luck::Refuses => self.proxy.lead_to(Place::Tcp(self.port)).await,
            Luck::Topology => {}
            _ => {}
        }
    }
}

//! The shop as its own systems tell of it: each by its own tool, none by allclear.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{INSTANCES, KEPT, REDIS, RUNTIME_APIS, Shop, run};

/// Everything that a drill could leave behind, in the words of the systems themselves.
#[derive(Debug, PartialEq)]
pub struct Standing {
    servers: Vec<String>,
    breakers: Vec<String>,
    flags: BTreeSet<String>,
    kept: Vec<String>,
    quota: String,
    rules: Vec<Value>,
}

impl Shop {
    /// By the actuator.
    pub async fn breakers(&self) -> Vec<String> {
        let mut states = Vec::new();
        for number in 0..INSTANCES.len() {
            let listed = self.get(number, "/actuator/circuitbreakers").await;
            let state = listed["circuitBreakers"]["coupon"]["state"].as_str();
            states.push(state.expect("a state").to_owned());
        }
        states
    }

    /// By the injection-point API.
    pub async fn rules(&self) -> Vec<Value> {
        let mut rules = Vec::new();
        for number in 0..INSTANCES.len() {
            let listed = self.get(number, "/chaos/rules").await;
            rules.extend(listed["rules"].as_array().expect("a list").iter().cloned());
        }
        rules
    }

    /// By redis-cli, at each master.
    pub async fn flags(&self) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        for offset in REDIS {
            let port = (self.first + offset).to_string();
            let said = run(
                "redis-cli",
                &["-p", &port, "--scan", "--pattern", "degrade:order:*"],
            )
            .await;
            keys.extend(said.lines().map(str::to_owned));
        }
        keys
    }

    /// Retries that wait, by kafka-consumer-groups.
    pub async fn waiting(&self) -> u64 {
        let said = self
            .kafka("consumer-groups", "--describe --group order-retry")
            .await;
        let lag = |line: &str| line.split_whitespace().nth(5)?.parse::<u64>().ok();
        said.lines().filter_map(lag).sum()
    }

    /// Retries that both instances have made good since they started, by their own count.
    pub async fn made_good(&self) -> f64 {
        let mut made = 0.0;
        for number in 0..INSTANCES.len() {
            let metrics = self.get_text(number, "/actuator/prometheus").await;
            let count = metrics
                .lines()
                .find(|line| line.starts_with("retries_done_total"));
            let count = count.and_then(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
            made += count.expect("a counter");
        }
        made
    }

    /// How an instance's switch of its retries stands.
    pub async fn switch(&self, number: usize) -> Value {
        self.get(number, "/app/retry").await
    }

    /// Weight and states of all servers, by HAProxy's own socket.
    async fn servers(&self) -> Vec<String> {
        let mut servers = Vec::new();
        for offset in RUNTIME_APIS {
            let ask = format!(
                "echo 'show servers state order' | socat - TCP:{}",
                self.address(offset)
            );
            let said = run("sh", &["-c", &ask]).await;
            // Columns 4 to 8: name, address, operational and administrative state, weight.
            let row = |line: &str| {
                let columns: Vec<&str> = line.split_whitespace().collect();
                Some(columns.get(3..8)?.join(" "))
            };
            servers.extend(said.lines().skip(2).filter_map(row));
        }
        assert_eq!(servers.len(), 2 * INSTANCES.len(), "{servers:?}");
        servers
    }

    pub async fn standing(&self) -> Standing {
        let mut kept = Vec::new();
        for ask in ["TYPE", "GET", "PTTL"] {
            kept.push(self.redis(&[ask, KEPT]).await);
        }
        Standing {
            servers: self.servers().await,
            breakers: self.breakers().await,
            flags: self.flags().await,
            kept,
            quota: self.kafka("configs", "--describe --entity-type clients").await,
            rules: self.rules().await,
        }
    }
}

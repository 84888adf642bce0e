//! A range on ports of its own, and the questions that tests ask it.

use std::{collections::BTreeMap, process::Stdio, time::Duration};

use serde_json::Value;
use tokio::process::Command;

use super::Program;

pub struct Shop {
    program: Program,
    endpoints: Value,
    http: reqwest::Client,
    _turn: tokio::sync::SemaphorePermit<'static>,
}

impl Shop {
    /// Opens a range; `options` as for `range up`.
    pub async fn open(options: &[&str]) -> Self {
        Self::begin(options, super::turn(false).await).await
    }

    /// Opens a range while no other runs.
    pub async fn alone(options: &[&str]) -> Self {
        Self::begin(options, super::turn(true).await).await
    }

    async fn begin(options: &[&str], turn: tokio::sync::SemaphorePermit<'static>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut command = Command::new(env!("CARGO_BIN_EXE_allclear"));
        command
            .args(["range", "up", "--free-ports", "--json"])
            .args(options);
        command.stdin(Stdio::null());
        let program = Program::start(command);
        let endpoints = serde_json::from_str(&program.says("gateway_http").await).expect("endpoints");
        Self {
            program,
            endpoints,
            http: reqwest::Client::builder()
                .timeout(Duration::from_secs(20))
                .no_proxy()
                .build()
                .expect("a client"),
            _turn: turn,
        }
    }

    pub fn endpoint(&self, name: &str) -> &str {
        self.endpoints[name].as_str().expect("an address")
    }

    /// Service, instance and address of each.
    pub fn instances(&self) -> Vec<(String, String, String)> {
        let text = |v: &Value, key: &str| v[key].as_str().expect("text").to_owned();
        let all = self.endpoints["instances"].as_array().expect("instances");
        all.iter()
            .map(|i| (text(i, "service"), text(i, "instance"), text(i, "address")))
            .collect()
    }

    pub async fn get(&self, instance: &str, path: &str) -> Value {
        let all = self.instances();
        let (_, _, address) = all
            .iter()
            .find(|(_, name, _)| name == instance)
            .expect("an instance");
        let answer = self
            .http
            .get(format!("http://{address}{path}"))
            .send()
            .await
            .expect("an answer");
        answer.json().await.expect("JSON")
    }

    pub async fn status(&self) -> Value {
        self.get("gateway-0", "/range/status").await
    }

    /// Whether any instance has a fault rule.
    pub async fn has_rules(&self) -> bool {
        !self.status().await["rules"]
            .as_object()
            .expect("rules")
            .is_empty()
    }

    /// Fails unless nothing of a drill is there: no rule, no open breaker, no held queue, full weights.
    pub async fn is_as_before(&self) {
        let status = self.status().await;
        assert_eq!(status["rules"], serde_json::json!({}), "rules: {status}");
        assert_eq!(status["retry"]["held"], false, "retry queue: {status}");
        let states = status["breakers"].as_object().expect("breakers").values();
        for breaker in states.flat_map(|b| b.as_object().expect("an instance's").values()) {
            assert_eq!(breaker, "CLOSED", "breakers: {status}");
        }
        for server in status["servers"].as_object().expect("servers").values() {
            assert_eq!(server["weight"], 100, "weights: {status}");
        }
    }

    /// An environment for `allclear.yaml`: metrics and notifiers as given, everything else this range's own.
    pub fn environment(&self, metrics: &str, more: &str) -> String {
        let mut services: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for (service, instance, address) in self.instances() {
            services.entry(service).or_default().insert(instance, address);
        }
        let services = serde_json::to_string(&services).expect("JSON");
        let redis = self
            .endpoint("redis")
            .trim_start_matches("redis://")
            .trim_end_matches('/');
        let gateway = self.endpoint("gateway_runtime");
        format!(
            "environments:\n  shop:\n    stage: preprod\n    {metrics}\n    services: {services}\n    \
             redis: {{main: {{address: \"{redis}\"}}}}\n    gateways: {{lb: \"{gateway}\"}}\n{more}\ndefault: shop\n"
        )
    }

    /// The pages of all instances, read directly.
    pub fn scraped(&self) -> String {
        self.environment("scrape: {every: 1s}", "")
    }

    pub fn pid(&self) -> u32 {
        self.program.pid()
    }
}

//! Lists of rules of a real app with Sentinel.

use allclear::model::undo::ChangeIntent;
use serde_json::{Value, json};

use crate::{
    http::ask,
    luck::Luck,
    part::{ports, script, starts, until},
    parts_support::Script,
    proxy::{Place, Proxy},
    row::{LOGIN_PAGE, Row},
};

const BEFORE: &str = "coupon 2 4.0, stock 2 9.0 | order 1 50.0";
const SICK: &str = "coupon 2 1.0 | ";
/// What the app begins with: a restart brings it.
const STARTED: &str = "coupon 2 3.0, stock 2 5.0 | order 1 200.0";

pub struct Sentinel {
    part: Script,
    port: u16,
    proxy: Proxy,
}

impl Sentinel {
    pub async fn start() -> Self {
        let port = ports(2);
        let settings = vec![("PART_PORTS", port.to_string())];
        let part = script("sentinel", settings, &["down", "order-0"]);
        starts(&part, &["up", "order-0"]).await;
        Self {
            part,
            port,
            proxy: Proxy::to(port + 1, Place::Tcp(port)),
        }
    }

    async fn set(&self, which: &str, rules: Value) {
        let encoded: String = rules.to_string().bytes().map(|b| format!("%{b:02X}")).collect();
        let form = format!("type={which}&data={encoded}");
        let set = async || ask("POST", self.port, "/setRules", &form).await.as_deref() == Some("success");
        until("rules are set", set).await.expect("rules");
    }

    /// `resource grade count, …`
    async fn rules(&self, which: &str) -> Option<String> {
        let listed = ask("GET", self.port, &format!("/getRules?type={which}"), "").await?;
        let listed: Vec<Value> = serde_json::from_str(&listed).ok()?;
        let mut rules: Vec<String> = listed
            .iter()
            .map(|r| {
                format!(
                    "{} {} {}",
                    r["resource"].as_str().unwrap_or("?"),
                    r["grade"],
                    r["count"]
                )
            })
            .collect();
        rules.sort();
        Some(rules.join(", "))
    }
}

fn errors(resource: &str, count: u32) -> Value {
    json!({"resource": resource, "grade": 2, "count": count, "timeWindow": 5, "minRequestAmount": 3})
}

impl Row for Sentinel {
    fn environment(&self) -> Value {
        json!({"services": {"order": {"order-0": self.proxy.address()}}})
    }

    fn playbook(&self) -> Value {
        json!({"breakers": [{"sentinel": {
            "api": "http://{instance}", "callers": "order", "rules": ["degrade", "flow"]
        }}]})
    }

    fn proxy(&self) -> &Proxy {
        &self.proxy
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
        matches!(change, ChangeIntent::Rules { .. })
    }

    async fn before(&self) {
        self.set("degrade", json!([errors("coupon", 4), errors("stock", 9)]))
            .await;
        self.set("flow", json!([{"resource": "order", "grade": 1, "count": 50}]))
            .await;
    }

    async fn sick(&self) {
        self.set("degrade", json!([errors("coupon", 1)])).await;
        self.set("flow", json!([])).await;
    }

    async fn now(&self) -> Option<String> {
        let (degrade, flow) = (self.rules("degrade").await?, self.rules("flow").await?);
        Some(format!("{degrade} | {flow}"))
    }

    /// Each list is the one of before, the drill's, or the one that a restart brings.
    fn may_be(&self, seen: &str) -> bool {
        let whole = [BEFORE, SICK, STARTED].map(|lists| lists.split_once(" | ").unwrap_or_default());
        let Some((degrade, flow)) = seen.split_once(" | ") else {
            return false;
        };
        whole.iter().any(|(d, _)| *d == degrade) && whole.iter().any(|(_, f)| *f == flow)
    }

    async fn strike(&self, luck: Luck) {
        if luck == Luck::Restarts {
            self.part.does(&["down", "order-0"], &[]).await;
            self.part.does(&["up", "order-0"], &[]).await;
        }
    }

    async fn relent(&self, _: Luck) {}
}

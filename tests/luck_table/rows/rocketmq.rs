//! A retry group's switch at two real master brokers; the luck is that of one of them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use allclear::model::{
    environment::SecretRef,
    secret::{SecretText, Secrets},
    undo::ChangeIntent,
};
use serde_json::{Value, json};

use crate::{
    luck::Luck,
    part::{ports, turn_to_start, until},
    proxy::{Place, Proxy},
    rocketmq_part::{BROKERS, Part, call},
    row::Row,
};

const GROUP: &str = "order-retry";
const TOPIC: &str = "order";
const PASSWORD: (&str, &str) = ("MQ_SECRET", "drill-pw-1");
/// The broker that is in bad luck, and the one that joins.
const STRUCK: &str = "broker-b";
const JOINS: &str = "broker-c";
const ON: &str = "\"consumeEnable\":true";
const OFF: &str = "\"consumeEnable\":false";

pub struct Rocketmq {
    part: Part,
    proxy: Proxy,
    name_server: Proxy,
    /// The group's whole config on each broker, in another way than a broker would make it.
    before: Vec<String>,
    has_joined: AtomicBool,
}

impl Rocketmq {
    pub async fn start() -> Self {
        let turn = turn_to_start().await;
        let part = Part::start(Some("admin:admin-pw-1")).await;
        drop(turn);
        let base = ports(2);
        let (names, struck) = (port(&part.name_server()), port(&part.broker(STRUCK)));
        let proxy = Proxy::to(base, Place::Tcp(struck));
        let name_server = Proxy::that_tells_of(&proxy, struck, base + 1, Place::Tcp(names));
        let mut rocketmq = Self {
            part,
            proxy,
            name_server,
            before: Vec::new(),
            has_joined: AtomicBool::new(false),
        };
        for broker in BROKERS {
            rocketmq.knows_the_group(broker).await;
            let config = rocketmq.part.config(broker, GROUP).await;
            assert!(config.contains(ON), "{config}");
            rocketmq.before.push(config);
        }
        rocketmq
    }

    async fn knows_the_group(&self, broker: &str) {
        self.part.create(&[broker], TOPIC, GROUP).await;
        self.user(
            broker,
            3001,
            r#""password":"drill-pw-1","userType":"Super","userStatus":"enable""#,
        )
        .await;
    }

    /// Creates the drill's user at a broker (3001), or changes it (3002).
    async fn user(&self, broker: &str, code: u32, more: &str) {
        let body = format!(r#"{{"username":"drill",{more}}}"#);
        let (said, _) = self
            .part
            .ask(broker, code, r#"{"username":"drill"}"#, &body)
            .await;
        assert!(said.contains("\"code\":0,"), "{said}");
    }

    async fn put(&self, is_on: bool) {
        for (broker, before) in BROKERS.iter().zip(&self.before) {
            let config = if is_on {
                before.clone()
            } else {
                before.replace(ON, OFF)
            };
            let put = async || {
                let said = self.part.tries(broker, 200, "{}", &config).await;
                said.is_ok_and(|(said, _)| said.contains("\"code\":0,"))
            };
            until("the config stands", put).await.expect("a config");
        }
    }

    /// A broker's config, if it answers.
    async fn config(&self, broker: &str) -> Option<String> {
        let fields = format!(r#"{{"group":"{GROUP}"}}"#);
        let (said, config) = self.part.tries(broker, 352, &fields, "").await.ok()?;
        said.contains("\"code\":0,").then_some(config)
    }
}

fn port(address: &str) -> u16 {
    let (_, port) = address.rsplit_once(':').expect("an address");
    port.parse().expect("a port")
}

impl Row for Rocketmq {
    fn environment(&self) -> Value {
        json!({
            "services": {"order": {"order-0": "127.0.0.1:9"}},
            "rocketmq": {"main": {"nameservers": [self.name_server.address()],
                "login": {"access_key": "drill", "secret_key": {"env": PASSWORD.0}}}}
        })
    }

    fn playbook(&self) -> Value {
        json!({"retry_queues": [{"rocketmq": {
            "cluster": "main", "group": GROUP, "topic": format!("%RETRY%{GROUP}"), "rate": 100.0, "within": 30_000
        }}]})
    }

    fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::none();
        secrets.insert(SecretRef::Env(PASSWORD.0.into()), SecretText::new(PASSWORD.1));
        secrets
    }

    fn variables(&self) -> Vec<(String, String)> {
        vec![(PASSWORD.0.to_owned(), PASSWORD.1.to_owned())]
    }

    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Group { broker, .. } if broker == STRUCK)
    }

    async fn before(&self) {
        self.put(true).await;
    }

    /// Switched off by somebody whom nobody remembers.
    async fn sick(&self) {
        self.put(false).await;
    }

    /// Each broker's config, byte by byte.
    async fn now(&self) -> Option<String> {
        let mut shown = Vec::new();
        for (broker, before) in BROKERS.iter().zip(&self.before) {
            let config = self.config(broker).await?;
            shown.push(match config {
                config if config == *before => "on".to_owned(),
                config if config == before.replace(ON, OFF) => "off".to_owned(),
                other => other,
            });
        }
        // One that has joined is nobody's matter, as long as the group is on there.
        if self.has_joined.load(Relaxed) && !self.config(JOINS).await?.contains(ON) {
            shown.push(format!("switched off at {JOINS}"));
        }
        Some(shown.join(", "))
    }

    fn may_be(&self, seen: &str) -> bool {
        seen.split(", ").all(|config| ["on", "off"].contains(&config))
    }

    async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Refuses => self.user(STRUCK, 3002, r#""userStatus":"disable""#).await,
            Luck::Restarts => {
                self.part.run("kill", &[STRUCK]).await;
                self.part.run("up", &[STRUCK]).await;
            }
            _ => {
                // It may be given up in the middle: it is taken down all the same.
                self.has_joined.store(true, Relaxed);
                self.part.run("up", &[JOINS]).await;
                self.knows_the_group(JOINS).await;
            }
        }
    }

    async fn relent(&self, luck: Luck) {
        match luck {
            Luck::Refuses => self.user(STRUCK, 3002, r#""userStatus":"enable""#).await,
            Luck::Topology if self.has_joined.swap(false, Relaxed) => {
                self.part.run("down", &[JOINS]).await;
                let fields = format!(r#"{{"topic":"%RETRY%{GROUP}"}}"#);
                let gone = async || {
                    let (_, route) = call(&self.part.name_server(), 105, &fields, "").await;
                    !route.contains(JOINS)
                };
                until("nobody knows it any more", gone).await.expect("a route");
            }
            _ => {}
        }
    }
}

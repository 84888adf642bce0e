//! A retry topic at a real broker: the quota of its consumers alone, or with a backlog that is held and let go.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use allclear::{
    drivers::Patience,
    model::{
        environment::SecretRef,
        secret::{SecretText, Secrets},
        undo::ChangeIntent,
    },
};
use serde_json::{Value, json};

use crate::{
    kafka_consumer::Consumer,
    kafka_wire::{committed, quota, set_quota},
    luck::Luck,
    part::{ports, script, starts, tool, until},
    parts_support::Script,
    proxy::{Place, Proxy},
    row::{PATIENCE, PATIENT, Row},
};

const PASSWORD: (&str, &str) = ("KAFKA_PASSWORD", "alice-pw");
/// Topic, group and client id.
const NAME: &str = "order-retry";
/// Bytes a second before; Kafka knows whole ones only.
const BEFORE: f64 = 40_961.0;
const SICK: f64 = 1024.0;
/// Messages in the topic, and how many of them wait in a drill.
const ALL: i64 = 2000;
const WAITING: i64 = 250;
/// What a tenth of a second lets go is on its way, not waiting.
const MOVING: i64 = 10;
/// The right that is taken away, and with it the one to change quotas.
const RIGHT: &str = "--allow-principal User:alice --cluster --operation AlterConfigs";

pub struct Kafka {
    part: Script,
    port: u16,
    proxy: Proxy,
    consumer: Option<Consumer>,
}

impl Kafka {
    /// With a backlog, and who works it off.
    pub async fn with_a_backlog() -> Self {
        let mut kafka = Self::start().await;
        let produce = format!("--topic {NAME} --num-records {ALL} --record-size 200 --throughput -1");
        kafka.tool("producer-perf-test", &produce).await;
        kafka.consumer = Some(Consumer::start(kafka.port, NAME));
        kafka
    }

    pub async fn start() -> Self {
        let base = ports(6);
        let settings = vec![
            ("PART_PORT", base.to_string()),
            ("PART_ADVERTISE_SASL", (base + 5).to_string()),
        ];
        let part = script("kafka", settings, &["down"]);
        starts(&part, &["up"]).await;
        let kafka = Self {
            part,
            port: base,
            // Clients are told of this one.
            proxy: Proxy::to(base + 5, Place::Tcp(base + 1)),
            consumer: None,
        };
        kafka
            .tool("topics", &format!("--create --topic {NAME} --partitions 1"))
            .await;
        for right in [
            &format!("--allow-principal User:alice --topic {NAME} --operation Describe --operation Read"),
            &format!("--allow-principal User:alice --group {NAME} --operation Describe"),
            "--allow-principal User:alice --cluster --operation DescribeConfigs",
            RIGHT,
        ] {
            kafka.tool("acls", &format!("--add {right}")).await;
        }
        let at_start = format!("--group {NAME} --topic {NAME} --reset-offsets --to-earliest --execute");
        kafka.tool("consumer-groups", &at_start).await;
        kafka
    }

    async fn tool(&self, name: &str, args: &str) -> String {
        let program = self.part.file(&format!("bin/kafka-{name}.sh"));
        let at = format!("127.0.0.1:{}", self.port);
        let args: Vec<&str> = ["--bootstrap-server", &at]
            .into_iter()
            .chain(args.split(' '))
            .collect();
        tool(program, &args)
            .await
            .unwrap_or_else(|| panic!("{name} {args:?} does not do well"))
    }

    /// Whether its consumer is there.
    pub fn consumer(&self) -> Option<Arc<AtomicBool>> {
        self.consumer.as_ref().map(Consumer::switch)
    }

    async fn waits(&self, messages: i64) {
        if let Some(consumer) = &self.consumer {
            consumer.put(ALL - messages).await;
        }
    }

    async fn put(&self, bytes: f64) {
        let put = async || {
            set_quota(self.port, NAME, bytes).await.is_some()
                && quota(self.port, NAME).await == Some(Some(bytes))
        };
        until("the quota stands", put).await.expect("a quota");
    }
}

impl Row for Kafka {
    fn environment(&self) -> Value {
        let login = json!({"user": "alice", "password": {"env": PASSWORD.0}});
        json!({
            "services": {"order": {"order-0": "127.0.0.1:9"}},
            "kafka": {"main": {"bootstrap": [self.proxy.address()], "tls": null, "sasl": {"plain": login}}}
        })
    }

    fn playbook(&self) -> Value {
        json!({"retry_queues": [{"kafka": {
            "cluster": "main", "topic": NAME, "group": NAME, "reset": "earliest", "user": null, "clients": [NAME],
            "rate": 100.0, "within": 30_000
        }}]})
    }

    fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::none();
        secrets.insert(SecretRef::Env(PASSWORD.0.into()), SecretText::new(PASSWORD.1));
        secrets
    }

    fn variables(&self) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.part.file("bin");
        vec![
            (PASSWORD.0.to_owned(), PASSWORD.1.to_owned()),
            ("PATH".to_owned(), format!("{}:{path}", bin.display())),
        ]
    }

    fn patience(&self, luck: Luck) -> Patience {
        match luck {
            // Taking a right away by Kafka's own tool takes its time as well.
            Luck::Refuses => PATIENT,
            _ => PATIENCE,
        }
    }

    fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    fn cannot(&self, luck: Luck) -> Option<&'static str> {
        (luck == Luck::Topology).then_some("one broker")
    }

    fn makes(&self, change: &ChangeIntent) -> bool {
        matches!(change, ChangeIntent::Quota { .. })
    }

    async fn before(&self) {
        self.put(BEFORE).await;
        self.waits(0).await;
    }

    async fn sick(&self) {
        self.put(SICK).await;
        self.waits(WAITING).await;
    }

    async fn now(&self) -> Option<String> {
        let quota = quota(self.port, NAME).await?;
        let quota = quota.map_or("none".to_owned(), |bytes| bytes.to_string());
        if self.consumer.is_none() {
            return Some(quota);
        }
        let waits = ALL - committed(self.port, NAME).await? > MOVING;
        Some(format!("{quota}, waits {waits}"))
    }

    /// The drill's or the one of before; with a backlog what holds it and lets it go, never more than before.
    fn may_be(&self, seen: &str) -> bool {
        let quota = seen.split(',').next().unwrap_or_default();
        match (quota.parse::<f64>(), &self.consumer) {
            (Ok(bytes), None) => [BEFORE, SICK].contains(&bytes),
            (Ok(bytes), Some(_)) => bytes > 0.0 && bytes <= BEFORE,
            (Err(_), _) => false,
        }
    }

    async fn strike(&self, luck: Luck) {
        match luck {
            Luck::Refuses => {
                self.tool("acls", &format!("--remove --force {RIGHT}")).await;
                // The broker's own view of it follows a moment later.
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            Luck::Restarts => {
                self.part.does(&["kill"], &[]).await;
                self.part.does(&["up"], &[]).await;
            }
            _ => {}
        }
    }

    async fn relent(&self, luck: Luck) {
        if luck == Luck::Refuses {
            self.tool("acls", &format!("--add {RIGHT}")).await;
        }
    }
}

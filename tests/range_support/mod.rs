//! A running range and the questions that tests ask it.
#![allow(dead_code, reason = "each test file uses its own part")]

#[path = "../waiting/mod.rs"]
mod waiting;

use std::time::Duration;

use allclear::range::{Options, Ports, Range, Weakness};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use waiting::Patience;

pub struct Shop {
    pub range: Range,
    pub http: reqwest::Client,
}

pub fn client() -> reqwest::Client {
    // A second test in the same process finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .timeout(Duration::from_secs(10))
        .build()
        .expect("a client")
}

impl Shop {
    pub async fn open(weaknesses: &[Weakness]) -> Self {
        Self::with(Options {
            weaknesses: weaknesses.iter().copied().collect(),
            ..quiet()
        })
        .await
    }

    pub async fn with(options: Options) -> Self {
        Self {
            range: Range::start(options).await.expect("a range"),
            http: client(),
        }
    }

    pub fn url(&self, instance: &str, path: &str) -> String {
        let address = self
            .range
            .endpoints()
            .instance(instance)
            .expect("a known instance");
        format!("http://{address}{path}")
    }

    pub async fn get(&self, instance: &str, path: &str) -> (u16, Value) {
        answer(self.http.get(self.url(instance, path))).await
    }

    pub async fn put(&self, instance: &str, path: &str, body: Value) -> (u16, Value) {
        answer(self.http.put(self.url(instance, path)).json(&body)).await
    }

    pub async fn post(&self, instance: &str, path: &str, body: Value) -> (u16, Value) {
        answer(self.http.post(self.url(instance, path)).json(&body)).await
    }

    pub async fn delete(&self, instance: &str, path: &str) -> (u16, Value) {
        answer(self.http.delete(self.url(instance, path))).await
    }

    /// Puts a rule for marked calls on this instance.
    pub async fn fault(&self, instance: &str, point: &str, fault: Value, extra: Value) {
        let mut rule = json!({"run": "t1", "point": point, "fault": fault, "ttl_ms": 60_000,
            "header": {"x-drill": "coupon-slow"}, "instance": instance});
        for (key, value) in extra.as_object().expect("an object") {
            rule[key] = value.clone();
        }
        let id = point.replace('.', "-");
        let (status, said) = self.put(instance, &format!("/chaos/rules/{id}"), rule).await;
        assert_eq!(status, 201, "{said}");
    }

    pub async fn stop_faults(&self, instance: &str) {
        let (status, said) = self.delete(instance, "/chaos/rules?run=t1").await;
        assert_eq!(status, 200, "{said}");
    }

    pub async fn metrics(&self, instance: &str) -> String {
        let answer = self
            .http
            .get(self.url(instance, "/metrics"))
            .send()
            .await
            .expect("metrics");
        answer.text().await.expect("text")
    }

    /// Sum of the series of this name whose text holds every one of `labels`.
    pub async fn metric(&self, instance: &str, name: &str, labels: &[&str]) -> f64 {
        let text = self.metrics(instance).await;
        let series = |line: &&str| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))
                && labels.iter().all(|label| line.contains(label))
        };
        let values = text.lines().filter(series).map(|line| {
            let value = line.rsplit(' ').next().expect("a value");
            value.parse::<f64>().expect("a number")
        });
        values.sum()
    }

    pub async fn runtime(&self, commands: &str) -> String {
        let mut stream = tokio::net::TcpStream::connect(&self.range.endpoints().gateway_runtime)
            .await
            .expect("the runtime API");
        stream.write_all(commands.as_bytes()).await.expect("written");
        let mut said = String::new();
        let read = stream.read_to_string(&mut said);
        tokio::time::timeout(Duration::from_secs(5), read)
            .await
            .expect("closed in time")
            .expect("text");
        said
    }

    pub async fn status(&self) -> Value {
        self.get("gateway-0", "/range/status").await.1
    }
}

/// A range on free ports, with the mark that the tests' rules look for.
pub fn quiet() -> Options {
    Options {
        ports: Ports::Ephemeral,
        mark: "coupon-slow".into(),
        ..Options::default()
    }
}

pub async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
    let answer = request.send().await.expect("an answer");
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or(Value::Null))
}

/// Asks until it holds; fails after 20 s.
pub async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let patience = Patience::new(Duration::from_secs(20), Duration::from_millis(50));
    patience.until(what, async || holds().await).await;
}

//! A range in a process of its own, and what a drill may have left in it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep},
};

use crate::{proc, waiting::Patience};

pub const ALLCLEAR: &str = env!("CARGO_BIN_EXE_allclear");

/// What an accident has left.
const FLAG: &str = "degrade:order:accident";

/// Two ranges at once are enough for a small machine.
static ROOM: Semaphore = Semaphore::const_new(2);

/// A range whose breakers and flags stay as a drill leaves them: what recovery forgets is seen.
pub struct Shop {
    process: Child,
    endpoints: Value,
    http: reqwest::Client,
    folder: TempDir,
    _room: SemaphorePermit<'static>,
}

impl Shop {
    pub async fn open() -> Self {
        let room = ROOM.acquire().await.expect("never closed");
        let folder = tempfile::Builder::new()
            .prefix("ack")
            .tempdir_in("/tmp")
            .expect("a folder");
        let mut process = Command::new(ALLCLEAR)
            .args(["range", "up", "--free-ports", "--json"])
            .args(["--weakness", "flags-stay", "--weakness", "breaker-stays-open"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("a range");
        let said = process.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(said)
            .read_line(&mut line)
            .expect("the range's addresses");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let shop = Self {
            process,
            endpoints: serde_json::from_str(&line).expect("JSON"),
            http: reqwest::Client::builder()
                .timeout(Duration::from_secs(20))
                .build()
                .expect("a client"),
            folder,
            _room: room,
        };
        std::fs::write(shop.config(), shop.environment().to_string()).expect("a configuration");
        shop
    }

    /// The configuration that names this range.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("allclear.yaml")
    }

    fn environment(&self) -> Value {
        let mut services = json!({});
        for one in self.instances() {
            let text = |key: &str| one[key].as_str().expect("a text").to_owned();
            services[text("service")][text("instance")] = json!(text("address"));
        }
        json!({"default": "shop", "environments": {"shop": {
            "stage": "practice",
            "scrape": {"every": "50ms"},
            "services": services,
            "redis": {"main": {"address": self.redis()}},
            "gateways": {"lb": self.endpoints["gateway_runtime"]},
        }}})
    }

    /// An address of the range, by its name.
    pub fn endpoint(&self, name: &str) -> &str {
        self.endpoints[name].as_str().expect("a text")
    }

    /// What an accident leaves: a server drained, a flag that never expires. Of the flag the range's own status tells nothing.
    pub fn harm(&self) {
        let gateway = self.endpoint("gateway_runtime");
        say(gateway, "set server order/order-0 weight 10");
        say(gateway, "set server order/order-0 state drain");
        let set = say(self.redis(), &format!("SET {FLAG} 1"));
        assert_eq!(set, "+OK\r\n");
    }

    /// Whether the accident's flag is still there.
    pub fn has_flag(&self) -> bool {
        say(self.redis(), &format!("GET {FLAG}")) == "$1\r\n1\r\n"
    }

    fn redis(&self) -> &str {
        let redis = self.endpoint("redis").trim_start_matches("redis://");
        redis.trim_end_matches('/')
    }

    fn instances(&self) -> &Vec<Value> {
        self.endpoints["instances"].as_array().expect("a list")
    }

    async fn get(&self, url: String) -> Value {
        let answer = self.http.get(url).send().await.expect("an answer of the range");
        answer.json().await.expect("JSON")
    }

    /// Every rule on every instance, as each of them tells.
    pub async fn rules(&self) -> Vec<String> {
        let mut all = Vec::new();
        for one in self.instances() {
            let address = one["address"].as_str().expect("a text");
            let said = self.get(format!("http://{address}/chaos/rules")).await;
            let rules = said["rules"].as_array().expect("a list").clone();
            all.extend(
                rules
                    .into_iter()
                    .map(|r| format!("{} on {}", r["id"], one["instance"])),
            );
        }
        all
    }

    /// Everything that is not as in a fresh range: rules, flags, breakers, retry queue, weights and states.
    pub async fn left(&self) -> Vec<String> {
        let mut left = self.rules().await;
        let gateway = self.endpoints["gateway_http"].as_str().expect("a text");
        let status = self.get(format!("http://{gateway}/range/status")).await;
        if status["flags"] != json!(0) {
            left.push(format!("flags: {}", status["flags"]));
        }
        for (instance, breakers) in status["breakers"].as_object().expect("breakers") {
            for (name, state) in breakers.as_object().expect("breakers") {
                if state != "CLOSED" {
                    left.push(format!("breaker {name} on {instance}: {state}"));
                }
            }
        }
        let retry = &status["retry"];
        if retry["held"] != json!(false) || !retry["rate"].is_null() {
            left.push(format!("retry queue: {retry}"));
        }
        for (name, server) in status["servers"].as_object().expect("servers") {
            if server["weight"] != json!(100) || server["state"] != json!("ready") {
                left.push(format!("server {name}: {server}"));
            }
        }
        left
    }

    /// How long until no rule is on any instance; fails after `within`.
    pub async fn no_rules_within(&self, within: Duration, since: Instant) -> Duration {
        loop {
            let rules = self.rules().await;
            if rules.is_empty() {
                return since.elapsed();
            }
            assert!(
                since.elapsed() < within,
                "still there after {within:?}: {rules:?}"
            );
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the drill has done harm that does not end by itself: a flag stands, or a breaker is open.
    pub async fn is_harmed(&self) {
        until("the fault does harm", async || {
            self.left()
                .await
                .iter()
                .any(|l| l.starts_with("flags") || l.starts_with("breaker"))
        })
        .await;
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        proc::signal(self.process.id() as i32, Signal::KILL);
        let _ = self.process.wait();
    }
}

/// What somebody answers to a line.
fn say(address: &str, line: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    writeln!(stream, "{line}\r").expect("said");
    let mut answer = [0; 256];
    let n = stream.read(&mut answer).expect("an answer");
    String::from_utf8_lossy(&answer[..n]).into_owned()
}

/// Asks until it holds; fails after a minute.
pub async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let patience = Patience::new(Duration::from_secs(60), Duration::from_millis(10));
    patience.until(what, holds).await;
}

//! Real Redis servers for the tests, on loopback, gone when dropped: one, a master with a replica and a Sentinel, a cluster of
//! three masters; each in plain or with TLS.

mod cluster;
mod tls;
mod watched;

pub use cluster::{ClusterPart, cluster, cluster_over_tls};
pub use tls::tls_server;
pub use watched::{WatchedPart, watched, watched_over_tls};

use std::process::Command;

use redis::{FromRedisValue, Value, aio::MultiplexedConnection};
use tempfile::TempDir;

use crate::{
    drivers::testing::{Part, listens, nobody},
    model::environment::{Redis, RedisPlace},
};

/// A real Redis.
pub struct RedisPart {
    /// `127.0.0.1:port`.
    pub address: String,
    arguments: Vec<String>,
    part: Option<Part>,
}

/// A Redis with these options beside the usual ones.
pub async fn redis_server(more: &[&str]) -> RedisPart {
    at(nobody().await, tempfile::tempdir().unwrap(), more).await
}

async fn at(address: String, folder: TempDir, more: &[&str]) -> RedisPart {
    let port = address.rsplit_once(':').unwrap().1;
    let dir = folder.path().to_string_lossy().into_owned();
    let usual = [
        "--bind",
        "127.0.0.1",
        "--port",
        port,
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
        &dir,
    ];
    let arguments: Vec<String> = usual.iter().chain(more).map(|a| (*a).to_owned()).collect();
    let mut server = RedisPart {
        address,
        arguments,
        part: None,
    };
    server.start_in(folder).await;
    server
}

/// A client's answer from any of them.
pub async fn ask_at<T: FromRedisValue>(address: &str, words: &[&[u8]]) -> redis::RedisResult<T> {
    let mut connection = connected(address).await?;
    let mut command = redis::Cmd::new();
    for word in words {
        command.arg(*word);
    }
    command.query_async(&mut connection).await
}

/// A client's connection to any of them.
pub async fn connected(address: &str) -> redis::RedisResult<MultiplexedConnection> {
    let client = redis::Client::open(format!("redis://{address}/"))?;
    // One that loads slowly answers all the same, and so does one on a busy machine.
    let patient = Some(std::time::Duration::from_secs(10));
    let config = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(patient)
        .set_response_timeout(patient);
    client.get_multiplexed_async_connection_with_config(&config).await
}

/// How often the server there has answered with this error; also while it loads.
pub async fn errors_at(address: &str, code: &str) -> u64 {
    let info: String = ask_at(address, &[b"INFO", b"errorstats"]).await.unwrap();
    let line = format!("errorstat_{code}:count=");
    let count = info.lines().find_map(|found| found.strip_prefix(&line));
    count.map_or(0, |count| count.trim().parse().unwrap())
}

impl RedisPart {
    async fn start_in(&mut self, folder: TempDir) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        self.part = Some(Part::start("redis-server", &arguments, folder));
        listens(&self.address).await;
    }

    /// The port of its address.
    pub fn port(&self) -> &str {
        self.address.rsplit_once(':').unwrap().1
    }

    /// Stops it where it is, or lets it go on.
    pub fn sleeps(&self, asleep: bool) {
        self.part.as_ref().unwrap().sleeps(asleep);
    }

    /// Kills it at once; what is done once it is dead.
    pub fn kill(&mut self) -> TempDir {
        self.part.take().unwrap().kill()
    }

    /// Starts it again where it was, with the files that it had.
    pub async fn start_again(&mut self, folder: TempDir) {
        self.start_in(folder).await;
    }

    /// Waits until it has read its files.
    pub async fn has_loaded(&self) {
        while ask_at::<Value>(&self.address, &[b"PING"]).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    pub async fn ask(&self, words: &[&str]) -> Value {
        let words: Vec<&[u8]> = words.iter().map(|w| w.as_bytes()).collect();
        ask_at(&self.address, &words).await.unwrap()
    }

    pub async fn set(&self, keys: &[&str]) {
        for key in keys {
            self.ask(&["SET", key, "1"]).await;
        }
    }

    pub async fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = redis::from_redis_value(self.ask(&["KEYS", "*"]).await).unwrap();
        keys.sort();
        keys
    }

    /// How an environment names it.
    pub fn named(&self) -> Redis {
        named(RedisPlace::Address(self.address.clone()))
    }
}

/// A server without a login.
pub fn named(place: RedisPlace) -> Redis {
    Redis {
        place,
        user: None,
        password: None,
        db: 0,
        tls: None,
    }
}

/// Runs a tool to its end.
pub fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
    text
}

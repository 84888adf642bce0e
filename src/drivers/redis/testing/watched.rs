//! A master with a replica, and a Sentinel that watches them.

use std::fs;

use redis::Value;

use super::{
    RedisPart, named, redis_server,
    tls::{Certificates, port},
};
use crate::{
    drivers::testing::{nobody, until},
    model::environment::{Redis, RedisPlace, Sentinels},
};

/// A master, its replica, and a Sentinel that watches them.
pub struct WatchedPart {
    pub servers: [RedisPart; 2],
    pub sentinel: RedisPart,
    /// The master's port that the Sentinel knows.
    first: String,
    /// How the Sentinel is reached by others than the test.
    at: String,
    tls: Option<Certificates>,
}

pub async fn watched() -> WatchedPart {
    watching(None).await
}

/// The same, all of it by TLS and by host names.
pub async fn watched_over_tls() -> WatchedPart {
    watching(Some(Certificates::new())).await
}

const USUAL: [&str; 2] = ["--repl-diskless-sync-delay", "0"];
const BY_NAME: [&str; 2] = ["--replica-announce-ip", "localhost"];

async fn watching(tls: Option<Certificates>) -> WatchedPart {
    let own = [port().await, port().await, port().await];
    let secured = |port| {
        let options = tls.iter().map(move |tls| tls.options(port));
        options.flat_map(|options| options.into_iter().chain(BY_NAME))
    };
    let options: Vec<&str> = secured(&own[0]).chain(USUAL).collect();
    let master = redis_server(&options).await;
    let (host, first) = match tls {
        Some(_) => ("localhost", own[0].as_str()),
        None => ("127.0.0.1", master.port()),
    };
    let of = format!("{host} {first}");
    let options = secured(&own[1]).chain(USUAL).chain(["--replicaof", &of]);
    let replica = redis_server(&options.collect::<Vec<_>>()).await;
    until("the replica has caught up", async || {
        let Value::Array(role) = replica.ask(&["ROLE"]).await else {
            return false;
        };
        redis::from_redis_value::<String>(role[3].clone()).unwrap() == "connected"
    })
    .await;
    let sentinel = sentinel(&format!("{of} 1"), tls.as_ref().map(|tls| tls.options(&own[2]))).await;
    let part = WatchedPart {
        at: match tls {
            Some(_) => format!("localhost:{}", own[2]),
            None => sentinel.address.clone(),
        },
        first: first.to_owned(),
        servers: [master, replica],
        sentinel,
        tls,
    };
    until("the Sentinel knows the replica", async || {
        part.field("num-slaves").await.as_deref() == Some("1")
    })
    .await;
    part
}

async fn sentinel(master: &str, options: Option<[&str; 12]>) -> RedisPart {
    let address = nobody().await;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sentinel.conf");
    let port = address.rsplit_once(':').unwrap().1;
    let mut text = format!(
        "port {port}\nbind 127.0.0.1\nsentinel monitor shop {master}\n\
         sentinel down-after-milliseconds shop 500\nsentinel failover-timeout shop 3000\n"
    );
    if let Some(options) = options {
        for option in options.chunks(2) {
            text += &format!("{}\n", option.join(" ").trim_start_matches('-'));
        }
        text += "sentinel resolve-hostnames yes\nsentinel announce-hostnames yes\n";
    }
    fs::write(&config, text).unwrap();
    let arguments = vec![config.to_string_lossy().into_owned(), "--sentinel".to_owned()];
    let mut sentinel = RedisPart {
        address,
        arguments,
        part: None,
    };
    sentinel.start_in(folder).await;
    sentinel
}

impl WatchedPart {
    async fn field(&self, name: &str) -> Option<String> {
        let answer = self.sentinel.ask(&["SENTINEL", "MASTER", "shop"]).await;
        let fields: std::collections::BTreeMap<String, String> = redis::from_redis_value(answer).ok()?;
        fields.get(name).cloned()
    }

    /// Which of the servers the Sentinel names.
    pub async fn master(&self) -> usize {
        usize::from(self.field("port").await.unwrap() != self.first)
    }

    /// How an environment names it.
    pub fn named(&self) -> Redis {
        let mut redis = named(RedisPlace::Sentinel(Sentinels {
            master: "shop".into(),
            addresses: vec![self.at.clone()],
            user: None,
            password: None,
        }));
        redis.tls = self.tls.as_ref().map(|tls| tls.named("ca.pem", true));
        redis
    }
}

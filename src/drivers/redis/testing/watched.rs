//! A master with a replica, and a Sentinel that watches them.

use std::fs;

use redis::Value;

use super::{RedisPart, named, redis_server};
use crate::{
    drivers::testing::{nobody, until},
    model::environment::{Redis, RedisPlace, Sentinels},
};

/// A master, its replica, and a Sentinel that watches them.
pub struct WatchedPart {
    pub servers: [RedisPart; 2],
    pub sentinel: RedisPart,
}

pub async fn watched() -> WatchedPart {
    let master = redis_server(&["--repl-diskless-sync-delay", "0"]).await;
    let (host, port) = master.address.rsplit_once(':').unwrap();
    let replica = redis_server(&[
        "--replicaof",
        &format!("{host} {port}"),
        "--repl-diskless-sync-delay",
        "0",
    ])
    .await;
    until("the replica has caught up", async || {
        let Value::Array(role) = replica.ask(&["ROLE"]).await else {
            return false;
        };
        redis::from_redis_value::<String>(role[3].clone()).unwrap() == "connected"
    })
    .await;
    let address = nobody().await;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sentinel.conf");
    let own = address.rsplit_once(':').unwrap().1;
    let text = format!(
        "port {own}\nbind 127.0.0.1\nsentinel monitor shop {host} {port} 1\n\
         sentinel down-after-milliseconds shop 500\nsentinel failover-timeout shop 3000\n"
    );
    fs::write(&config, text).unwrap();
    let arguments = vec![config.to_string_lossy().into_owned(), "--sentinel".to_owned()];
    let mut sentinel = RedisPart {
        address,
        arguments,
        part: None,
    };
    sentinel.start_in(folder).await;
    let part = WatchedPart {
        servers: [master, replica],
        sentinel,
    };
    until("the Sentinel knows the replica", async || {
        part.field("num-slaves").await.as_deref() == Some("1")
    })
    .await;
    part
}

impl WatchedPart {
    async fn field(&self, name: &str) -> Option<String> {
        let answer = self.sentinel.ask(&["SENTINEL", "MASTER", "shop"]).await;
        let fields: std::collections::BTreeMap<String, String> = redis::from_redis_value(answer).ok()?;
        fields.get(name).cloned()
    }

    /// Which of the servers the Sentinel names.
    pub async fn master(&self) -> usize {
        let port = self.field("port").await.unwrap();
        usize::from(!self.servers[0].address.ends_with(&format!(":{port}")))
    }

    /// How an environment names it.
    pub fn named(&self) -> Redis {
        named(RedisPlace::Sentinel(Sentinels {
            master: "shop".into(),
            addresses: vec![self.sentinel.address.clone()],
            user: None,
            password: None,
        }))
    }
}

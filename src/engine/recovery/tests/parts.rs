//! Real servers for the tests: redis-server and haproxy, on loopback, gone when dropped.

use crate::drivers::testing::{Part, listens, nobody};

pub use crate::drivers::redis::testing::{RedisPart, redis_server};

/// A real HAProxy with backend `order`: order-0 to order-2, weight 100 each, and order-9 of weight 1.
pub struct HaproxyPart {
    /// The runtime API over TCP, all rights.
    pub admin: String,
    /// The runtime API over a unix socket, all rights.
    pub unix: String,
    /// The runtime API over a unix socket, no right to change anything.
    pub operator: String,
    _part: Part,
}

pub async fn haproxy() -> HaproxyPart {
    let (admin, front) = (nobody().await, nobody().await);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (unix, operator, config) = (path("admin.sock"), path("operator.sock"), path("haproxy.cfg"));
    let servers: String = [
        ("order-0", 100),
        ("order-1", 100),
        ("order-2", 100),
        ("order-9", 1),
    ]
    .iter()
    .map(|(name, weight)| format!("  server {name} 127.0.0.1:9 weight {weight}\n"))
    .collect();
    let text = format!(
        "global\n  stats socket ipv4@{admin} level admin\n  stats socket {unix} level admin\n  \
         stats socket {operator} level operator\ndefaults\n  mode http\n  timeout connect 1s\n  timeout client 5s\n  \
         timeout server 5s\nfrontend f\n  bind {front}\n  default_backend order\nbackend order\n{servers}"
    );
    std::fs::write(&config, text).unwrap();
    let part = Part::start("haproxy", &["-db", "-f", &config], folder);
    listens(&admin).await;
    HaproxyPart {
        admin,
        unix,
        operator,
        _part: part,
    }
}

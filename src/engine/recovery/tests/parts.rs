//! Real servers for the tests: redis-server and haproxy, on loopback, gone when dropped.

use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;
use tokio::{net::TcpStream, time::timeout};

use super::stand::nobody;

/// A child process that dies with its test.
pub struct Part {
    child: Child,
    _folder: TempDir,
}

impl Drop for Part {
    fn drop(&mut self) {
        // Already ended is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(program: &str, arguments: &[&str], folder: TempDir) -> Part {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|e| {
            panic!("{program}: {e}; the tests need it: apt-get install -y redis-server haproxy")
        });
    Part {
        child,
        _folder: folder,
    }
}

async fn listens(address: &str) {
    let up = async {
        while TcpStream::connect(address).await.is_err() {
            tokio::task::yield_now().await
        }
    };
    timeout(Duration::from_secs(20), up)
        .await
        .unwrap_or_else(|_| panic!("nothing listens at {address}"));
}

/// A real Redis.
pub struct RedisPart {
    pub address: String,
    _part: Part,
}

pub async fn redis_server(more: &[&str]) -> RedisPart {
    let address = nobody().await;
    let folder = tempfile::tempdir().unwrap();
    let port = address.rsplit_once(':').unwrap().1;
    let dir = folder.path().to_string_lossy().into_owned();
    let mut arguments = vec![
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
    arguments.extend(more);
    let part = spawn("redis-server", &arguments, folder);
    listens(&address).await;
    RedisPart { address, _part: part }
}

impl RedisPart {
    pub async fn ask(&self, words: &[&str]) -> redis::Value {
        let client = redis::Client::open(format!("redis://{}/", self.address)).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let (command, rest) = words.split_first().unwrap();
        let mut command = redis::cmd(command);
        for word in rest {
            command.arg(*word);
        }
        command.query_async(&mut connection).await.unwrap()
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
}

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
    let part = spawn("haproxy", &["-db", "-f", &config], folder);
    listens(&admin).await;
    HaproxyPart {
        admin,
        unix,
        operator,
        _part: part,
    }
}

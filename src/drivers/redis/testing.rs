//! Real Redis servers for the tests, on loopback, gone when dropped: one, one with TLS, a master with a replica and a
//! Sentinel, a cluster of three masters.

use std::{fs, path::Path, process::Command};

use redis::{FromRedisValue, Value};
use tempfile::TempDir;

use crate::{
    drivers::testing::{Part, listens, nobody, until},
    model::environment::{ClientCert, Redis, RedisCluster, RedisPlace, Sentinels, Tls},
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

/// A client's connection to any of them.
pub async fn ask_at<T: FromRedisValue>(address: &str, words: &[&[u8]]) -> redis::RedisResult<T> {
    let client = redis::Client::open(format!("redis://{address}/"))?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let mut command = redis::Cmd::new();
    for word in words {
        command.arg(*word);
    }
    command.query_async(&mut connection).await
}

impl RedisPart {
    async fn start_in(&mut self, folder: TempDir) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        self.part = Some(Part::start("redis-server", &arguments, folder));
        listens(&self.address).await;
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

/// A cluster of three masters.
pub struct ClusterPart {
    pub nodes: Vec<RedisPart>,
}

pub async fn cluster() -> ClusterPart {
    let mut nodes = Vec::new();
    for _ in 0..3 {
        // The bus may need a free port of its own: the usual one is ten thousand above.
        let bus = nobody().await;
        let bus = bus.rsplit_once(':').unwrap().1;
        let options = [
            "--cluster-enabled",
            "yes",
            "--cluster-port",
            bus,
            "--cluster-node-timeout",
            "2000",
        ];
        nodes.push(redis_server(&options).await);
    }
    let part = ClusterPart { nodes };
    let mut slots = [(0, 5460), (5461, 10922), (10923, 16383)].into_iter();
    for (epoch, node) in part.nodes.iter().enumerate() {
        let (first, last) = slots.next().unwrap();
        node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(epoch + 1).to_string()])
            .await;
        node.ask(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()])
            .await;
    }
    for node in &part.nodes[1..] {
        let (host, port) = node.address.rsplit_once(':').unwrap();
        let bus = &node.arguments[node.arguments.iter().position(|a| a == "--cluster-port").unwrap() + 1];
        part.nodes[0].ask(&["CLUSTER", "MEET", host, port, bus]).await;
    }
    part.is_whole().await;
    part
}

impl ClusterPart {
    /// Waits until all nodes agree.
    pub async fn is_whole(&self) {
        until("the cluster is whole", async || {
            for node in &self.nodes {
                let info: String = redis::from_redis_value(node.ask(&["CLUSTER", "INFO"]).await).unwrap();
                let view: String = redis::from_redis_value(node.ask(&["CLUSTER", "NODES"]).await).unwrap();
                if !info.contains("cluster_state:ok") || view.matches("connected ").count() < 3 {
                    return false;
                }
            }
            true
        })
        .await;
    }

    /// How an environment names it: by two of its nodes.
    pub fn named(&self) -> Redis {
        let addresses = self.nodes[1..].iter().map(|n| n.address.clone()).collect();
        named(RedisPlace::Cluster(RedisCluster { addresses }))
    }

    /// Writes keys, each where it belongs.
    pub fn set(&self, keys: &[&str]) {
        let lines: String = keys.iter().map(|key| format!("SET {key} 1\n")).collect();
        let file = self.nodes[0].part.as_ref().unwrap().folder().join("lines");
        fs::write(&file, lines).unwrap();
        let port = self.nodes[0].address.rsplit_once(':').unwrap().1;
        let said = tool(
            "sh",
            &["-c", &format!("redis-cli -c -p {port} < {}", file.display())],
        );
        assert_eq!(said.matches("OK").count(), keys.len(), "{said}");
    }

    /// All keys of all nodes.
    pub async fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for node in &self.nodes {
            keys.extend(node.keys().await);
        }
        keys.sort();
        keys.dedup();
        keys
    }

    pub async fn id(&self, node: usize) -> String {
        redis::from_redis_value(self.nodes[node].ask(&["CLUSTER", "MYID"]).await).unwrap()
    }

    /// Opens the slot of a key for a move between two nodes.
    pub async fn begin_move(&self, slot: u16, from: usize, to: usize) {
        let (slot, ids) = (slot.to_string(), [self.id(from).await, self.id(to).await]);
        self.nodes[to]
            .ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &ids[0]])
            .await;
        self.nodes[from]
            .ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &ids[1]])
            .await;
    }

    /// Moves a key while its slot is open.
    pub async fn move_key(&self, key: &str, from: usize, to: usize) {
        let (host, port) = self.nodes[to].address.rsplit_once(':').unwrap();
        self.nodes[from]
            .ask(&["MIGRATE", host, port, key, "0", "1000"])
            .await;
    }

    /// Ends a move.
    pub async fn end_move(&self, slot: u16, to: usize) {
        let (slot, id) = (slot.to_string(), self.id(to).await);
        self.nodes[to]
            .ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &id])
            .await;
        for node in &self.nodes {
            node.ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &id]).await;
        }
    }
}

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

/// A Redis that talks to clients with a certificate only; by another port, in plain, to the test.
pub struct TlsPart {
    pub plain: RedisPart,
    /// `localhost:port`.
    pub address: String,
}

pub async fn tls_server() -> TlsPart {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (ca, cert, key) = (file("ca.pem"), file("server.pem"), file("server.key"));
    let address = nobody().await;
    let port = address.rsplit_once(':').unwrap().1;
    let options = [
        "--tls-port",
        port,
        "--tls-ca-cert-file",
        &ca,
        "--tls-cert-file",
        &cert,
        "--tls-key-file",
        &key,
        "--tls-auth-clients",
        "yes",
    ];
    let plain = at(nobody().await, folder, &options).await;
    TlsPart {
        plain,
        address: format!("localhost:{port}"),
    }
}

impl TlsPart {
    pub fn file(&self, name: &str) -> String {
        let folder = self.plain.part.as_ref().unwrap().folder();
        folder.join(name).to_string_lossy().into_owned()
    }

    /// How an environment names it.
    pub fn named(&self, ca: &str, client: bool) -> Redis {
        let mut redis = named(RedisPlace::Address(self.address.clone()));
        redis.tls = Some(Tls {
            ca_file: Some(self.file(ca)),
            client_cert: client.then(|| ClientCert {
                cert_file: self.file("client.pem"),
                key_file: self.file("client.key"),
            }),
        });
        redis
    }
}

/// Two authorities; a server's and a client's certificate of the first.
fn certificates(folder: &Path) {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
    let write = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    let named = |name: &str| {
        let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params
    };
    let authority = |name: &str| {
        let mut params = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        write(&format!("{name}.pem"), issuer.pem());
        issuer
    };
    let ours = authority("ca");
    authority("other");
    for name in ["server", "client"] {
        let key = KeyPair::generate().unwrap();
        write(
            &format!("{name}.pem"),
            named(name).signed_by(&key, &ours).unwrap().pem(),
        );
        write(&format!("{name}.key"), key.serialize_pem());
    }
}

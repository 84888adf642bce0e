//! 100,000 degrade flags among 1,000,000 keys of a real Redis, and of a cluster of three: found and removed by our
//! driver, and by what a person would type. The bound: no slower than
//! `redis-cli --scan --pattern … | xargs redis-cli unlink`; where it is missed, the bench fails once all figures are
//! printed. Needs `redis-server` and `redis-cli`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{
    net::TcpListener,
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use allclear::{
    drivers::redis::{Found, Glob, RedisServer},
    model::{
        environment::{Redis, RedisCluster, RedisPlace},
        ids::ServerName,
        secret::Secrets,
        time::Span,
    },
};
use tokio::time::{Instant, sleep};

const FLAGS: usize = 100_000;
const OTHERS: usize = 900_000;
const PATTERN: &str = "degrade:order:*";
const ROUNDS: usize = 5;

/// A Redis of our own; gone when dropped.
struct Server {
    process: Child,
    port: u16,
    _dir: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    async fn start(more: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        // The bus of a cluster listens ten thousand above.
        let port = (20_000..30_000)
            .find(|port| {
                [*port, port + 10_000]
                    .iter()
                    .all(|p| TcpListener::bind(("127.0.0.1", *p)).is_ok())
            })
            .expect("a free port");
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"])
            .args(["--bind", "127.0.0.1", "--enable-debug-command", "yes", "--dir"])
            .arg(dir.path())
            .args(more)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let server = Self {
            process,
            port,
            _dir: dir,
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        while server.cli(&["PING"]) != "PONG" {
            assert!(Instant::now() < deadline, "redis-server does not answer");
            sleep(Duration::from_millis(50)).await;
        }
        server
    }

    fn cli(&self, command: &[&str]) -> String {
        let output = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(command)
            .output()
            .expect("redis-cli is installed");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn fill(&self) {
        for (count, prefix) in [(OTHERS, "session"), (FLAGS, "degrade:order")] {
            let said = self.cli(&["DEBUG", "POPULATE", &count.to_string(), prefix, "8"]);
            assert_eq!(said, "OK");
        }
        assert_eq!(self.cli(&["DBSIZE"]), (FLAGS + OTHERS).to_string());
    }

    fn others_stand(&self) {
        assert_eq!(self.cli(&["DBSIZE"]), OTHERS.to_string());
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

fn driver(place: RedisPlace) -> RedisServer {
    let redis = Redis {
        place,
        user: None,
        password: None,
        db: 0,
        tls: None,
    };
    let limits = [Span::seconds(2), Span::seconds(5), Span::seconds(20)];
    let name = ServerName::new("main").expect("a name");
    RedisServer::new(&name, &redis, &Secrets::none(), limits).expect("a client")
}

/// A cluster of three masters.
struct Cluster([Server; 3]);

impl Cluster {
    async fn start() -> Self {
        let options = ["--cluster-enabled", "yes"];
        let nodes = [
            Server::start(&options).await,
            Server::start(&options).await,
            Server::start(&options).await,
        ];
        let addresses = nodes.each_ref().map(Server::address);
        let made = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(&addresses)
            .args(["--cluster-replicas", "0", "--cluster-yes"])
            .output()
            .expect("redis-cli is installed");
        assert!(made.status.success(), "{made:?}");
        let deadline = Instant::now() + Duration::from_secs(30);
        while !nodes
            .iter()
            .all(|n| n.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok"))
        {
            assert!(Instant::now() < deadline, "the cluster is not whole");
            sleep(Duration::from_millis(50)).await;
        }
        Self(nodes)
    }

    /// A third of all keys on each node, in one of its slots.
    fn fill(&self) {
        let script = "for i = 1, ARGV[1] do redis.call('SET', KEYS[1] .. i, 'x') end return 1";
        for node in &self.0 {
            let own = |tag: &usize| node.cli(&["EXISTS", &format!("{{{tag}}}")]) == "0";
            let tag = (0..).find(own).expect("each node has slots");
            for (count, prefix) in [(OTHERS / 3, "session"), (FLAGS / 3, "degrade:order")] {
                let key = format!("{prefix}:{{{tag}}}:");
                node.cli(&["EVAL", script, "1", &key, &count.to_string()]);
            }
        }
    }
}

struct Ours {
    found: Duration,
    removed: Duration,
    read_back: Duration,
}

async fn ours(driver: &RedisServer, flags: usize) -> Ours {
    let glob = Glob::new(PATTERN).expect("narrow enough");
    let start = Instant::now();
    let all = async || {
        driver
            .matching(&glob, FLAGS as u32)
            .await
            .and_then(Found::all)
            .expect("a scan")
    };
    let keys = all().await;
    let found = start.elapsed();
    let count = 0.into();
    driver.remove(&keys, &count).await.expect("unlinked");
    let removed = start.elapsed();
    assert_eq!(count.into_inner() as usize, flags);
    assert!(all().await.is_empty());
    Ours {
        found,
        removed,
        read_back: start.elapsed(),
    }
}

fn by_hand(server: &Server) -> Duration {
    let port = server.port;
    let line = format!("redis-cli -p {port} --scan --pattern '{PATTERN}' | xargs redis-cli -p {port} unlink");
    let start = Instant::now();
    let done = Command::new("sh").args(["-c", &line]).output().expect("a shell");
    let took = start.elapsed();
    assert!(done.status.success());
    took
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let server = Server::start(&[]).await;
    let single = driver(RedisPlace::Address(server.address()));
    let (mut all, mut hands) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        server.fill();
        all.push(ours(&single, FLAGS).await);
        server.others_stand();
        server.fill();
        hands.push(by_hand(&server));
        server.others_stand();
    }
    let of = |part: fn(&Ours) -> Duration| median(all.iter().map(part).collect());
    let (ours, hand) = (of(|o| o.removed), median(hands));
    println!("{FLAGS} flags among {} keys, median of {ROUNDS}", FLAGS + OTHERS);
    println!("  found                       {:.2?}", of(|o| o.found));
    println!("  found and unlinked          {ours:.2?}");
    println!("  and read back as gone       {:.2?}", of(|o| o.read_back));
    println!("  redis-cli --scan | unlink   {hand:.2?}");
    let met = ours <= hand;
    println!("  bound, no slower: {}", if met { "met" } else { "MISSED" });
    drop(server);
    in_a_cluster().await;
    match met {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

async fn in_a_cluster() {
    let cluster = Cluster::start().await;
    let addresses = vec![cluster.0[0].address()];
    let sharded = driver(RedisPlace::Cluster(RedisCluster { addresses }));
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        cluster.fill();
        all.push(ours(&sharded, FLAGS / 3 * 3).await);
    }
    let of = |part: fn(&Ours) -> Duration| median(all.iter().map(part).collect());
    println!("the same in a cluster of three masters");
    println!("  found and unlinked          {:.2?}", of(|o| o.removed));
    println!("  and read back as gone       {:.2?}", of(|o| o.read_back));
}

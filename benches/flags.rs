//! 100,000 degrade flags among 1,000,000 keys of a real Redis: found and removed by our driver, and by what a person
//! would type. The bound: no slower than `redis-cli --scan --pattern … | xargs redis-cli unlink`. Needs `redis-server`
//! and `redis-cli`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::Duration,
};

use allclear::{
    drivers::redis::{Glob, RedisServer},
    model::{
        environment::{Redis, RedisPlace},
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
    async fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|l| l.local_addr())
            .expect("a free port")
            .port();
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"])
            .args(["--bind", "127.0.0.1", "--enable-debug-command", "yes", "--dir"])
            .arg(dir.path())
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

    fn driver(&self) -> RedisServer {
        let place = Redis {
            address: format!("127.0.0.1:{}", self.port),
            user: None,
            password: None,
            db: 0,
        };
        let limits = [Span::seconds(2), Span::seconds(5), Span::seconds(20)];
        let name = ServerName::new("main").expect("a name");
        RedisServer::new(&name, &place, &Secrets::none(), limits).expect("a client")
    }
}

struct Ours {
    found: Duration,
    removed: Duration,
    read_back: Duration,
}

async fn ours(server: &Server) -> Ours {
    let (driver, glob) = (server.driver(), Glob::new(PATTERN).expect("narrow enough"));
    let start = Instant::now();
    let keys = driver.matching(&glob, FLAGS as u32).await.expect("a scan");
    let found = start.elapsed();
    let count = driver.remove(&keys).await.expect("unlinked");
    let removed = start.elapsed();
    assert_eq!(count as usize, FLAGS);
    let left = driver.matching(&glob, FLAGS as u32).await.expect("a scan");
    assert!(left.is_empty());
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
async fn main() {
    let server = Server::start().await;
    let (mut all, mut hands) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        server.fill();
        all.push(ours(&server).await);
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
    println!(
        "  bound, no slower: {}",
        if ours <= hand { "met" } else { "MISSED" }
    );
}

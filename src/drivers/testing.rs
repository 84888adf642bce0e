//! What the tests of drivers and recovery share: a plan whose targets are the instances of `order`, and the start of
//! real parts.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};

pub use crate::model::testing::{environment, nothing_to_do};
use crate::model::{
    drill::{Drill, Targets},
    environment::Environment,
    ids::ServiceName,
    plan::Plan,
    playbook::Playbook,
    testing::{self, drill},
    time::Span,
};

/// A plan with no steps: targets are the instances of `order`.
pub fn plan(environment: Environment, recovery: Playbook) -> Plan {
    let service = ServiceName::new("order").unwrap();
    let instances = environment.services.get(&service);
    let drill = Drill {
        baseline: Span::seconds(1),
        targets: Targets {
            instances: instances.map(|s| s.keys().cloned().collect()).unwrap_or_default(),
            service,
        },
        recovery,
        ..drill(Vec::new())
    };
    testing::plan(drill, environment)
}

/// A child process that dies with its test, and its folder.
pub struct Part {
    /// The process; a test may put another one in its place.
    pub child: Child,
    folder: TempDir,
}

impl Part {
    /// Starts a program with what it needs in its folder.
    pub fn start(program: &str, arguments: &[&str], folder: TempDir) -> Self {
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| {
                panic!("{program}: {e}; the tests need it: apt-get install -y redis-server haproxy")
            });
        Part { child, folder }
    }

    /// Where it keeps its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Stops it where it is, or lets it go on: it answers nobody meanwhile.
    pub fn sleeps(&self, asleep: bool) {
        use rustix::process::{Pid, Signal, kill_process};
        let signal = if asleep { Signal::STOP } else { Signal::CONT };
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills it at once; its folder is there for the next one.
    pub fn kill(mut self) -> TempDir {
        self.end();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }

    fn end(&mut self) {
        // Already ended is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits until somebody listens there.
pub async fn listens(address: &str) {
    let up = async {
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), up)
        .await
        .unwrap_or_else(|_| panic!("nothing listens at {address}"));
}

/// An address where nobody listens, and that is given to no other test: below the ports that the system gives to
/// connections, each once, and from another place on in each process.
pub async fn nobody() -> String {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let (lowest, count) = (10_000, 22_000);
    loop {
        let next = std::process::id() * 97 + GIVEN.fetch_add(1, Relaxed);
        let address = format!("127.0.0.1:{}", lowest + next % count);
        if TcpListener::bind(&address).await.is_ok() {
            return address;
        }
    }
}

/// Waits until it is so.
pub async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(30), waiting)
        .await
        .unwrap_or_else(|_| panic!("never: {what}"));
}

//! What the tests of drivers and recovery share: a plan whose targets are the instances of `order`, and the start of
//! real parts.

use std::{
    os::unix::process::ExitStatusExt,
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
        let child = mortal(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("{program}: {e}"));
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

/// A program that the system kills once the thread that started it is gone, and so with a test that was killed itself. Where there
/// is no `setpriv` (util-linux), it only ends as a test ends it.
fn mortal(program: &str) -> Command {
    assert!(
        is_installed(program),
        "{program} is not installed; the tests need it: apt-get install -y redis-server haproxy"
    );
    if !is_installed("setpriv") {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", program]);
    command
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
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

#[tokio::test]
async fn a_part_ends_with_the_thread_that_started_it() {
    // A process that is killed is threads that end, without a word to anybody.
    let started = std::thread::spawn(|| {
        let part = Part::start("sleep", &["600"], tempfile::tempdir().unwrap());
        let runs = format!("/proc/{}/comm", part.child.id());
        while std::fs::read_to_string(&runs).unwrap().trim() != "sleep" {
            std::thread::yield_now();
        }
        part
    });
    let mut part = started.join().unwrap();
    let mut ended = None;
    until("it has ended", async || {
        ended = part.child.try_wait().unwrap();
        ended.is_some()
    })
    .await;
    assert_eq!(ended.unwrap().signal(), Some(9));
}

//! A short run on a range: its processes, its journal, its end.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{
    place::Place,
    proc::{self, Process},
    shop::{Shop, until},
};

/// A run that was started here.
pub struct Run {
    pub place: Place,
    console: Option<Child>,
    /// Where its files are seen: the root of this process, for a run in a mount namespace.
    through: Option<u32>,
}

impl Run {
    /// Starts `run --plain` and waits for the run's keeper.
    pub async fn start(shop: &Shop, fault: &str) -> Self {
        let place = Place::new();
        let drill = place.drill(fault);
        let mut command = place.allclear(shop, &["run", "--plain", drill.to_str().expect("a path")]);
        Self::with(place, &mut command).await
    }

    /// Starts it with this command.
    pub async fn with(place: Place, command: &mut Command) -> Self {
        let console = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let run = Self {
            place,
            console: Some(console.expect("a console")),
            through: None,
        };
        until("the keeper is there", async || run.keeper().is_some()).await;
        run
    }

    /// A run whose console someone else has.
    pub async fn of(place: Place) -> Self {
        let run = Self {
            place,
            console: None,
            through: None,
        };
        until("the keeper is there", async || run.keeper().is_some()).await;
        run
    }

    /// A run inside the mount namespace of `inside`, which lives until its input ends.
    pub async fn inside(place: Place, inside: Child) -> Self {
        let run = Self {
            place,
            through: Some(inside.id()),
            console: Some(inside),
        };
        until("the keeper is there", async || run.keeper().is_some()).await;
        run
    }

    /// The state directory, as it is seen from here.
    pub fn state(&self) -> PathBuf {
        let state = self.place.state();
        match self.through {
            Some(pid) => {
                Path::new(&format!("/proc/{pid}/root")).join(state.strip_prefix("/").expect("absolute"))
            }
            None => state,
        }
    }

    /// The run's directory.
    pub fn dir(&self) -> Option<PathBuf> {
        let mut entries = fs::read_dir(self.state().join("runs")).ok()?.flatten();
        entries.next().map(|e| e.path())
    }

    /// The run's id.
    pub fn id(&self) -> String {
        let dir = self.dir().expect("a run");
        dir.file_name().expect("a name").to_string_lossy().into_owned()
    }

    pub fn processes(&self) -> Vec<Process> {
        proc::under(&self.place.state())
    }

    /// Who has signed the run's lock, and lives.
    pub fn keeper(&self) -> Option<i32> {
        let text = fs::read_to_string(self.dir()?.join("keeper.lock")).ok()?;
        let pid = text.split_whitespace().nth(1)?.parse().ok()?;
        self.processes().iter().any(|p| p.pid == pid).then_some(pid)
    }

    /// The process that watches the keeper.
    pub fn deadman(&self) -> Option<i32> {
        let keeper = self.keeper()?;
        let mut others = self
            .processes()
            .into_iter()
            .filter(|p| p.pid != keeper && p.role == "deadman");
        others.next().map(|p| p.pid)
    }

    /// The journal's whole lines.
    pub fn journal(&self) -> Vec<Value> {
        let path = self.dir().map(|d| d.join("journal.jsonl"));
        let text = path.and_then(|p| fs::read(p).ok()).unwrap_or_default();
        let whole = text.iter().rposition(|b| *b == b'\n').unwrap_or(0);
        let lines = text[..whole].split(|b| *b == b'\n');
        lines
            .filter_map(|l| serde_json::from_slice(l.get(9..)?).ok())
            .collect()
    }

    /// How many records the journal has: as cheap as can be, it is asked each millisecond.
    pub fn records(&self) -> usize {
        let path = self.dir().map(|d| d.join("journal.jsonl"));
        let bytes = path.and_then(|p| fs::read(p).ok()).unwrap_or_default();
        bytes.iter().filter(|b| **b == b'\n').count()
    }

    /// Whether a record of this kind is there.
    pub fn has(&self, kind: &str) -> bool {
        self.journal().iter().any(|e| !e["body"][kind].is_null())
    }

    /// How many records of this kind there are.
    pub fn count(&self, kind: &str) -> usize {
        self.journal()
            .iter()
            .filter(|e| !e["body"][kind].is_null())
            .count()
    }

    pub async fn until_has(&self, kind: &str) {
        until(kind, async || self.has(kind)).await;
    }

    pub fn outcome(&self) -> Option<Value> {
        self.journal()
            .into_iter()
            .map(|mut e| e["body"]["closed"].take())
            .find(|c| !c.is_null())
    }

    /// Waits for `record` records; false if the run was over before.
    pub async fn reaches(&self, record: usize) -> bool {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if self.records() >= record {
                return true;
            }
            if self.outcome().is_some() && self.records() < record {
                return false;
            }
            assert!(Instant::now() < deadline, "record {record} never came");
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Kills the console, as a crash or a closed machine would.
    pub fn kill_console(&mut self) {
        if let Some(mut console) = self.console.take() {
            proc::signal(console.id() as i32, Signal::KILL);
            let _ = console.wait();
        }
    }

    /// Waits for the console's own end, and gives its exit code.
    pub async fn console_code(&mut self) -> Option<i32> {
        let mut console = self.console.take()?;
        let deadline = Instant::now() + Duration::from_secs(90);
        while Instant::now() < deadline {
            if let Some(status) = console.try_wait().expect("a child") {
                return status.code();
            }
            sleep(Duration::from_millis(20)).await;
        }
        let _ = console.kill();
        let _ = console.wait();
        panic!("the console never ended");
    }

    /// Waits until the journal is closed and every process is gone, and gives the outcome.
    pub async fn ends(&self) -> Value {
        let deadline = Instant::now() + Duration::from_secs(120);
        while self.outcome().is_none() {
            assert!(
                Instant::now() < deadline,
                "never closed; {:?}; journal: {:#?}; log: {}",
                self.processes(),
                self.journal()
                    .iter()
                    .map(|e| e["body"].to_string())
                    .collect::<Vec<_>>(),
                fs::read_to_string(self.dir().expect("a run").join("keeper.log")).unwrap_or_default()
            );
            sleep(Duration::from_millis(10)).await;
        }
        until("every process of the run is gone", async || {
            self.processes().is_empty()
        })
        .await;
        self.outcome().expect("seen above")
    }

    /// Fails if anything is left of a run that is over, in the shop or on the machine.
    pub async fn assert_nothing_left(&self, shop: &Shop, when: &str) {
        let outcome = self.outcome().expect("closed");
        let told = self
            .journal()
            .into_iter()
            .rfind(|e| !e["body"]["may_remain"].is_null());
        assert_eq!(outcome["recovered"], "RECOVERED", "{when}: {outcome}; {told:?}");
        let left = shop.left().await;
        assert!(left.is_empty(), "{when}: {left:?}");
        let sockets = self.place.sockets();
        assert!(sockets.is_empty(), "{when}: {sockets:?}");
        let dir = self.dir().expect("a run");
        assert!(
            !dir.join("secrets.json").exists(),
            "{when}: the secrets are still there"
        );
        assert!(is_wiped(&self.state()), "{when}: the environment is still signed");
    }
}

/// Whether no run has its name on an environment any more.
fn is_wiped(state: &Path) -> bool {
    let locks = fs::read_dir(state.join("environments"))
        .into_iter()
        .flatten()
        .flatten();
    locks
        .map(|e| fs::read(e.path()).unwrap_or_default())
        .all(|text| text.is_empty())
}

impl Drop for Run {
    fn drop(&mut self) {
        self.kill_console();
        for process in self.processes() {
            proc::signal(process.pid, Signal::KILL);
        }
    }
}

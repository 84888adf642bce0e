//! A part on ports and in a folder of its own.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    process::Command,
    time::{Instant, sleep, timeout},
};

use crate::{
    listening::{listeners, processes},
    parts_support::free_ports,
};

/// The longest that one word of a script takes, on a busy machine and with nothing built.
const PATIENCE: Duration = Duration::from_secs(600);

/// What is known of a part.
#[derive(Clone, Copy)]
pub struct Kind {
    name: &'static str,
    /// Where somebody listens, from its first port on.
    listens: &'static [u16],
    /// Whether each of its ports is a setting.
    lists_ports: bool,
    /// Whether its logs, certificates and tools stay for the next time.
    keeps_files: bool,
}

impl Kind {
    pub const fn new(name: &'static str, listens: &'static [u16]) -> Self {
        Self {
            name,
            listens,
            lists_ports: false,
            keeps_files: false,
        }
    }

    pub const fn with_a_list_of_ports(self) -> Self {
        Self {
            lists_ports: true,
            ..self
        }
    }

    pub const fn with_files_that_stay(self) -> Self {
        Self {
            keeps_files: true,
            ..self
        }
    }
}

/// What a script said, and whether it ended well.
#[derive(Debug)]
pub struct Said {
    pub is_well: bool,
    pub text: String,
}

/// A part that goes down when it is dropped.
pub struct Part {
    kind: Kind,
    pub first: u16,
    place: TempDir,
}

impl Part {
    /// None of it runs.
    pub fn new(kind: Kind) -> Self {
        Self::at(kind, free_ports(kind.listens))
    }

    /// In a folder of its own, where this one listens.
    pub fn at_the_same_ports(&self) -> Self {
        Self::at(self.kind, self.first)
    }

    fn at(kind: Kind, first: u16) -> Self {
        // The paths of unix sockets must be short.
        let place = tempfile::Builder::new().prefix("parts-").tempdir_in("/tmp");
        let place = place.expect("a folder");
        Self { kind, first, place }
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("run")
    }

    pub fn ports(&self) -> impl Iterator<Item = u16> {
        let first = self.first;
        self.kind.listens.iter().map(move |offset| first + offset)
    }

    fn command(&self, word: &str) -> Command {
        let mut command = Command::new(repository("scripts/parts"));
        command
            .args([self.kind.name, word])
            .env("PART_DIR", self.folder());
        if self.kind.lists_ports {
            let ports: Vec<String> = self.ports().map(|port| port.to_string()).collect();
            command.env("PART_PORTS", ports.join(" "));
        } else {
            command.env("PART_PORT", self.first.to_string());
        }
        command
    }

    pub async fn does(&self, word: &str) -> Said {
        said(self.command(word)).await
    }

    /// What it says; it must do well.
    pub async fn well(&self, word: &str) -> String {
        let said = self.does(word).await;
        assert!(said.is_well, "{} {word}: {}", self.kind.name, said.text);
        said.text
    }

    /// What it says when this port is taken.
    pub fn taken(&self, port: u16) -> String {
        format!("{}: port {port} of 127.0.0.1 is taken", self.kind.name)
    }

    /// It does not start, because this port is taken.
    pub async fn is_refused(&self, port: u16) {
        let up = self.does("up").await;
        assert!(!up.is_well && up.text.contains(&self.taken(port)), "{up:?}");
    }

    /// Where its processes listen, with the oldest one that does.
    pub fn listeners(&self) -> BTreeMap<SocketAddr, i32> {
        listeners(&self.folder())
    }

    /// Fails unless nothing of it runs, and of its files only those are there that stay.
    pub async fn is_gone(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let running = processes(&self.folder());
            if running.is_empty() {
                break;
            }
            assert!(Instant::now() < deadline, "still there: {running:?}");
            sleep(Duration::from_millis(50)).await;
        }
        let mut left = Vec::new();
        walk(&self.folder(), &mut left);
        if self.kind.keeps_files {
            left.retain(|path| is_of_a_running_part(path));
        }
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut command = self.command("down").into_std();
        // The folder goes next: what still runs there would be nobody's.
        let _ = command.stdin(Stdio::null()).output();
    }
}

/// Runs a command to its end.
pub async fn said(mut command: Command) -> Said {
    let running = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = timeout(PATIENCE, running).await;
    let output = output.expect("it ends in time").expect("it starts");
    let text = [output.stdout, output.stderr].concat();
    Said {
        is_well: output.status.success(),
        text: String::from_utf8_lossy(&text).into_owned(),
    }
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap().is_dir() {
            true => walk(&path, files),
            false => files.push(path),
        }
    }
}

/// A process id, a socket, or what a server has stored.
fn is_of_a_running_part(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).unwrap().file_type().is_socket();
    let stored = ["data", "store", "etcd"];
    let is_data = path
        .components()
        .any(|part| stored.iter().any(|s| part.as_os_str() == *s));
    let is_pid = path.file_name().unwrap() == "pid" || path.extension().is_some_and(|e| e == "pid");
    is_socket || is_data || is_pid
}

//! Real parts, started by their scripts, and programs that speak to them.

use std::{
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Weak,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use tokio::{io::AsyncWriteExt, sync::Mutex};

/// A script of scripts/part with a folder and settings of its own. Its part goes down with it, and the data are gone.
pub struct Script {
    name: &'static str,
    pub folder: PathBuf,
    settings: Vec<(&'static str, String)>,
    down: &'static [&'static str],
}

impl Script {
    /// In a folder that no other part has.
    pub fn new(name: &'static str, settings: Vec<(&'static str, String)>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
        Self::within(folder, name, settings, &["down"])
    }

    /// With these words it goes down.
    pub fn within(
        folder: PathBuf,
        name: &'static str,
        settings: Vec<(&'static str, String)>,
        down: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            folder,
            settings,
            down,
        }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/part");
        let mut command = Command::new(scripts.join(self.name));
        command
            .args(words)
            .env("PART_DIR", &self.folder)
            .envs(self.settings.iter().map(|(key, value)| (*key, value)));
        command
    }

    /// Runs it, with these settings besides. It must do well.
    pub async fn does(&self, words: &[&str], more: &[(&str, &str)]) {
        let mut command = self.command(words);
        command.envs(more.iter().copied());
        run(command, None).await;
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // The folder goes next: what still runs there would be nobody's.
        let _ = self.command(self.down).stdin(Stdio::null()).output();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A part that all tests share which leave it as it is; it ends with the last of them.
pub struct Shared<T>(Mutex<Weak<T>>);

impl<T> Shared<T> {
    pub const fn new() -> Self {
        Self(Mutex::const_new(Weak::new()))
    }

    /// The part that is up, or the one that is started now.
    pub async fn or(&self, start: impl Future<Output = T>) -> Arc<T> {
        let mut shared = self.0.lock().await;
        if let Some(part) = shared.upgrade() {
            return part;
        }
        let part = Arc::new(start.await);
        *shared = Arc::downgrade(&part);
        part
    }
}

/// A process in the background; it ends when dropped.
pub struct Process(Child);

impl Process {
    pub fn start(mut command: Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first of twelve ports of which those at these offsets are free. They are this process's as long as it lives,
/// among all that have the same target folder: what is free now may be bound much later by the part.
pub fn free_ports(used: &[u16]) -> u16 {
    const FIRST: u16 = 23_000;
    const EACH: u16 = 12;
    const PLACES: u32 = 650;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let locks = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ports");
    fs::create_dir_all(&locks).unwrap();
    loop {
        let place = (std::process::id() * 7 + NEXT.fetch_add(1, Relaxed)) % PLACES;
        let base = FIRST + u16::try_from(place).unwrap() * EACH;
        let lock = File::create(locks.join(base.to_string())).unwrap();
        if lock.try_lock().is_err() {
            continue;
        }
        let held: Vec<_> = used
            .iter()
            .map(|offset| TcpListener::bind(("127.0.0.1", base + offset)))
            .collect();
        if held.iter().all(Result::is_ok) {
            std::mem::forget(lock);
            return base;
        }
    }
}

/// What a command prints that is given this to read. It must do well.
pub async fn run(command: Command, input: Option<String>) -> String {
    let shown = format!("{command:?}");
    let mut child = tokio::process::Command::from(command)
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        stdin.write_all(input.as_bytes()).await.unwrap();
    }
    let ended = child.wait_with_output().await.unwrap();
    let text = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{shown}: {text}");
    text
}

/// What a line prints that is typed as a person would, with these variables set in the shell.
pub async fn typed(line: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", line]).envs(variables.iter().copied());
    run(command, None).await
}

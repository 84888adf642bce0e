//! Real parts on ports and in folders of their own, and their own tools.

use std::{
    fs::File,
    net::TcpListener,
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpStream, UnixStream},
    process::{Child, Command},
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::{parts_support::Script, waiting::Patience};

/// The first of `n` free ports; no two parts of this process get the same.
pub fn ports(n: u16) -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let nth = NEXT.fetch_add(u32::from(n), Relaxed);
        let base = 10_100 + ((std::process::id() % 40 * 200 + nth) % 9000) as u16;
        let held: Vec<_> = (base..base + n)
            .map(|port| TcpListener::bind(("127.0.0.1", port)))
            .collect();
        if held.iter().all(Result::is_ok) {
            return base;
        }
    }
}

/// A tool's output, if it says that it did well in time.
pub async fn tool(program: impl AsRef<std::ffi::OsStr>, args: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(Duration::from_secs(120), command.output())
        .await
        .ok()?
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What one line gets that is sent to a unix socket.
pub async fn said_at(socket: &Path, line: &str) -> Option<String> {
    let talk = async {
        let mut stream = UnixStream::connect(socket).await.ok()?;
        stream.write_all(format!("{line}\n").as_bytes()).await.ok()?;
        let mut said = String::new();
        stream.read_to_string(&mut said).await.ok()?;
        Some(said)
    };
    timeout(Duration::from_secs(5), talk).await.ok()?
}

/// Types a command as a person would, with these variables set in the shell.
pub async fn type_by_hand(line: &str, variables: &[(String, String)]) -> Result<(), String> {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .envs(variables.iter().cloned())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ended = timeout(Duration::from_secs(60), command.output()).await;
    let output = ended
        .map_err(|_| format!("`{line}` does not end"))?
        .expect("a shell");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("`{line}` by hand: {said}")),
    }
}

/// Asks until it holds.
pub async fn until(what: &str, holds: impl AsyncFnMut() -> bool) -> Result<(), String> {
    let patience = Patience::new(Duration::from_secs(90), Duration::from_millis(40));
    match patience.sees(holds).await {
        true => Ok(()),
        false => Err(format!("not within 90 s: {what}")),
    }
}

/// For as long as it is held, a part starts that takes much of the machine: more than two at once would take it from those that are
/// at work.
pub async fn turn_to_start() -> SemaphorePermit<'static> {
    static TURNS: Semaphore = Semaphore::const_new(2);
    TURNS.acquire().await.expect("never closed")
}

/// A part of Java starts, when it is its turn.
pub async fn starts(part: &Script, words: &[&str]) {
    let _turn = turn_to_start().await;
    part.does(words, &[]).await;
}

/// A part's script with a folder of its own in /tmp: the paths of unix sockets must be short.
pub fn script(
    name: &'static str,
    settings: Vec<(&'static str, String)>,
    down: &'static [&'static str],
) -> Script {
    let folder = tempfile::Builder::new().prefix("luck-").tempdir_in("/tmp");
    Script::within(folder.expect("a folder").keep(), name, settings, down)
}

/// What a Redis answers, value by value, each on a line of its own; nothing for an error.
async fn answer(port: u16, words: &[&str]) -> Option<String> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await.ok()?);
    let words = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
    let words: Vec<String> = words.collect();
    let asked = format!("*{}\r\n{}", words.len(), words.concat());
    stream.write_all(asked.as_bytes()).await.ok()?;
    let (mut values, mut left) = (Vec::new(), 1);
    while left > 0 {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let (kind, rest) = line.trim_end().split_at_checked(1)?;
        left -= 1;
        match kind {
            "+" | ":" => values.push(rest.to_owned()),
            "*" => left += rest.parse::<usize>().ok()?,
            "$" if rest == "-1" => values.push(String::new()),
            "$" => {
                let mut value = vec![0; rest.parse::<usize>().ok()? + 2];
                stream.read_exact(&mut value).await.ok()?;
                values.push(String::from_utf8_lossy(&value).trim_end().to_owned());
            }
            _ => return None,
        }
    }
    Some(values.join("\n"))
}

/// What a Redis or a Sentinel on `port` answers; what `redis-cli -e --raw` would print.
pub async fn said_by(port: u16, words: &[&str]) -> Option<String> {
    timeout(Duration::from_secs(5), answer(port, words)).await.ok()?
}

/// A Redis server that keeps what it was told, on a port of its own.
pub struct Redis {
    pub port: u16,
    folder: TempDir,
    settings: Vec<String>,
    process: tokio::sync::Mutex<Option<Child>>,
}

impl Redis {
    pub async fn start(port: u16, settings: &[&str]) -> Self {
        let redis = Self {
            port,
            folder: tempfile::Builder::new()
                .prefix("luck-")
                .tempdir_in("/tmp")
                .expect("a folder"),
            settings: settings.iter().map(|s| (*s).to_owned()).collect(),
            process: tokio::sync::Mutex::new(None),
        };
        redis.up().await;
        redis
    }

    /// Starts it, if it does not run.
    pub async fn up(&self) {
        let mut process = self.process.lock().await;
        if process.is_none() {
            let log = File::create(self.folder.path().join("log")).expect("a log");
            let mut command = Command::new("redis-server");
            command
                .args([
                    "--bind",
                    "127.0.0.1",
                    "--port",
                    &self.port.to_string(),
                    "--save",
                    "",
                ])
                .args(["--appendonly", "yes", "--appendfsync", "no"])
                .arg("--dir")
                .arg(self.folder.path())
                .args(&self.settings)
                .stdin(Stdio::null())
                .stdout(log)
                .kill_on_drop(true);
            *process = Some(command.spawn().expect("apt-get install -y redis-server"));
        }
        let answers = async || self.ask(&["PING"]).await.is_some_and(|said| said == "PONG");
        until("the Redis answers", answers).await.expect("a Redis");
    }

    /// Kills it; what it was told is on its disk.
    pub async fn kill(&self) {
        if let Some(mut process) = self.process.lock().await.take() {
            process.kill().await.expect("it ends");
        }
    }

    /// Asks it directly, as the user that may do everything.
    pub async fn ask(&self, words: &[&str]) -> Option<String> {
        said_by(self.port, words).await
    }

    /// The names that match, in order.
    pub async fn names(&self, glob: &str) -> Option<Vec<String>> {
        let said = self.ask(&["KEYS", glob]).await?;
        let mut names: Vec<String> = said.lines().map(str::to_owned).collect();
        names.sort();
        Some(names)
    }
}

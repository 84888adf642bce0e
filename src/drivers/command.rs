//! A command of the user's own: no shell, its own process group, killed whole at its timeout, its output bounded.
//!
//! The group also dies with allclear, however that dies. A leash, a small shell, leads the group and reads from a pipe
//! that this process alone holds: once the pipe is closed the leash kills its group. (`PR_SET_PDEATHSIG` would look at
//! the thread that started the command, not at the process.) A command that leaves its group by `setsid` leaves the leash
//! as well.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
};

use crate::model::{secret::Secrets, text::harmless, time::Span};

use super::error::DriverError;

/// The most output that is kept; the rest is read and dropped, so that the command never blocks on it.
const MAX_OUTPUT: usize = 64 * 1024;
/// More than any secret: where output was cut, that much is dropped once secrets are masked, for half a secret is none
/// that could be found.
const MAX_SECRET: usize = 4 * 1024;
/// What the leash does: waits for the end of the pipe, then kills its own group.
const LEASH: &str = "trap '' HUP INT TERM; read -r end; kill -KILL 0";

/// What a command ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The end of its output, both streams, secrets masked, safe to print.
    pub last_line: String,
}

/// A process group led by its leash. It is killed when the wait for it is given up, also when recovery itself is
/// cancelled. As long as the leash is not reaped no other process can have its number.
struct Group {
    leash: Child,
    id: Option<Pid>,
}

impl Group {
    fn new() -> std::io::Result<Self> {
        let leash = Command::new("/bin/sh")
            .args(["-c", LEASH])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let id = leash.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self { leash, id })
    }

    fn kill(&mut self) {
        if let Some(id) = self.id.take() {
            // Gone already is as good as killed.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }

    /// Kills whatever is left of the group, and waits for its leader.
    async fn end(&mut self) {
        self.kill();
        // It was killed: there is nothing that its end could tell.
        let _ = self.leash.wait().await;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs `argv` in `folder` and waits for its end.
///
/// # Errors
/// [`DriverError::Setup`] if it cannot be started, [`DriverError::TimedOut`] if it was killed at `limit`.
pub async fn run(
    argv: &[String],
    folder: &Path,
    limit: Span,
    secrets: &Secrets,
) -> Result<Ended, DriverError> {
    let what = format!("command {}", harmless(&secrets.mask(&argv.join(" ")), 200));
    let setup = |why: String| DriverError::Setup {
        what: what.clone(),
        why: format!("{why}; the program, and /bin/sh, must be there and executable"),
    };
    let mut group = Group::new().map_err(|e| setup(e.to_string()))?;
    let mut child = start(argv, folder, &group).map_err(setup)?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let ending = async {
        // Whatever it left in the background goes with it, and would keep its output open.
        let wait = async {
            let status = child.wait().await;
            group.end().await;
            status
        };
        let (status, out, err) = tokio::join!(wait, kept(out), kept(err));
        (status, [out, err])
    };
    let (status, output) = match tokio::time::timeout(limit.into(), ending).await {
        Ok(ended) => ended,
        Err(_) => {
            group.end().await;
            return Err(DriverError::TimedOut { what, after: limit });
        }
    };
    let status = status.map_err(|e| DriverError::Lost {
        what,
        why: e.to_string(),
    })?;
    Ok(Ended {
        code: status.code(),
        last_line: last_line(&output, secrets),
    })
}

fn start(argv: &[String], folder: &Path, group: &Group) -> Result<Child, String> {
    let (program, arguments) = argv.split_first().ok_or("no program is named")?;
    let id = group
        .id
        .map(Pid::as_raw_nonzero)
        .ok_or("its leash ended at once")?;
    Command::new(place(program, folder))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(id.get())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| e.to_string())
}

/// A relative path with a folder starts at the drill file's folder; a bare name is looked for in PATH.
fn place(program: &str, folder: &Path) -> PathBuf {
    match program.contains('/') {
        true => folder.join(program),
        false => program.into(),
    }
}

/// Proves that the program of `argv` is there and may be run, running nothing.
///
/// # Errors
/// [`DriverError::NotThere`].
pub fn proves_program(argv: &[String], folder: &Path) -> Result<PathBuf, DriverError> {
    let program = argv.first().map(String::as_str).unwrap_or_default();
    let candidates: Vec<PathBuf> = match program.contains('/') {
        true => vec![place(program, folder)],
        false => std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .map(|p| p.join(program))
            .collect(),
    };
    let runs = |p: &PathBuf| p.is_file() && rustix::fs::access(p, rustix::fs::Access::EXEC_OK).is_ok();
    candidates
        .into_iter()
        .find(runs)
        .ok_or_else(|| DriverError::NotThere {
            what: format!("program {}", harmless(program, 100)),
            answer: format!("no such executable file, seen from {}", folder.display()),
        })
}

/// The end of one stream, and whether its beginning was dropped.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Kept {
    fn masked(&self, secrets: &Secrets) -> String {
        let text = secrets.mask(&String::from_utf8_lossy(&self.bytes));
        text.chars()
            .skip(if self.is_cut { MAX_SECRET } else { 0 })
            .collect()
    }
}

async fn kept(stream: Option<impl AsyncRead + Unpin>) -> Kept {
    let (mut kept, mut chunk) = (Kept::default(), [0; 4096]);
    let Some(mut stream) = stream else { return kept };
    while let Ok(n @ 1..) = stream.read(&mut chunk).await {
        kept.bytes.extend_from_slice(&chunk[..n]);
        let over = kept.bytes.len().saturating_sub(MAX_OUTPUT);
        kept.is_cut |= over > 0;
        kept.bytes.drain(..over);
    }
    kept
}

/// What was said last on the error stream, or else on the other one.
fn last_line(output: &[Kept], secrets: &Secrets) -> String {
    let texts: Vec<String> = output.iter().map(|kept| kept.masked(secrets)).collect();
    let mut lines = texts.iter().rev().flat_map(|text| text.lines().rev());
    let line = lines.find(|l| !l.trim().is_empty());
    harmless(line.unwrap_or_default().trim(), 200)
}

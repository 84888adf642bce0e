//! A command of the user's own: no shell, its own process group, killed whole at its timeout, its output bounded.

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

/// What a command ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The end of its output, both streams, secrets masked, safe to print.
    pub last_line: String,
}

/// Kills the whole group when the wait for it is given up, also when recovery itself is cancelled.
struct Group(Option<Pid>);

impl Group {
    fn kill(&mut self) {
        if let Some(pid) = self.0.take() {
            // Gone already is as good as killed.
            let _ = kill_process_group(pid, Signal::KILL);
        }
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
    let mut child = start(argv, folder).map_err(|why| DriverError::Setup {
        what: what.clone(),
        why,
    })?;
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let mut group = Group(pid);
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let ending = async {
        // Whatever it left in the background goes with it, and would keep its output open.
        let wait = async {
            let status = child.wait().await;
            group.kill();
            status
        };
        let (status, out, err) = tokio::join!(wait, kept(out), kept(err));
        (status, [out, err].concat())
    };
    let (status, output) = match tokio::time::timeout(limit.into(), ending).await {
        Ok(ended) => ended,
        Err(_) => {
            group.kill();
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

fn start(argv: &[String], folder: &Path) -> Result<Child, String> {
    let (program, arguments) = argv.split_first().ok_or("no program is named")?;
    Command::new(place(program, folder))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
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

async fn kept(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
    let Some(mut stream) = stream else { return kept };
    while let Ok(n @ 1..) = stream.read(&mut chunk).await {
        kept.extend_from_slice(&chunk[..n]);
        let over = kept.len().saturating_sub(MAX_OUTPUT);
        kept.drain(..over);
    }
    kept
}

fn last_line(output: &[u8], secrets: &Secrets) -> String {
    let text = secrets.mask(&String::from_utf8_lossy(output));
    let line = text.lines().rev().find(|l| !l.trim().is_empty());
    harmless(line.unwrap_or_default().trim(), 200)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{environment::SecretRef, secret::SecretText};

    async fn sh(script: &str, limit: Span, secrets: &Secrets) -> Result<Ended, DriverError> {
        let argv = ["sh", "-c", script].map(str::to_owned);
        run(&argv, Path::new("/"), limit, secrets).await
    }

    #[tokio::test]
    async fn exit_code_and_last_line_are_told_with_secrets_masked() {
        let mut secrets = Secrets::none();
        secrets.insert(SecretRef::Env("T".into()), SecretText::new("hunter22"));
        let ended = sh(
            "echo one; printf 'key hunter22\\033[31m'; exit 3",
            Span::seconds(5),
            &secrets,
        )
        .await
        .unwrap();
        assert_eq!(
            ended,
            Ended {
                code: Some(3),
                last_line: "key •••[31m".into()
            }
        );
    }

    #[tokio::test]
    async fn at_the_timeout_the_whole_process_group_dies() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("pid");
        let script = format!("sleep 100 & echo $! > {}; wait", pid_file.display());
        let ended = sh(&script, Span::millis(500), &Secrets::none()).await;
        assert!(matches!(ended, Err(DriverError::TimedOut { .. })));
        let pid: i32 = std::fs::read_to_string(&pid_file)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let gone = async {
            // A zombie waiting for its new parent is dead as well.
            let alive = || {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                !stat.is_empty() && !stat.contains(") Z ")
            };
            while alive() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Span::seconds(5).into(), gone)
            .await
            .expect("the grandchild died");
    }

    #[tokio::test]
    async fn endless_output_is_bounded_and_a_missing_program_is_named() {
        let ended = sh(
            "yes x | head -c 3000000; echo end",
            Span::seconds(20),
            &Secrets::none(),
        )
        .await
        .unwrap();
        assert_eq!(ended.last_line, "end");
        let argv = ["./no-such-program".to_owned()];
        let error = run(&argv, Path::new("/"), Span::seconds(1), &Secrets::none())
            .await
            .unwrap_err();
        assert!(error.to_string().contains("no-such-program"), "{error}");
    }
}

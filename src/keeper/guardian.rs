//! The keeper's side of the deadman: starts it, feeds it heartbeats, starts another when it dies.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{mpsc, watch},
    time::{Instant, sleep, sleep_until, timeout},
};

use super::deadman::{BEAT, LEAVE, READY};
use crate::{engine::Ask, model::time::Span};

/// A deadman that has not said that it is ready by then is no deadman.
const ACKNOWLEDGE: Duration = Duration::from_secs(5);

/// Between a deadman's death and the next one, so that a machine without room is not kept busy by attempts.
const AGAIN: Duration = Duration::from_millis(200);

/// A heartbeat that has had no echo for that long: the deadman is stopped or hung, and no help to anyone.
const NO_ECHO: Duration = Duration::from_secs(5);

/// Beats are passed on at most this often.
const RHYTHM: Duration = Duration::from_millis(250);

/// Keeps a deadman alive until `ended` says that the run is over.
pub(super) async fn guard(
    state: PathBuf,
    run: PathBuf,
    mut beats: watch::Receiver<u64>,
    mut ended: watch::Receiver<bool>,
    to_engine: mpsc::UnboundedSender<Ask>,
    up: watch::Sender<bool>,
) {
    while !*ended.borrow() {
        match start(&state, &run).await {
            Ok((mut child, stdin, stdout)) => {
                let pid = child.id().unwrap_or_default();
                // An engine that has ended needs no deadman; `ended` follows.
                let _ = to_engine.send(Ask::DeadmanReady { pid });
                up.send_replace(true);
                feed(&mut child, stdin, stdout, &mut beats, &mut ended).await;
                let _ = child.start_kill();
                let _ = timeout(ACKNOWLEDGE, child.wait()).await;
                if !*ended.borrow() {
                    let _ = to_engine.send(Ask::DeadmanLost { pid });
                }
            }
            Err(error) => tracing::error!(%error, "no deadman"),
        }
        tokio::select! {
            () = sleep(AGAIN) => {}
            () = over(&mut ended) => {}
        }
    }
}

async fn start(state: &Path, run: &Path) -> io::Result<(Child, ChildStdin, BufReader<ChildStdout>)> {
    let mut command = Command::new(super::launch::own_binary()?);
    command
        .arg("deadman")
        .arg("--state-dir")
        .arg(state)
        .arg("--run-dir")
        .arg(run)
        .arg("--keeper")
        .arg(std::process::id().to_string());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("a deadman without pipes"));
    };
    let mut line = String::new();
    let mut stdout = BufReader::new(stdout);
    let read = timeout(ACKNOWLEDGE, stdout.read_line(&mut line)).await;
    match read {
        Ok(Ok(_)) if line.trim_end() == READY => Ok((child, stdin, stdout)),
        Ok(Ok(_)) => Err(io::Error::other(format!(
            "the deadman said `{}`",
            line.trim_end()
        ))),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            let _ = child.start_kill();
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the deadman did not answer within {}", Span::from(ACKNOWLEDGE)),
            ))
        }
    }
}

/// Passes beats on until the deadman dies, hangs, or the run is over; in the end it is told to leave in peace.
async fn feed(
    child: &mut Child,
    mut stdin: ChildStdin,
    mut stdout: BufReader<ChildStdout>,
    beats: &mut watch::Receiver<u64>,
    ended: &mut watch::Receiver<bool>,
) {
    let mut echo = [0u8; 64];
    let mut unanswered: Option<Instant> = None;
    let mut next_beat = Instant::now();
    loop {
        let deadline = unanswered.map_or_else(|| Instant::now() + NO_ECHO, |since| since + NO_ECHO);
        tokio::select! {
            biased;
            _ = child.wait() => return,
            () = over(ended) => {
                let _ = timeout(NO_ECHO, stdin.write_all(&[LEAVE])).await;
                let _ = timeout(ACKNOWLEDGE, child.wait()).await;
                return;
            }
            read = stdout.read(&mut echo) => match read {
                Ok(n) if n > 0 => unanswered = None,
                _ => return,
            },
            () = sleep_until(deadline), if unanswered.is_some() => return,
            changed = next_change(beats, next_beat) => {
                if !changed {
                    // The engine has ended, and `ended` follows: nothing more is to be beaten.
                    next_beat += ACKNOWLEDGE;
                    continue;
                }
                next_beat = Instant::now() + RHYTHM;
                if !matches!(timeout(NO_ECHO, stdin.write_all(&[BEAT])).await, Ok(Ok(()))) {
                    return;
                }
                unanswered.get_or_insert_with(Instant::now);
            }
        }
    }
}

/// The engine's next beat, not before `earliest`; false when there will be none.
async fn next_change(beats: &mut watch::Receiver<u64>, earliest: Instant) -> bool {
    sleep_until(earliest).await;
    beats.changed().await.is_ok()
}

/// Resolves when the run is over, or when nobody is left to say so.
async fn over(ended: &mut watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
}

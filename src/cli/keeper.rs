//! `keeper` and `deadman`: the two processes behind every run. Started by allclear itself.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
};

use rustix::{process::setsid, stdio::dup2_stdout};

use super::{
    error::Failure,
    options::{Deadman, Keeper},
};
use crate::{
    journal::{RunDir, StateDir},
    keeper::{
        self, Entry, KeeperError, READY,
        deadman::{self, Failed, Watched},
    },
    model::{event::Outcome, exit::Exit, phase::Cause, said::said},
};

/// Keeps a run to its end.
pub fn keeper(state_dir: Option<std::path::PathBuf>, args: &Keeper) -> Result<Exit, Failure> {
    // Fails only for a group leader, which has a session of its own already.
    let _ = setsid();
    let run = RunDir::at(&args.run_dir);
    let _log = log_to(&run).ok();
    let entry = if args.recover {
        Entry::TakeOver(Cause::KeeperLost {
            what: said!(
                "`allclear recover` found no keeper",
                "`allclear recover` 未找到守护进程"
            ),
        })
    } else {
        Entry::Fresh
    };
    match keep(state_dir, &run, entry, say_ready) {
        Ok(Some(outcome)) => Ok(outcome.exit),
        Ok(None) => Ok(Exit::Held),
        Err(error) => {
            tracing::error!(%error, "not begun");
            // The console reads it on the pipe; without one nobody does.
            let _ = writeln!(io::stdout(), "{}", error.to_string().replace('\n', " "));
            Ok(Exit::Refused)
        }
    }
}

/// Watches the keeper, and becomes it when it is lost.
pub fn deadman(state_dir: Option<std::path::PathBuf>, args: &Deadman) -> Result<Exit, Failure> {
    let run = RunDir::at(&args.run_dir);
    match deadman::watch(args.keeper)? {
        Watched::Over => Ok(Exit::Held),
        Watched::Lost(cause) => {
            // A full or read-only disk takes the log, never the recovery.
            let _log = log_to(&run).ok();
            tracing::warn!(?cause, "taking over");
            let mut attempts = 0;
            loop {
                wait_until_free(&run, args.keeper);
                let error = match keep(state_dir.clone(), &run, Entry::TakeOver(cause.clone()), || {}) {
                    Ok(_) => return Ok(Exit::Held),
                    Err(error) => error,
                };
                match deadman::failed(&run, &error, args.keeper) {
                    Failed::DiesStill => {
                        tracing::error!(keeper = args.keeper, "still not dead; tried again");
                    }
                    Failed::Again => {
                        tracing::error!(%error, attempts, "could not take over yet; tried again");
                        #[expect(
                            clippy::disallowed_methods,
                            reason = "there may be no room for a runtime, and nothing to be waited for"
                        )]
                        std::thread::sleep(deadman::pause_after(attempts));
                        attempts += 1;
                    }
                    Failed::ForGood => {
                        tracing::error!(%error, "could not take over");
                        return Err(Failure::Lost(error.to_string()));
                    }
                }
            }
        }
    }
}

/// A killed keeper that does not die is waited for, and whoever attaches is told. Without a runtime nobody is told: the lock
/// itself is waited for all the same.
fn wait_until_free(run: &RunDir, keeper: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Ok(runtime) = runtime {
        runtime.block_on(keeper::until_free(run, keeper));
    }
}

/// Of each of the keeper's threads, in bytes. Reading a cluster in preflight is the deepest that it goes: unoptimised that takes more than
/// the usual 2 MiB, and a keeper that overflows is gone without a word.
const STACK: usize = 8 << 20;

fn keep(
    state_dir: Option<std::path::PathBuf>,
    run: &RunDir,
    entry: Entry,
    ready: impl FnOnce(),
) -> Result<Option<Outcome>, KeeperError> {
    // A task that panics would leave its work undone in silence. The whole process goes instead: the deadman recovers.
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(%panic, "a defect: the keeper ends here, and its deadman recovers");
        std::process::abort();
    }));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(STACK)
        .thread_name("keeper")
        .enable_all()
        .build()
        .map_err(KeeperError::Runtime)?;
    runtime.block_on(async {
        let state = match state_dir {
            Some(path) => StateDir::open(path)?,
            None => StateDir::open(run.path().join("../.."))?,
        };
        keeper::keep(&state, run, entry, ready).await
    })
}

/// Tells the console that it can attach, and lets go of its pipe.
fn say_ready() {
    let _ = writeln!(io::stdout(), "{READY}");
    let _ = io::stdout().flush();
    if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = dup2_stdout(&null);
    }
}

/// The keeper's own log, beside its journal. Never holds a secret.
fn log_to(run: &RunDir) -> Result<tracing_appender::non_blocking::WorkerGuard, Failure> {
    let path = run.path().join("keeper.log");
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let filter = tracing_subscriber::EnvFilter::try_from_env("ALLCLEAR_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("allclear=info,warn"));
    // Set once in a process: a deadman that takes over has set none before.
    let _ = tracing_subscriber::fmt()
        .json()
        .with_writer(writer)
        .with_env_filter(filter)
        .try_init();
    Ok(guard)
}

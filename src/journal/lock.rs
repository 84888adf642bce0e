//! Locks that end with the process that holds them: `flock` on files that stay where they are. The files' descriptors
//! are closed on exec, so no child keeps a lock alive.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::{thread::nanosleep, time::Timespec};

use crate::model::{
    ids::{EnvironmentName, RunId},
    time::Span,
};

use super::{clock::Clock, error::StateError, run_dir::RunDir};

/// How often a lock that someone else holds is tried again.
const AGAIN: Span = Span::millis(20);

/// Who holds a lock, as its file says. Either may be unknown in the instant in which a lock changes hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The run.
    pub run: Option<RunId>,
    /// The keeper's process id.
    pub pid: Option<u32>,
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Someone holds it.
    #[error("{what} is held by run {} (pid {})", shown(&.holder.run), shown(&.holder.pid))]
    HeldBy {
        /// What is locked.
        what: String,
        /// By whom.
        holder: Holder,
    },
    /// Nobody holds it, but a run that held it never ended.
    #[error(
        "run {run} left the environment {environment} without recovering it: `allclear recover {run}` first"
    )]
    Owed {
        /// The environment.
        environment: EnvironmentName,
        /// The run.
        run: RunId,
    },
    /// The lock's file cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
}

fn shown(value: &Option<impl ToString>) -> String {
    value
        .as_ref()
        .map_or_else(|| "unknown".to_owned(), ToString::to_string)
}

/// A held lock. Ends when it is dropped, or with the process.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    pub(super) fn try_take(path: &Path, what: &str) -> Result<Self, LockError> {
        let mut file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => Err(LockError::HeldBy {
                what: what.to_owned(),
                holder: read_holder(&mut file),
            }),
            Err(TryLockError::Error(e)) => Err(StateError::io("lock", path, e).into()),
        }
    }

    /// Says who holds it. That is only for people, so a full disk does not matter.
    pub(super) fn sign(&mut self, run: &RunId, pid: u32) {
        let _ = write_over(&mut self.file, &format!("{run} {pid}\n"));
    }

    /// Who signed last.
    pub(super) fn signed_by(&mut self) -> Holder {
        read_holder(&mut self.file)
    }

    /// Wipes the signature: whoever comes next finds that nothing is owed.
    pub(super) fn wipe(&mut self) {
        let _ = write_over(&mut self.file, "");
    }
}

fn open(path: &Path) -> Result<File, StateError> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(StateError::doing("open", path))
}

fn write_over(file: &mut File, text: &str) -> io::Result<()> {
    // Over the old text first: on a full disk there is room for that, and none for a new block.
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

fn read_holder(file: &mut File) -> Holder {
    let mut text = String::new();
    let _ = file
        .rewind()
        .and_then(|()| file.take(256).read_to_string(&mut text));
    let mut words = text.split_whitespace();
    Holder {
        run: words.next().and_then(|w| RunId::new(w).ok()),
        pid: words.next().and_then(|w| w.parse().ok()),
    }
}

/// The right to be the keeper of a run. Two keepers would undo each other's work.
#[derive(Debug)]
pub struct KeeperLock {
    _lock: Lock,
}

impl KeeperLock {
    /// Takes the lock at once, or says who holds it.
    ///
    /// # Errors
    /// [`LockError::HeldBy`], or that the file cannot be used.
    pub fn try_take(run: &RunDir, id: &RunId, pid: u32) -> Result<Self, LockError> {
        let mut lock = Lock::try_take(&run.keeper_lock_file(), &format!("run {id}"))?;
        lock.sign(id, pid);
        Ok(Self { _lock: lock })
    }

    /// Takes the lock as soon as its holder is gone, but waits no longer than `within`. Blocks the thread.
    ///
    /// # Errors
    /// As for [`KeeperLock::try_take`], once the time is up.
    pub fn take_within(run: &RunDir, id: &RunId, pid: u32, within: Span) -> Result<Self, LockError> {
        patiently(within, || Self::try_take(run, id, pid))
    }

    /// Who is the keeper of that run now; `None` if nobody is.
    ///
    /// # Errors
    /// If the lock's file cannot be used.
    pub fn holder(run: &RunDir) -> Result<Option<Holder>, StateError> {
        let path = run.keeper_lock_file();
        let mut file = match File::open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(StateError::doing("open", &path))?,
        };
        // Shared, so that two that ask at the same time do not take each other for a keeper.
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(read_holder(&mut file))),
            Err(TryLockError::Error(e)) => Err(StateError::io("lock", &path, e)),
        }
    }
}

/// Tries again while someone holds the lock, but no longer than `within`.
pub(super) fn patiently<L>(within: Span, attempt: impl Fn() -> Result<L, LockError>) -> Result<L, LockError> {
    let deadline = Clock.now() + within;
    loop {
        match attempt() {
            Err(LockError::HeldBy { .. }) if Clock.now() < deadline => pause(AGAIN),
            other => return other,
        }
    }
}

fn pause(span: Span) {
    let _ = nanosleep(&Timespec {
        tv_sec: (span.0 / 1000) as i64,
        tv_nsec: (span.0 % 1000 * 1_000_000) as i64,
    });
}

/// The right to run a drill on an environment. Signed with the run and its keeper's process id while it is held; the
/// signature is wiped only by [`EnvironmentLock::release`], so that a run that died without recovering is noticed.
#[derive(Debug)]
pub struct EnvironmentLock {
    lock: Lock,
}

impl EnvironmentLock {
    pub(super) fn try_take(
        path: PathBuf,
        environment: &EnvironmentName,
        run: &RunId,
        pid: u32,
        is_owed: impl FnOnce(&RunId) -> bool,
    ) -> Result<Self, LockError> {
        let mut lock = Lock::try_take(&path, &format!("environment {environment}"))?;
        if let Some(before) = lock.signed_by().run
            && before != *run
            && is_owed(&before)
        {
            return Err(LockError::Owed {
                environment: environment.clone(),
                run: before,
            });
        }
        lock.sign(run, pid);
        Ok(Self { lock })
    }

    /// Gives the environment back: the run is closed.
    pub fn release(mut self) {
        self.lock.wipe();
    }
}

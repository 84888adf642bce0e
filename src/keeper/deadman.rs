//! The deadman: listens to the keeper's heartbeats on a pipe. When the pipe ends, or is silent for too long, it kills
//! what is left of the keeper and becomes the keeper itself, recovering.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, Signal, getppid, pidfd_open, pidfd_send_signal, setsid},
    time::Timespec,
};

use super::KeeperError;
use crate::{
    journal::{Clock, KeeperLock, LockError, RunDir},
    model::{
        phase::Cause,
        said::{Said, said},
        time::Span,
    },
};

/// What the deadman says once it watches.
pub const READY: &str = "READY";
/// A heartbeat.
pub const BEAT: u8 = b'.';
/// The run is over: leave.
pub const LEAVE: u8 = b'Q';

/// A silence longer than this means that the keeper hangs, is stopped, or has been taken off the processor for too
/// long to be trusted with a live fault.
pub const SILENCE: Span = Span::seconds(5);

/// How long a killed keeper is waited for.
const DYING: Span = Span::seconds(10);

/// How the watch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// The run is over.
    Over,
    /// The keeper is gone, or killed and dying: its role is free as soon as its locks are.
    Lost(Cause),
}

/// Watches the keeper, our parent `keeper`, through the pipe at standard input. Returns only when the keeper has said
/// that the run is over, or when it is dead, or has been killed and does not die.
///
/// # Errors
/// If the parent cannot be watched; nothing was said then, and the keeper finds that its deadman is no deadman.
pub fn watch(keeper: u32) -> io::Result<Watched> {
    // A group of its own: a signal to the keeper's group shall not take the deadman along.
    let _ = setsid();
    let Some(parent) = parent_if(keeper) else {
        // It died before we looked, and our parent is whoever takes in orphans: nobody to watch, least of all to kill.
        return Ok(lost(None, died_early()));
    };
    let descriptor = pidfd_open(parent, PidfdFlags::empty())?;
    if parent_if(keeper).is_none() {
        // The keeper died in between, and the number may be someone else's by now.
        return Ok(lost(None, died_early()));
    }
    let said = writeln!(io::stdout(), "{READY}").and_then(|()| io::stdout().flush());
    if said.is_err() {
        let what = said!("it took no word of its deadman", "它未接受替补守护的应答");
        return Ok(lost(Some(&descriptor), what));
    }
    Ok(listen(
        &mut File::from(io::stdin().as_fd().try_clone_to_owned()?),
        parent,
        &descriptor,
    ))
}

/// Our parent, if it is still the keeper that started us.
fn parent_if(keeper: u32) -> Option<Pid> {
    getppid().filter(|parent| u32::try_from(parent.as_raw_pid()) == Ok(keeper))
}

fn died_early() -> Said {
    said!("it died while its deadman began", "它在替补守护启动时已死")
}

fn pipe_failed(error: &io::Error) -> Said {
    said!("the pipe failed: {error}", "管道出错：{error}")
}

fn listen(pipe: &mut File, parent: Pid, keeper: &OwnedFd) -> Watched {
    let silence = Timespec {
        tv_sec: (SILENCE.0 / 1000) as i64,
        tv_nsec: 0,
    };
    let mut words = [0u8; 64];
    loop {
        let mut waiting = [PollFd::new(&*pipe, PollFlags::IN)];
        match poll(&mut waiting, Some(&silence)) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(0) => {
                let what = said!(
                    "process {parent} was silent for {SILENCE}",
                    "进程 {parent} 沉默 {SILENCE}"
                );
                return lost(Some(keeper), what);
            }
            Ok(_) => {}
            Err(error) => return lost(Some(keeper), pipe_failed(&error.into())),
        }
        match pipe.read(&mut words) {
            Ok(0) => {
                return lost(
                    Some(keeper),
                    said!("process {parent} is gone", "进程 {parent} 已不在"),
                );
            }
            Ok(n) if words[..n].contains(&LEAVE) => return Watched::Over,
            // The echo tells the keeper that its deadman is neither stopped nor hung.
            Ok(_) => drop(
                io::stdout()
                    .write_all(&[BEAT])
                    .and_then(|()| io::stdout().flush()),
            ),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return lost(Some(keeper), pipe_failed(&error)),
        }
    }
}

/// Makes sure that the keeper is dead, by its descriptor and never by a number, and waits until it is. One that sleeps
/// uninterruptibly in a system call cannot be killed before that ends: its locks say then whether its role is free.
fn lost(keeper: Option<&OwnedFd>, mut what: Said) -> Watched {
    if let Some(keeper) = keeper {
        // Fails only if it is dead already.
        let _ = pidfd_send_signal(keeper, Signal::KILL);
        if !dies_within(keeper, DYING) {
            what = what.and(&said!(
                "killed, and not dead after {DYING}",
                "已杀死，但 {DYING} 后仍未退出"
            ));
        }
    }
    Watched::Lost(Cause::KeeperLost { what })
}

/// Between two attempts at a takeover, at the most: what keeps it from being done is looked at again that often.
const LONGEST_PAUSE: Span = Span::seconds(10);

/// What becomes of a takeover that could not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// The keeper that was killed still holds a lock: it is tried again as soon as that is free.
    DiesStill,
    /// Nobody else would put anything back: it is tried again after a pause.
    Again,
    /// Another keeper has the run, or there is no run to be read any more.
    ForGood,
}

/// What becomes of a takeover of the run of process `keeper` that ended so.
pub fn failed(run: &RunDir, error: &KeeperError, keeper: u32) -> Failed {
    if let KeeperError::Lock(LockError::HeldBy { holder, .. }) = error
        && holder.pid == Some(keeper)
    {
        return Failed::DiesStill;
    }
    let has_another = matches!(KeeperLock::holder(run), Ok(Some(_)));
    match has_another || !error.may_pass() || !run.path().exists() {
        true => Failed::ForGood,
        false => Failed::Again,
    }
}

/// How long to wait before the next attempt, after so many in vain.
pub fn pause_after(attempts: u32) -> Duration {
    let doubled = Span::millis(500 << attempts.min(10));
    doubled.min(LONGEST_PAUSE).into()
}

/// Waits until the process is dead, but no longer than `patience`; whether it is.
fn dies_within(process: &OwnedFd, patience: Span) -> bool {
    let deadline = Clock.now() + patience;
    loop {
        let left = deadline.since(Clock.now());
        let timeout = Timespec {
            tv_sec: (left.0 / 1000) as i64,
            tv_nsec: (left.0 % 1000 * 1_000_000) as i64,
        };
        let mut dying = [PollFd::new(process, PollFlags::IN)];
        match poll(&mut dying, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) | Err(_) => return false,
            Ok(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::{
        journal::{Holder, StateDir, story},
        model::secret::Secrets,
    };

    fn held_by(pid: Option<u32>) -> KeeperError {
        KeeperError::Lock(LockError::HeldBy {
            what: "run 7f3a".into(),
            holder: Holder { run: None, pid },
        })
    }

    #[test]
    fn the_lock_of_the_keeper_that_was_killed_is_waited_for_and_another_keeper_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let state = StateDir::open(temp.path().join("state")).unwrap();
        let run = state.create_run(&story::plan(), &Secrets::none()).unwrap();
        assert_eq!(failed(&run, &held_by(Some(7)), 7), Failed::DiesStill);
        let _lock = KeeperLock::take_within(&run, &story::run(), 8, Span::ZERO).unwrap();
        // Someone typed `recover`: the run has a keeper.
        assert_eq!(failed(&run, &held_by(Some(8)), 7), Failed::ForGood);
        assert_eq!(failed(&run, &held_by(None), 7), Failed::ForGood);
    }

    #[test]
    fn what_may_pass_is_tried_again_while_nobody_else_has_the_run() {
        let temp = tempfile::tempdir().unwrap();
        let state = StateDir::open(temp.path().join("state")).unwrap();
        let run = state.create_run(&story::plan(), &Secrets::none()).unwrap();
        let no_threads = || KeeperError::Runtime(io::ErrorKind::WouldBlock.into());
        assert_eq!(failed(&run, &no_threads(), 7), Failed::Again);
        // The environment, and not the run.
        assert_eq!(failed(&run, &held_by(Some(9)), 7), Failed::Again);
        let lock = KeeperLock::take_within(&run, &story::run(), 8, Span::ZERO).unwrap();
        assert_eq!(failed(&run, &no_threads(), 7), Failed::ForGood);
        drop(lock);
        std::fs::remove_dir_all(run.path()).unwrap();
        assert_eq!(failed(&run, &no_threads(), 7), Failed::ForGood);
        assert_eq!(
            [0, 1, 9, u32::MAX].map(|n| pause_after(n).as_millis()),
            [500, 1_000, 10_000, 10_000]
        );
    }

    #[test]
    fn a_keeper_that_does_not_die_is_not_waited_for_without_limit() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let descriptor = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let begin = Clock.now();
        assert!(!dies_within(&descriptor, Span::millis(300)));
        let took = Clock.now().since(begin);
        assert!(took >= Span::millis(300) && took < Span::seconds(5), "{took}");
        pidfd_send_signal(&descriptor, Signal::KILL).unwrap();
        assert!(dies_within(&descriptor, DYING));
        child.wait().unwrap();
    }
}

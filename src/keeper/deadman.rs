//! The deadman: listens to the keeper's heartbeats on a pipe. When the pipe ends, or is silent for too long, it kills
//! what is left of the keeper and becomes the keeper itself, recovering.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, Signal, getppid, pidfd_open, pidfd_send_signal, setsid},
    time::Timespec,
};

use crate::model::{phase::Cause, time::Span};

/// What the deadman says once it watches.
pub const READY: &str = "READY";
/// A heartbeat.
pub const BEAT: u8 = b'.';
/// The run is over: leave.
pub const LEAVE: u8 = b'Q';

/// A silence longer than this means that the keeper hangs, is stopped, or has been taken off the processor for too
/// long to be trusted with a live fault.
pub const SILENCE: Span = Span::seconds(5);

/// How the watch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// The run is over.
    Over,
    /// The keeper is gone, surely: its role is free.
    Lost(Cause),
}

/// Watches the keeper, our parent `keeper`, through the pipe at standard input. Returns only when the keeper has said
/// that the run is over, or when it is dead.
///
/// # Errors
/// If the parent cannot be watched; nothing was said then, and the keeper finds that its deadman is no deadman.
pub fn watch(keeper: u32) -> io::Result<Watched> {
    // A group of its own: a signal to the keeper's group shall not take the deadman along.
    let _ = setsid();
    let Some(parent) = parent_if(keeper) else {
        // It died before we looked, and our parent is whoever takes in orphans: nobody to watch, least of all to kill.
        return Ok(lost(None, "it died while its deadman began"));
    };
    let descriptor = pidfd_open(parent, PidfdFlags::empty())?;
    if parent_if(keeper).is_none() {
        // The keeper died in between, and the number may be someone else's by now.
        return Ok(lost(None, "it died while its deadman began"));
    }
    let said = writeln!(io::stdout(), "{READY}").and_then(|()| io::stdout().flush());
    if said.is_err() {
        return Ok(lost(Some(&descriptor), "it took no word of its deadman"));
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
                let what = format!("process {parent} was silent for {SILENCE}");
                return lost(Some(keeper), &what);
            }
            Ok(_) => {}
            Err(error) => return lost(Some(keeper), &format!("the pipe failed: {error}")),
        }
        match pipe.read(&mut words) {
            Ok(0) => return lost(Some(keeper), &format!("process {parent} is gone")),
            Ok(n) if words[..n].contains(&LEAVE) => return Watched::Over,
            // The echo tells the keeper that its deadman is neither stopped nor hung.
            Ok(_) => drop(
                io::stdout()
                    .write_all(&[BEAT])
                    .and_then(|()| io::stdout().flush()),
            ),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return lost(Some(keeper), &format!("the pipe failed: {error}")),
        }
    }
}

/// Makes sure that the keeper is dead, by its descriptor and never by a number, and waits until it is.
fn lost(keeper: Option<&OwnedFd>, what: &str) -> Watched {
    if let Some(keeper) = keeper {
        // Fails only if it is dead already.
        let _ = pidfd_send_signal(keeper, Signal::KILL);
        let mut dying = [PollFd::new(keeper, PollFlags::IN)];
        while matches!(poll(&mut dying, None), Err(rustix::io::Errno::INTR)) {}
    }
    Watched::Lost(Cause::KeeperLost {
        what: what.to_owned(),
    })
}

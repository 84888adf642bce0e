//! The process that owns a run, and the deadman that watches it.
//!
//! The keeper is one role, entered two ways: with a fresh run, or with the journal of one that another keeper left. The
//! deadman, `recover` and a run's own recovery are the same code behind the same socket, so that a console always finds
//! someone to look at.

pub mod deadman;
mod guardian;
mod launch;
mod pace;
mod role;
mod waiting;

pub use launch::{LaunchError, READY, launch};
pub use role::{Entry, KeeperError, keep};
pub use waiting::until_free;

use std::path::PathBuf;

use rustix::process::getuid;

use crate::{
    model::{ids::RunId, time::Span},
    wire,
};

/// How long the next keeper is waited for when one is lost or does not answer: the deadman needs five seconds to be sure.
pub const NEXT_KEEPER: Span = Span::seconds(20);

/// How often it is looked for meanwhile.
pub const TRY_AGAIN: Span = Span::millis(200);

/// The socket of a run on this machine.
pub fn socket_of(run: &RunId) -> PathBuf {
    let dir = wire::socket_dir(std::env::var_os("XDG_RUNTIME_DIR").as_deref(), getuid().as_raw());
    wire::socket_path(&dir, run)
}

/// Where it is when the login's own directory has gone, as it does when its user logs out.
fn socket_without_login(run: &RunId) -> PathBuf {
    wire::socket_path(&wire::socket_dir(None, getuid().as_raw()), run)
}

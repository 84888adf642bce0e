//! A clean end: consoles are taken leave of, what only an open run needs is removed, and the deadman goes last.

use super::KeeperError;
use crate::{
    engine::Ended,
    journal::{EnvironmentLock, RunDir, StateDir, StateError},
    model::{plan::Plan, time::Span},
    wire::{self, Server},
};

/// How long the locks of a process that was just killed may outlive each other.
const LAST_LOCKS: Span = Span::seconds(1);

/// Tidies up a run whose keeper has said its last word, and may have died before it could do so itself. That takes no right to
/// the environment: the next run may be on it by now, and then the signature there is its own.
pub(super) async fn tidy_closed(
    state: &StateDir,
    run: &RunDir,
    plan: &Plan,
    pid: u32,
) -> Result<(), KeeperError> {
    if let Some(socket) = run.socket()
        && let Err(error) = wire::remove_stale(&socket).await
    {
        tracing::warn!(%error, "the socket of the keeper before may be there still");
    }
    tidy_up(run)?;
    let environment = &plan.environment.name;
    if let Ok(environment) = state.lock_environment_within(environment, &plan.run, pid, LAST_LOCKS) {
        environment.release();
    }
    Ok(())
}

/// Gives the environment back. A run whose end is not on the disk is open for whoever comes next, and keeps it: they are told to
/// recover first.
pub(super) fn give_back(environment: EnvironmentLock, ended: &Ended) {
    if ended.recorded {
        environment.release();
    }
}

/// Takes leave of the consoles, tidies up, and then dismisses the deadman, which leaves last: until here it ends a keeper that
/// hangs, and tidies up in its place.
pub(super) async fn leave(run: &RunDir, server: Option<Server>, ended: &Ended, dismiss: impl FnOnce()) {
    if let Some(server) = server {
        server.close().await;
    }
    let tidied = match ended.recorded {
        true => tidy_up(run),
        // Whoever recovers it once more needs its secrets.
        false => run.forget_socket(),
    };
    if let Err(error) = tidied {
        tracing::error!(%error, "the run is over, and something of it is still in its directory");
    }
    dismiss();
}

/// Removes what only an open run needs: its secrets, and where its socket was.
pub(super) fn tidy_up(run: &RunDir) -> Result<(), StateError> {
    run.remove_secrets()?;
    run.forget_socket()
}

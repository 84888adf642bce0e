//! The signals that a keeper takes for a wish to recover.

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

use super::error::KeeperError;
use crate::{engine::Ask, model::phase::Cause};

/// SIGTERM and SIGINT put everything back; SIGHUP is the end of someone's terminal, and none of ours.
pub(super) fn on_signals(
    to_engine: mpsc::UnboundedSender<Ask>,
) -> Result<tokio::task::JoinHandle<()>, KeeperError> {
    let mut term = signal(SignalKind::terminate()).map_err(KeeperError::Signals)?;
    let mut int = signal(SignalKind::interrupt()).map_err(KeeperError::Signals)?;
    let mut hup = signal(SignalKind::hangup()).map_err(KeeperError::Signals)?;
    Ok(tokio::spawn(async move {
        loop {
            let name = tokio::select! {
                _ = term.recv() => "SIGTERM",
                _ = int.recv() => "SIGINT",
                _ = hup.recv() => continue,
            };
            let cause = Cause::Interrupted { signal: name.into() };
            if to_engine.send(Ask::Recover(cause)).is_err() {
                return;
            }
        }
    }))
}

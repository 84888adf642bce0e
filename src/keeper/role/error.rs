//! Why a keeper could not begin.

use crate::{
    drill::schedule::NoSchedule,
    drivers::error::DriverError,
    journal::{LockError, StateError},
    wire::WireError,
};

/// Why a keeper could not begin.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The run or its environment is someone else's.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The state directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// The socket.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The clients.
    #[error(transparent)]
    Drivers(#[from] DriverError),
    /// The drill.
    #[error(transparent)]
    Schedule(#[from] NoSchedule),
    /// The process cannot have its threads.
    #[error("the keeper's threads cannot be started: {0}; raise the limit on processes or open files")]
    Runtime(std::io::Error),
    /// Signals cannot be received.
    #[error("signals cannot be received: {0}; raise the limit on open files (ulimit -n)")]
    Signals(std::io::Error),
}

impl KeeperError {
    /// Whether a takeover that failed with it may succeed later: everything but what a file of the run says stays as it is.
    pub fn may_pass(&self) -> bool {
        !matches!(
            self,
            KeeperError::Schedule(_)
                | KeeperError::State(
                    StateError::Damaged { .. } | StateError::NotOurs { .. } | StateError::NoSuchRun { .. }
                )
        )
    }
}

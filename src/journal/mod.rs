//! The log on disk: the files of a run, written ahead of every change and read back by whoever goes on with it.
//!
//! ```text
//! STATE/runs/RUN/plan.json       what was planned, resolved, without secrets
//!                journal.jsonl   every event that is not a reading, each on the disk before what it announces
//!                samples.jsonl   the readings
//!                secrets.json    only while the run is not closed, and only if there are any
//!                ballast         room for the journal's last words on a full disk
//!                keeper.lock     held by the run's keeper
//!                socket          where the keeper listens
//!                keeper.log      the keeper's own log
//! STATE/environments/ENV.lock    held by the keeper whose run is on that environment
//! ```
//! All of it blocks: call it where blocking is allowed.

mod clock;
mod durable;
mod error;
mod facts;
mod head;
mod line;
mod lock;
mod owed;
mod read;
mod run_dir;
mod state_dir;
#[cfg(test)]
pub(crate) mod story;
mod tail;
#[cfg(test)]
mod tests;
mod writer;

pub use clock::Clock;
pub use error::{JournalError, StateError};
pub use facts::{Facts, FaultFact, FaultState, StepFact, facts, facts_of};
pub use line::{MAX_LINE, checked, decode, encode, frame};
pub use lock::{EnvironmentLock, Holder, KeeperLock, LockError};
pub use owed::{Owed, owed};
pub use read::{Damage, History, MAX_HELD, Stream, read, stream, without_readings};
pub use run_dir::{BALLAST, RunDir};
pub use state_dir::{RunSummary, StateDir};
pub use writer::Journal;

//! The shared words: ids, units, time, events, samples, verdicts, and their display texts.
//!
//! Pure data. Nothing here knows a clock, a file or a network.

pub mod amount;
pub mod dashboard;
pub mod drill;
pub mod environment;
pub mod event;
pub mod exit;
pub mod group;
mod histogram;
pub mod ids;
pub mod kubernetes;
pub mod lease;
pub mod phase;
pub mod plan;
pub mod playbook;
pub mod quota;
pub(crate) mod recorded;
pub mod recovery;
pub mod said;
pub mod sample;
pub mod schedule;
pub mod secret;
pub mod sheet;
pub mod snapshot;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
pub mod time;
pub mod undo;

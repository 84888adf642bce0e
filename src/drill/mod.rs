//! The state machine of a run, its schedule and the arithmetic of preflight. Pure.
//!
//! [`Machine::step`] takes what happened and the time, and gives back effects as data. It knows no clock, no runtime
//! and no files: the engine carries the effects out and says how they went.

pub mod faults;
pub mod guard;
mod machine;
mod order;
pub mod outcome;
pub mod pinned;
pub mod reach;
pub mod tenure;
mod verifying;

pub use crate::model::schedule;
pub use machine::{Effect, Input, Machine};
pub use verifying::Missing;

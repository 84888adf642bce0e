//! The sheet while a run goes on: which steps are judged together, what a row is judged from, and what comes of it.
//!
//! The statistics are `judge`'s; here is what they know nothing of: whether a fault hit anything, what else was broken
//! at the time, what the source left out.

pub(super) mod exercised;
pub(super) mod groups;
mod judging;
mod ladder;
pub(super) mod movers;
pub(super) mod rejudge;
pub(super) mod rows;
#[cfg(test)]
mod testing;
pub(super) mod verdict;

//! The faults of a run: made, watched by their hits, stopped.

mod hits;
mod injecting;
mod stopping;
pub(super) mod track;

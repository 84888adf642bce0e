//! The state machine of a run, its schedule and the arithmetic of preflight. Pure.

//! The range speaks the protocols of production, with their traps.

mod actuator;
mod flags;
mod front;
mod haproxy;
mod layout;
mod points;
#[path = "../range_support/mod.rs"]
mod range_support;
mod retry;

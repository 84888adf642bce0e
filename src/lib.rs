//! allclear: a game-day console for the terminal.
//!
//! The module map, and the law that arrows point down only, stand in ARCHITECTURE.md.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(missing_docs))]

pub mod cli;
pub mod console;
pub mod drill;
pub mod drivers;
pub mod engine;
pub mod journal;
pub mod judge;
pub mod keeper;
pub mod metrics;
pub mod model;
pub mod point;
pub mod range;
pub mod report;
pub mod spec;
pub mod view;
pub mod wire;

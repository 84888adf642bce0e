//! Recovery against real parts, without an engine: a plan, a keeper in memory, a scene, and the scripts that start the
//! parts.
#![allow(dead_code, unused_imports, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used)]

mod bus;
mod part;
mod plan;
mod staged;

pub use bus::Ledger;
pub use part::{Process, Script, Shared, free_ports, run, typed};
pub use plan::{environment, nothing_to_do, plan};
pub use staged::{PATIENCE, Staged};

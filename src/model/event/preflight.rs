//! What preflight tells: its checks, and the blast radius.

use serde::{Deserialize, Serialize};

use crate::model::{ids::InstanceName, said::Said};

/// Something preflight looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What, in a few words.
    #[serde(flatten, with = "crate::model::recorded::what")]
    pub what: Said,
    /// How it went.
    pub outcome: CheckOutcome,
    /// What was found.
    #[serde(flatten, with = "crate::model::recorded::found")]
    pub found: Said,
    /// What to do about it.
    #[serde(flatten, with = "crate::model::recorded::next_if_any")]
    pub next: Option<Said>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Fine.
    Passed,
    /// The run may go on, but people should know.
    Warned,
    /// The run may not start.
    Refused,
}

/// A line of the blast radius: requests/s × percent × min(delay, timeout) = threads held, of the pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReachLine {
    /// The instance.
    pub instance: InstanceName,
    /// Of how many instances of its service.
    pub of: usize,
    /// The fault.
    pub what: String,
    /// Requests a second that pass the envelope's gates.
    pub rate: Option<f64>,
    /// The share that is hit.
    pub share: f64,
    /// Seconds that one hit holds a thread.
    pub holds: f64,
    /// Threads held, capped by the envelope.
    pub threads: Option<f64>,
    /// Threads in the pool.
    pub pool: Option<u32>,
}

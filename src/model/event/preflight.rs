//! What preflight tells: its checks, and the blast radius.

use serde::{Deserialize, Serialize};

use crate::model::{ids::InstanceName, said::Said};

/// Something preflight looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RecordedCheck", into = "RecordedCheck")]
pub struct Check {
    /// What, in a few words.
    pub what: Said,
    /// How it went.
    pub outcome: CheckOutcome,
    /// What was found.
    pub found: Said,
    /// What to do about it.
    pub next: Option<Said>,
}

/// A check in the journal and in JSON: the English texts under their own names, for tools.
#[derive(Serialize, Deserialize)]
struct RecordedCheck {
    what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    what_zh: Option<String>,
    outcome: CheckOutcome,
    found: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    found_zh: Option<String>,
    next: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_zh: Option<String>,
}

impl From<RecordedCheck> for Check {
    fn from(record: RecordedCheck) -> Self {
        Self {
            what: Said::recorded(record.what, record.what_zh),
            outcome: record.outcome,
            found: Said::recorded(record.found, record.found_zh),
            next: record.next.map(|next| Said::recorded(next, record.next_zh)),
        }
    }
}

impl From<Check> for RecordedCheck {
    fn from(check: Check) -> Self {
        let (what, what_zh) = check.what.into_recorded();
        let (found, found_zh) = check.found.into_recorded();
        let next = check.next.map(Said::into_recorded);
        let (next, next_zh) = next.map_or((None, None), |(next, zh)| (Some(next), zh));
        Self {
            what,
            what_zh,
            outcome: check.outcome,
            found,
            found_zh,
            next,
            next_zh,
        }
    }
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

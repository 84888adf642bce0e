//! What is measured in a run: the baseline, hits, the guard.

use serde::{Deserialize, Serialize};

use crate::model::{
    said::Said,
    sample::{Query, Reading},
};

/// The period a window belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// The silent baseline.
    Baseline,
    /// A group of steps, by the index of its first step.
    Step(usize),
    /// After the last step: while recovering and verifying.
    After,
}

/// A baseline row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineRow {
    /// The query.
    pub query: Query,
    /// The level of the first half.
    pub half1: Option<f64>,
    /// The level of the second half.
    pub half2: Option<f64>,
    /// Usable windows.
    pub n: usize,
    /// The smallest change that could be shown.
    pub can_show: Option<f64>,
    /// Whether it is steady.
    pub state: Steadiness,
    /// Why it is not, or why there is nothing.
    #[serde(flatten, with = "crate::model::recorded::why_if_any")]
    pub why: Option<Said>,
}

/// Whether a baseline row is fit for judging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// Too early to say.
    Watching,
    /// Steady.
    Steady,
    /// It moves, but less than the row's bounds care for.
    Moving,
    /// It moves too much.
    Unsteady,
    /// Too few usable windows or observations.
    TooThin,
}

/// What a fault has hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hits {
    /// Calls hit.
    pub hits: u64,
    /// Calls looked at and let pass.
    pub misses: u64,
    /// Calls where the effect could not be made.
    pub failed: u64,
    /// Calls let pass because the cap was reached.
    pub capped: u64,
    /// Calls held now.
    pub held: u32,
}

/// A guard's hypothesis or tripwire as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuardState {
    /// Its index in [`Header::guard`].
    pub index: usize,
    /// What was read.
    pub reading: Reading,
    /// What is left to the limit, in base units; negative when over.
    pub room: Option<f64>,
    /// Bad fresh samples in a row.
    pub bad: u32,
    /// How it stands.
    pub health: Health,
}

/// How a guard stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// It holds.
    Holds,
    /// The last sample was bad.
    Bad,
    /// Bad for long enough.
    Broken,
    /// No fresh sample.
    Blind,
    /// No fresh sample for long enough.
    BlindTooLong,
}

//! What must hold throughout a drill.

use serde::{Deserialize, Serialize};

use crate::model::{
    ids::{MetricId, ScopeName},
    time::Span,
};

/// The steady state that must hold, and how long it may be broken before the run is aborted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    /// How often hypotheses are evaluated.
    pub every: Span,
    /// Consecutive fresh bad samples that abort. Blindness aborts after `every × samples`.
    pub samples: u32,
    /// What must hold, over windows.
    pub steady_state: Vec<Hypothesis>,
    /// Hard limits read straight from the targets each second.
    pub tripwires: Vec<Tripwire>,
}

/// One steady-state hypothesis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hypothesis {
    /// The metric.
    pub metric: MetricId,
    /// Narrowed by this scope.
    pub scope: Option<ScopeName>,
    /// Over how long it is averaged.
    pub window: Span,
    /// What must hold.
    pub limit: Limit,
}

/// An absolute limit, in base units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The value may not fall below.
    AtLeast(f64),
    /// The value may not rise above.
    AtMost(f64),
    /// The value stays within this fraction of its baseline.
    Within(f64),
}

impl Limit {
    /// Whether it says nothing without a baseline.
    pub fn needs_baseline(self) -> bool {
        matches!(self, Limit::Within(_))
    }
}

/// A hard limit, read straight from the targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tripwire {
    /// The metric: a gauge or a rate that the targets themselves expose.
    pub metric: MetricId,
    /// Narrowed by this scope.
    pub scope: Option<ScopeName>,
    /// What must hold. Never `Within`.
    pub limit: Limit,
    /// Consecutive fresh bad samples that abort.
    pub samples: u32,
}

//! What is expected of a metric.

use serde::{Deserialize, Serialize};

use crate::model::{
    amount::{Basis, Bounds},
    ids::{MetricId, ScopeName},
    sheet::Measured,
    text::Localized,
};

/// One metric, the change expected of it, and what it means if it does not come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The metric.
    pub metric: MetricId,
    /// Narrowed by this scope.
    pub scope: Option<ScopeName>,
    /// What is expected of it.
    pub change: Change,
    /// What it means if that does not come.
    pub otherwise: Option<Localized>,
}

/// The change expected of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It rises, within bounds; without bounds, by a detectable amount.
    Rises(Bounds),
    /// It falls.
    Falls(Bounds),
    /// It stays within this much of its baseline (`at_most` of the bounds).
    Stays(Bounds),
    /// Its level under the fault lies within the bounds, whatever it was before. Absolute only.
    Level(Bounds),
}

impl Change {
    /// What is measured against it.
    pub fn measured(&self) -> Measured {
        match self {
            Change::Level(_) => Measured::Level,
            Change::Rises(bounds) | Change::Falls(bounds) | Change::Stays(bounds) => match bounds.basis {
                Basis::Absolute => Measured::Change,
                Basis::Relative => Measured::RelativeChange,
            },
        }
    }
}

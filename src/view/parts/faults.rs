//! Faults as far as the events tell.

use serde::{Deserialize, Serialize};

use crate::model::{
    event::Hits,
    ids::{FaultId, InstanceName, StepName},
    said::Said,
    time::Moment,
};

/// A fault as far as the events tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultView {
    /// Its id.
    pub id: FaultId,
    /// The step and the instance; unknown if its intent was never seen.
    pub place: Option<(StepName, InstanceName)>,
    /// What a person calls it.
    pub what: String,
    /// How far it is.
    pub state: FaultState,
    /// What it has hit, and when that was read.
    pub hits: Option<(Hits, Moment)>,
    /// When the target drops it by itself.
    pub expires: Option<Moment>,
    /// When it went live.
    pub live: Option<Moment>,
    /// When it was read back as gone.
    pub gone: Option<Moment>,
}

impl FaultView {
    /// Whether it is live, or nobody knows that it is not. Its expiry does not count: only a read-back does.
    pub fn may_be_live(&self) -> bool {
        !matches!(self.state, FaultState::Gone)
    }

    /// The instance it hits.
    pub fn instance(&self) -> Option<&InstanceName> {
        self.place.as_ref().map(|(_, instance)| instance)
    }
}

/// How far a fault is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultState {
    /// About to be made: it may be there already.
    Intended,
    /// Live.
    Live,
    /// It could not be made, or it is not known whether it was. It counts as live until it is read back as gone.
    Uncertain {
        /// Why.
        #[serde(flatten, with = "crate::model::recorded::why")]
        why: Said,
    },
    /// Read back as gone.
    Gone,
}

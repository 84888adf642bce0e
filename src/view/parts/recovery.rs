//! Recovery: its steps, its times, and what may be said at the end.

use serde::{Deserialize, Serialize};

use crate::model::{
    phase::Cause,
    recovery::{Milestone, StepReport},
    time::{Moment, Span},
};

/// Recovery has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveringView {
    /// When.
    pub since: Moment,
    /// Why.
    pub cause: Cause,
}

/// A step of recovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryView {
    /// As it stands.
    pub report: StepReport,
    /// When that came.
    pub at: Moment,
}

/// The three times, each after the start of recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Times {
    /// Every fault was read back as gone.
    pub faults_gone: Option<Span>,
    /// Every hypothesis about users held again.
    pub users_ok: Option<Span>,
    /// Everything was put back, and held.
    pub all_clear: Option<Span>,
}

impl Times {
    /// The time of one of them.
    pub fn of(&self, milestone: Milestone) -> Option<Span> {
        match milestone {
            Milestone::FaultsGone => self.faults_gone,
            Milestone::UsersOk => self.users_ok,
            Milestone::AllClear => self.all_clear,
        }
    }
}

/// What may be said about the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Refused before anything was touched.
    Refused,
    /// Stopped before anything was injected: nothing had to be put back, and nothing was verified.
    Untouched,
    /// Everything is back, and held.
    AllClear,
    /// Something was seen to be left.
    Leftover,
    /// Something could not be read back.
    Unknown,
    /// The keeper closed the run while its own events leave faults that were never read back as gone.
    Contradicted {
        /// That many.
        live: usize,
    },
}

//! What the machine wants done.

use crate::model::{
    event::{Body, Outcome},
    phase::Phase,
    recovery::{Leftover, StepId},
    time::Moment,
};

/// What the engine shall do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Record and show an event.
    Emit(Body),
    /// Look at everything, touch nothing.
    RunPreflight,
    /// Judge the baseline so far.
    JudgeBaseline,
    /// Read once more what recovery may change: what somebody has changed since preflight would be put back to before that.
    ReadAgain {
        /// Its number, for [`Input::ReadAgain`](super::Input::ReadAgain).
        look: u32,
    },
    /// Freeze the baseline's levels.
    FreezeBaseline,
    /// Forget what the guard counted: a phase begins.
    RestartGuard,
    /// Make the faults of a step: intent first.
    Inject {
        /// The step's index.
        step: usize,
    },
    /// Stop the faults of a step and read back that they are gone.
    StopStep {
        /// The step's index.
        step: usize,
    },
    /// Judge all rows with what there is, now.
    FinishRows,
    /// Carry out a recovery step.
    Recover {
        /// Which.
        step: StepId,
        /// Whether steps 3 to 7 have anything to put back.
        needed: bool,
    },
    /// Run a command of the playbook.
    RunCommand {
        /// Its index.
        index: usize,
        /// Whether steps 3 to 7 have anything to put back; if not, a command whose check passes is not run.
        needed: bool,
    },
    /// Read whether steps 3 to 7 have anything to put back.
    Assess,
    /// Read everything a last time, as [`Input::FinalRead`].
    ReadEverything,
    /// Tell those who are to be told. Only after the faults were stopped.
    Notify {
        /// What may remain; empty when a run was aborted and its faults are stopped.
        left: Vec<Leftover>,
    },
    /// The run is over.
    Close(Outcome),
}

pub(in crate::drill) type Effects = Vec<Effect>;

pub(super) fn phase(phase: Phase, until: Option<Moment>) -> Effect {
    Effect::Emit(Body::Phase { phase, until })
}

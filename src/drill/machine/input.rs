//! What the machine is told.

use crate::{
    drill::verifying::Missing,
    model::{
        event::{Doubt, GuardState},
        ids::FaultId,
        phase::Cause,
        recovery::{Leftover, StepId},
        said::Said,
        sheet::Verdict,
        time::Span,
    },
};

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// Preflight is over; any reason refuses the run.
    PreflightDone {
        /// Why the run may not start.
        refused: Vec<Said>,
    },
    /// The baseline has been judged.
    BaselineJudged {
        /// Why it is not fit to arm on.
        blockers: Vec<Said>,
    },
    /// What recovery may change has been read again; the snapshot is as new as that.
    ReadAgain {
        /// Which look, of [`Effect::ReadAgain`](super::Effect::ReadAgain).
        look: u32,
        /// Why the run may not be armed.
        blockers: Vec<Said>,
    },
    /// Nobody looked for a while: the machine slept, or the keeper hung.
    Slept,
    /// The deadman is there and has said so.
    DeadmanReady,
    /// The deadman is gone.
    DeadmanLost,
    /// A fault is about to be made; its intent is durable.
    FaultIntended(FaultId),
    /// A fault could not be made, or it is not known whether it was.
    FaultFailed(FaultId, Said),
    /// A fault was read back as gone.
    FaultGone(FaultId),
    /// The guard has looked; the text says what, with value, limit and count.
    Guard(GuardState, Said),
    /// Someone or something wants everything put back.
    Recover(Cause),
    /// The commander wants a longer baseline.
    Extend(Span),
    /// A recovery step is over, well or not.
    StepOver(StepId),
    /// A recovery step waits only for targets that do not answer: later steps may begin before it is over.
    GoOn(StepId),
    /// A command of the playbook is over.
    CommandOver(usize, Vec<Leftover>),
    /// Whether anything of steps 3 to 7 has to be put back.
    Assessed {
        /// It has, or it could not be read.
        needed: bool,
    },
    /// What is not yet back inside its baseline. Empty: everything holds now.
    Settling {
        /// One each.
        missing: Vec<Missing>,
        /// Whether every hypothesis of the guard holds with a fresh sample taken after the faults were gone.
        users_ok: bool,
    },
    /// Nothing was touched yet, and nothing may be.
    Unfit {
        /// Why.
        why: Said,
    },
    /// The last read of everything recovery may have changed or missed.
    FinalRead {
        /// What was found, after it was tried once more to put it back.
        found: Vec<Leftover>,
        /// Whether something had to be put back once more: then everything has to hold again.
        repaired: bool,
    },
    /// Something stands against HELD, and on no row.
    Doubt(Doubt),
    /// All rows of the sheet are final.
    RowsFinal(Vec<Verdict>),
}

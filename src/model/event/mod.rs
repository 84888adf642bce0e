//! What happens in a run, in one line of numbered events. The keeper alone makes them; everything that shows or stores
//! a run only reads them.

mod header;
mod measured;
mod outcome;
mod preflight;
mod record;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ids::{FaultId, StepName},
    phase::{Cause, Phase},
    recovery::{Leftover, Milestone, StepReport},
    said::Said,
    sample::{Query, Window},
    sheet::{Moved, RowState},
    snapshot::{BaselineLevels, Changed, Snapshot},
    time::{Moment, Span},
    undo::{ChangeIntent, FaultIntent},
};

pub use header::{GuardHeader, Header, MetricHeader, RowHeader, StepHeader};
pub use measured::{BaselineRow, GuardState, Health, Hits, Period, Steadiness};
pub use outcome::{Doubt, Outcome};
pub use preflight::{Check, CheckOutcome, ReachLine};

/// One event.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "record::Record<Body, String>")]
pub struct Event {
    /// Its number in the run, from 1, without gaps.
    pub seq: u64,
    /// When, on the clock that counts suspend.
    pub at: Moment,
    /// When, for people.
    pub wall: Timestamp,
    /// What.
    pub body: Body,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// A keeper has opened the run: the first event.
    Opened(Box<Header>),
    /// Another keeper goes on with the run: the deadman's, or `recover`'s.
    TakenOver {
        /// Its process id.
        pid: u32,
        /// Why.
        cause: Cause,
    },
    /// A deadman watches the keeper.
    DeadmanReady {
        /// Its process id.
        pid: u32,
    },
    /// The deadman died; another is started.
    DeadmanLost {
        /// Its process id.
        pid: u32,
    },
    /// The run has entered a phase.
    Phase {
        /// Which.
        phase: Phase,
        /// When it ends by itself, if it does.
        until: Option<Moment>,
    },

    /// Preflight looked at something.
    Check(Check),
    /// The arithmetic of the blast radius, one line an instance and fault.
    Reach(Vec<ReachLine>),
    /// The worst time from a bad sample to a stop.
    Stops {
        /// By a tripwire.
        tripwire: Option<Span>,
        /// By the guard: shortest and longest.
        guard: (Span, Span),
    },
    /// What recovery may change, as it is now.
    SnapshotTaken(Box<Snapshot>),
    /// What somebody has changed since preflight: the snapshot that follows has it as it is now.
    ChangedMeanwhile(Vec<Changed>),
    /// The run was refused; nothing was touched.
    Refused {
        /// Why, one line each.
        #[serde(flatten, with = "super::recorded::reasons")]
        reasons: Vec<Said>,
    },

    /// A baseline row as it stands.
    Baseline(BaselineRow),
    /// The baseline is extended.
    Extended {
        /// Until when.
        until: Moment,
    },
    /// The baseline is not fit to arm on; a commander can extend it.
    CannotArm {
        /// Why, one line each.
        #[serde(flatten, with = "super::recorded::reasons")]
        reasons: Vec<Said>,
    },
    /// The baseline is over: levels and detectable changes are frozen.
    Frozen(BaselineLevels),

    /// A step has begun.
    StepStarted {
        /// Its index.
        step: usize,
        /// When it ends.
        until: Moment,
        /// Its start on the clock of the metrics' source.
        source_ms: i64,
    },
    /// A step is over.
    StepEnded {
        /// Its index.
        step: usize,
    },
    /// A fault is about to be made. Durable before it is made.
    FaultIntended(FaultIntent),
    /// It is live.
    FaultLive {
        /// Which.
        fault: FaultId,
        /// When the target drops it by itself.
        expires: Option<Moment>,
    },
    /// It could not be made, or it is not known whether it was.
    FaultFailed {
        /// Which.
        fault: FaultId,
        /// Why.
        #[serde(flatten, with = "super::recorded::why")]
        why: Said,
    },
    /// What it has hit so far.
    FaultHits {
        /// Which.
        fault: FaultId,
        /// The counters.
        hits: Hits,
    },
    /// It was read back as gone.
    FaultGone {
        /// Which.
        fault: FaultId,
    },

    /// A window of a query is complete.
    Window {
        /// The query.
        query: Query,
        /// The period it belongs to.
        period: Period,
        /// The window.
        window: Window,
    },
    /// The guard looked at something.
    Guard(GuardState),
    /// A row of the sheet, as it stands; `last` makes it final.
    Row(RowState),
    /// Metrics that moved and are not on the sheet; replaces the earlier list of its step.
    Moved(Vec<Moved>),
    /// Why a fault without effect had none: the rungs of the ladder, first to last.
    Ladder {
        /// The step.
        step: StepName,
        /// Each rung and what was found.
        #[serde(flatten, with = "super::recorded::rungs")]
        rungs: Vec<(Said, Said)>,
    },

    /// Something stands against HELD, and on no row.
    Doubted(Doubt),

    /// Recovery has been decided. Durable.
    Recovering {
        /// Why.
        cause: Cause,
    },
    /// A recovery step has changed its state.
    Recovery(StepReport),
    /// Recovery is about to change something. Durable before it is made.
    ChangeIntended(ChangeIntent),
    /// One of the three times has come. After the start of recovery.
    Reached {
        /// Which.
        milestone: Milestone,
        /// How long after recovery began.
        after: Span,
    },
    /// What may remain: replaces the earlier list.
    MayRemain(Vec<Leftover>),

    /// Someone wrote a note.
    Note {
        /// Who.
        by: String,
        /// What.
        text: String,
    },
    /// Something people should see that fits nowhere else.
    Warning(#[serde(with = "super::recorded::english_alone")] Said),
    /// How many consoles look.
    Watching {
        /// That many.
        consoles: usize,
    },
    /// Someone was told.
    Notified {
        /// Whom: the host only.
        whom: String,
        /// What went wrong, if it did.
        error: Option<String>,
    },
    /// The run is over: the last event.
    Closed(Outcome),
}

impl Body {
    /// Whether the event is one of the many readings of a run. These go to the samples' file and are not synced one by
    /// one; all others are in the journal.
    pub fn is_reading(&self) -> bool {
        match self {
            Body::Window { .. }
            | Body::Guard(_)
            | Body::FaultHits { .. }
            | Body::Baseline(_)
            | Body::Watching { .. } => true,
            Body::Row(row) => !row.last,
            Body::Moved(_) => true,
            Body::Recovery(report) => !report.state.is_over(),
            _ => false,
        }
    }
}

//! What happens in a run, in one line of numbered events. The keeper alone makes them; everything that shows or stores
//! a run only reads them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    amount::Unit,
    environment::Stage,
    ids::{DrillName, EnvironmentName, FaultId, InstanceName, MetricId, RunId, ScopeName, StepName},
    phase::{Cause, Phase},
    recovery::{Leftover, Milestone, Recovered, StepReport},
    sample::{Query, Reading, Window},
    sheet::{Hypothesis, Moved, RowId, RowState},
    snapshot::{BaselineLevels, Snapshot},
    text::Localized,
    time::{Moment, Span},
    undo::{ChangeIntent, FaultIntent},
};

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The run was refused; nothing was touched.
    Refused {
        /// Why, one line each.
        reasons: Vec<String>,
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
        reasons: Vec<String>,
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
        why: String,
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
        rungs: Vec<(String, String)>,
    },

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
    Warning(String),
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

/// What opens a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The run.
    pub run: RunId,
    /// The drill.
    pub drill: DrillName,
    /// Its title.
    pub title: Localized,
    /// Its hypothesis.
    pub hypothesis: Localized,
    /// The environment.
    pub environment: EnvironmentName,
    /// Its stage.
    pub stage: Stage,
    /// The keeper's process id.
    pub keeper: u32,
    /// The version that runs it.
    pub version: String,
    /// How long the silent baseline is planned.
    pub baseline: Span,
    /// The width of a window.
    pub window: Span,
    /// The steps, for reading the sheet.
    pub steps: Vec<StepHeader>,
    /// The guard's hypotheses, then its tripwires, as [`GuardState::index`] counts them.
    pub guard: Vec<GuardHeader>,
    /// The metrics, for titles and units.
    pub metrics: Vec<MetricHeader>,
    /// Panels of the chart screen: title and queries.
    pub panels: Vec<(Localized, Vec<Query>)>,
    /// The map: service, instances, calls, pool threads, shared resources.
    pub topology: Vec<super::dashboard::TopologyNode>,
    /// The pinned target instances.
    pub targets: Vec<InstanceName>,
}

/// A step, for reading the sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepHeader {
    /// Its name.
    pub name: StepName,
    /// What it does: `coupon.query delay 2s ±500ms`, `load 200/s`, or nothing.
    pub what: String,
    /// Whether it makes something that must be undone.
    pub breaks: bool,
    /// For how long.
    pub duration: Span,
    /// The cap on held calls, per instance.
    pub max_concurrent: Option<u32>,
    /// Its rows.
    pub rows: Vec<RowHeader>,
}

/// A row, for reading the sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowHeader {
    /// The metric.
    pub metric: MetricId,
    /// Its scope.
    pub scope: Option<ScopeName>,
    /// The declared change, short: `+≥1.5s`, `±0.5pp`.
    pub declared: String,
    /// What it means if it does not come.
    pub otherwise: Option<Localized>,
}

/// A hypothesis or a tripwire, for reading the guard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuardHeader {
    /// The metric.
    pub metric: MetricId,
    /// Its scope.
    pub scope: Option<ScopeName>,
    /// The instance, for a tripwire.
    pub instance: Option<InstanceName>,
    /// The limit, short: `≥ 99%`.
    pub limit: String,
    /// Bad samples in a row that abort.
    pub samples: u32,
}

/// A metric, for titles and units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricHeader {
    /// Its id.
    pub id: MetricId,
    /// Its title.
    pub title: Localized,
    /// Its unit.
    pub unit: Unit,
}

/// Something preflight looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What, in a few words.
    pub what: String,
    /// How it went.
    pub outcome: CheckOutcome,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub next: Option<String>,
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
    pub why: Option<String>,
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

/// How a run ended: two axes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether the hypothesis held; `None` if no fault was ever armed.
    pub hypothesis: Option<Hypothesis>,
    /// Whether everything is back.
    pub recovered: Recovered,
    /// Why recovery began.
    pub cause: Option<Cause>,
    /// Whether it was refused before anything was touched.
    pub refused: bool,
    /// The exit code of `run` and `smoke`, without `--allow-undecided`.
    pub exit: u8,
}

impl Outcome {
    /// Whether the words ALL CLEAR may be said.
    pub fn all_clear(&self) -> bool {
        self.recovered == Recovered::Recovered && !self.refused
    }
}

/// The row's place among the header's steps.
impl Header {
    /// The header of a row.
    pub fn row(&self, id: RowId) -> Option<&RowHeader> {
        self.steps.get(id.step)?.rows.get(id.row)
    }

    /// The unit of a metric; a count if it is not known.
    pub fn unit(&self, metric: &MetricId) -> Unit {
        self.metrics
            .iter()
            .find(|m| &m.id == metric)
            .map_or(Unit::Count, |m| m.unit)
    }
}

//! The parts of a [`RunView`](super::RunView). Values that age carry the moment at which they came.

use std::collections::VecDeque;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::{
    amount::Level,
    event::{BaselineRow, GuardState, Hits, Period},
    ids::{FaultId, InstanceName, StepName},
    phase::{Cause, Phase},
    recovery::{Milestone, StepReport},
    sample::Query,
    sheet::{Moved, RowId, RowState},
    time::{Moment, Span},
};

/// Where the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseView {
    /// The phase.
    pub phase: Phase,
    /// Since when.
    pub since: Moment,
    /// When it ends by itself, if it does.
    pub until: Option<Moment>,
}

impl Default for PhaseView {
    fn default() -> Self {
        Self {
            phase: Phase::Preflight,
            since: Moment::default(),
            until: None,
        }
    }
}

/// A guard as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuardView {
    /// What was read and how it stands.
    pub state: GuardState,
    /// When.
    pub at: Moment,
}

/// A step of the drill as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepView {
    /// When it began.
    pub started: Option<Moment>,
    /// When it ends.
    pub until: Option<Moment>,
    /// When it ended.
    pub ended: Option<Moment>,
}

impl StepView {
    /// Whether it runs.
    pub fn runs(&self) -> bool {
        self.started.is_some() && self.ended.is_none()
    }
}

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
        why: String,
    },
    /// Read back as gone.
    Gone,
}

/// A row of the sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowView {
    /// Its place.
    pub id: RowId,
    /// As it stands; nothing before its step.
    pub state: Option<RowState>,
    /// When that came.
    pub at: Moment,
}

/// A metric that moved and is not on the sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MovedView {
    /// Which, and how far.
    pub moved: Moved,
    /// When it was first seen.
    pub since: Moment,
}

/// The ladder of a step that had no effect: how far a call gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LadderView {
    /// The step.
    pub step: StepName,
    /// Each rung and what was found.
    pub rungs: Vec<(String, String)>,
}

/// A row of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineView {
    /// The row.
    pub row: BaselineRow,
    /// When it came.
    pub at: Moment,
}

/// A frozen level of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelView {
    /// The query.
    pub query: Query,
    /// Its level.
    pub level: Level,
    /// The smallest and the largest level that was seen.
    pub seen: (Level, Level),
}

/// The worst time from a bad sample to a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stops {
    /// By a tripwire.
    pub tripwire: Option<Span>,
    /// By the guard, shortest and longest.
    pub guard: (Span, Span),
}

/// What recovery may change, counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SnapshotView {
    /// Servers of the gateway.
    pub servers: usize,
    /// Breakers.
    pub breakers: usize,
    /// Breakers that were not closed.
    pub not_closed: usize,
    /// Flags that were there already.
    pub flags: usize,
    /// Retry queues.
    pub retry_queues: usize,
    /// Messages that waited in them.
    pub backlog: u64,
    /// Things at the injectors that are not this run's.
    pub foreign: Vec<String>,
}

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

/// A note or a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// When, for people.
    pub wall: Timestamp,
    /// Who, if a person.
    pub by: Option<String>,
    /// What.
    pub text: String,
}

/// Who watches the keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadman {
    /// Nobody yet.
    #[default]
    NotYet,
    /// A process that has acknowledged.
    Ready {
        /// Its id.
        pid: u32,
    },
    /// It died; another is being started.
    Lost {
        /// Its id.
        pid: u32,
    },
}

/// The chart of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// The query.
    pub query: Query,
    /// Its newest points, oldest first.
    pub points: VecDeque<Point>,
}

/// A point of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// When it came.
    pub at: Moment,
    /// The period it belongs to.
    pub period: Period,
    /// Its value; a gap stays a gap and is never drawn as 0.
    pub value: Option<Level>,
}

/// A line of the journal, in both languages, so that a console can show it in its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// When, for people.
    pub wall: Timestamp,
    /// How it is meant.
    pub tone: Tone,
    /// In English.
    pub en: String,
    /// In Chinese.
    pub zh: String,
}

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// Look here.
    Look,
    /// A live fault, or something left.
    Alarm,
    /// It holds; it is put back.
    Good,
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

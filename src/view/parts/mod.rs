//! The parts of a [`RunView`](super::RunView). Values that age carry the moment at which they came.

mod faults;
mod measured;
mod recovery;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::{faults::*, measured::*, recovery::*};
use crate::model::{
    phase::Phase,
    said::Said,
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

/// A note or a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// When, for people.
    pub wall: Timestamp,
    /// Who, if a person.
    pub by: Option<String>,
    /// What. A note is as it was written, in either language.
    #[serde(flatten, with = "crate::model::recorded::text")]
    pub text: Said,
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

//! What was measured. Values that age carry the moment at which they came.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::model::{
    amount::Level,
    event::{BaselineRow, GuardState, Period},
    ids::StepName,
    said::Said,
    sample::Query,
    sheet::{Moved, RowId, RowState},
    time::Moment,
};

/// A guard as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuardView {
    /// What was read and how it stands.
    pub state: GuardState,
    /// When.
    pub at: Moment,
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
    #[serde(flatten, with = "crate::model::recorded::rungs")]
    pub rungs: Vec<(Said, Said)>,
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

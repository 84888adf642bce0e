//! The reconciliation sheet: a row per step and expectation.

use serde::{Deserialize, Serialize};

use super::{
    amount::{Level, Unit},
    said::Said,
    text::{Lang, Word},
    time::Span,
};

/// A row's place: the step's and the expectation's index in the drill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RowId {
    /// Index of the step.
    pub step: usize,
    /// Index of the expectation in the step.
    pub row: usize,
}

/// What the data say about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// The measured change lies inside the declared one.
    #[serde(rename = "AS EXPECTED")]
    AsExpected,
    /// It lies outside.
    #[serde(rename = "UNEXPECTED")]
    Unexpected,
    /// The data do not decide.
    #[serde(rename = "UNDECIDED")]
    Undecided,
    /// Too little data.
    #[serde(rename = "NO DATA")]
    NoData,
    /// The fault hit nothing: nothing was tested.
    #[serde(rename = "NOT EXERCISED")]
    NotExercised,
    /// Another group's fault was live in the row's windows.
    #[serde(rename = "CONFOUNDED")]
    Confounded,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Verdict; 6] = [
        Verdict::AsExpected,
        Verdict::Unexpected,
        Verdict::Undecided,
        Verdict::NoData,
        Verdict::NotExercised,
        Verdict::Confounded,
    ];
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word(Lang::En))
    }
}

impl Word for Verdict {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            Verdict::AsExpected => lang.pick("AS EXPECTED", "符合预期"),
            Verdict::Unexpected => lang.pick("UNEXPECTED", "不符预期"),
            Verdict::Undecided => lang.pick("UNDECIDED", "未定"),
            Verdict::NoData => lang.pick("NO DATA", "无数据"),
            Verdict::NotExercised => lang.pick("NOT EXERCISED", "未触发"),
            Verdict::Confounded => lang.pick("CONFOUNDED", "受干扰"),
        }
    }
}

/// What a row's interval is an interval of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// The change, in the metric's unit; for a ratio in percentage points.
    #[default]
    Change,
    /// The change, as a fraction of the baseline.
    RelativeChange,
    /// The level under the fault.
    Level,
}

impl Measured {
    /// An end of the interval with its unit: `+1.52s`, `-0.40pp`, `+12.0%`, `262ms`.
    pub fn show(self, unit: Unit, end: Level) -> String {
        match self {
            Measured::Change => unit.show_change(end.0),
            Measured::RelativeChange if end.0.is_infinite() => unit.show_change(end.0),
            Measured::RelativeChange => format!("{:+.1}%", end.0 * 100.0),
            Measured::Level => unit.show(end.0),
        }
    }
}

/// A row as it stands. Numbers in base units; `None` where there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowState {
    /// Which.
    pub row: RowId,
    /// The verdict so far, or the last one.
    pub verdict: Verdict,
    /// Why, in a few words.
    #[serde(flatten, with = "super::recorded::reason")]
    pub reason: Said,
    /// The level before.
    pub before: Option<Level>,
    /// The level under the fault.
    pub now: Option<Level>,
    /// The ends of the interval of what was judged, which its header's [`Measured`] names.
    pub low: Option<Level>,
    /// See `low`.
    pub high: Option<Level>,
    /// Usable windows so far.
    pub windows: usize,
    /// Whether the row is final.
    pub last: bool,
    /// How old the newest sample is.
    pub age: Span,
    /// Whether the source said that an answer was incomplete.
    #[serde(default)]
    pub partial: bool,
}

/// A metric that moved and is not on the sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The metric.
    pub metric: super::ids::MetricId,
    /// Its level before.
    pub before: f64,
    /// Its level under the fault.
    pub now: f64,
    /// The step in which it was seen.
    pub step: super::ids::StepName,
}

/// Whether the drill's hypothesis held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Hypothesis {
    /// Every row is as expected.
    Held,
    /// A row is not, or the guard ended the run.
    Falsified,
    /// The data do not say.
    Undecided,
}

impl Word for Hypothesis {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            Hypothesis::Held => lang.pick("HELD", "成立"),
            Hypothesis::Falsified => lang.pick("FALSIFIED", "被推翻"),
            Hypothesis::Undecided => lang.pick("UNDECIDED", "未定"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_shown_as_what_was_measured() {
        let show = |measured: Measured, unit, end| measured.show(unit, Level(end));
        assert_eq!(show(Measured::Change, Unit::Percent, -0.004), "-0.40pp");
        assert_eq!(show(Measured::RelativeChange, Unit::Percent, -0.004), "-0.4%");
        assert_eq!(show(Measured::RelativeChange, Unit::Seconds, 0.12), "+12.0%");
        assert_eq!(show(Measured::RelativeChange, Unit::Seconds, f64::INFINITY), "+∞");
        assert_eq!(show(Measured::Level, Unit::Seconds, 0.262), "262ms");
    }
}

//! A row's verdict. Whatever the statistics say, a row is never AS EXPECTED if its fault hit nothing, if another fault
//! disturbed it, or if the source called its own answer incomplete.

use std::collections::BTreeMap;

use super::exercised::Exercised;
use crate::{
    judge::{self, Case, Expect, Judgement},
    model::{
        amount::{Level, Unit},
        sheet::{RowId, RowState, Verdict},
        time::Span,
    },
};

/// A row, ready to be judged on another thread.
#[derive(Debug)]
pub struct Prepared {
    pub(in crate::engine) id: RowId,
    pub(in crate::engine) case: Option<Case>,
    pub(in crate::engine) exercised: Exercised,
    pub(in crate::engine) partial: bool,
    pub(in crate::engine) windows: usize,
    pub(in crate::engine) age: Span,
    pub(in crate::engine) last: bool,
    pub(in crate::engine) unit: Unit,
    pub(in crate::engine) resets: u32,
    pub(in crate::engine) confounded: Option<String>,
    pub(in crate::engine) no_data: Option<String>,
}

impl Prepared {
    /// The row as it stands.
    pub fn judge(self) -> RowState {
        let mut row = RowState {
            row: self.id,
            verdict: Verdict::NoData,
            reason: "not begun".into(),
            before: None,
            now: None,
            low: None,
            high: None,
            windows: self.windows,
            last: self.last,
            age: self.age,
            partial: self.partial,
        };
        let Some(case) = &self.case else { return row };
        let judged = judge::verdict(case);
        row.low = judged.lo.map(Level);
        row.high = judged.hi.map(Level);
        row.before = judged
            .base
            .or_else(|| judge::level(case.periods.baseline()))
            .map(Level);
        row.now = judged
            .level
            .or_else(|| judge::level(case.periods.injection()))
            .map(Level);
        (row.verdict, row.reason) = self.weighed(judged.verdict, self.reason(&judged));
        if row.verdict == Verdict::NoData {
            row.reason = self.no_data.unwrap_or(row.reason);
        }
        row
    }

    /// Why, with what a reader needs to weigh it: the bound that was straddled, a drift taken out, counter resets.
    fn reason(&self, judged: &Judgement) -> String {
        let relative = self
            .case
            .as_ref()
            .is_some_and(|c| c.expect.unit() == judge::Unit::Rel);
        let is_level = self
            .case
            .as_ref()
            .is_some_and(|c| matches!(c.expect, Expect::Level { .. }));
        let show = |x: f64| match (relative, self.unit) {
            (true, _) => format!("{:.1}%", x * 100.0),
            (false, Unit::Percent) if !is_level => format!("{:.2}pp", x * 100.0),
            (false, unit) => unit.show(x),
        };
        let mut reason = judged.reason.to_string();
        for s in &judged.straddled {
            reason.push_str(&format!(" {} by {}", show(s.bound), show(s.past)));
        }
        if judged.drift_taken_out {
            reason.push_str("; drift of the baseline taken out");
        }
        match self.resets {
            0 => {}
            1 => reason.push_str("; 1 counter reset"),
            n => reason.push_str(&format!("; {n} counter resets")),
        }
        reason
    }

    /// What the statistics may not say by themselves.
    fn weighed(&self, verdict: Verdict, reason: String) -> (Verdict, String) {
        if let Some(why) = &self.confounded {
            return (Verdict::Confounded, why.clone());
        }
        match self.exercised {
            Exercised::No => return (Verdict::NotExercised, "the fault hit nothing".into()),
            Exercised::Unknown if verdict == Verdict::AsExpected => {
                return (
                    Verdict::Undecided,
                    "its hits are not known, or it was gone before its time".into(),
                );
            }
            Exercised::Unknown | Exercised::Yes => {}
        }
        if self.partial && verdict == Verdict::AsExpected {
            return (Verdict::Undecided, "the source's answers were incomplete".into());
        }
        (verdict, reason)
    }
}

/// The final verdicts, in the sheet's order.
pub fn verdicts(rows: &BTreeMap<RowId, RowState>) -> Vec<Verdict> {
    rows.values().map(|r| r.verdict).collect()
}

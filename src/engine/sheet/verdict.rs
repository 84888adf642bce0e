//! A row's verdict. Whatever the statistics say, a row is never AS EXPECTED if its fault hit nothing, if another fault
//! disturbed it, or if the source called its own answer incomplete.

use std::collections::BTreeMap;

use super::exercised::Exercised;
use crate::{
    judge::{self, Case, Expect, Judgement},
    model::{
        amount::{Level, Unit},
        said::{Said, said},
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
    pub(in crate::engine) confounded: Option<Said>,
    pub(in crate::engine) no_data: Option<Said>,
}

impl Prepared {
    /// The row as it stands.
    pub fn judge(self) -> RowState {
        let mut row = RowState {
            row: self.id,
            verdict: Verdict::NoData,
            reason: said!("not begun", "未开始"),
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
    fn reason(&self, judged: &Judgement) -> Said {
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
        let why = judged.straddled.iter().fold(judged.reason.said(), |why, s| {
            let (bound, past) = (show(s.bound), show(s.past));
            said!(why; "{why} {bound} by {past}", "{why} {bound}，超出 {past}")
        });
        let drift = said!("drift of the baseline taken out", "已扣除基线漂移");
        let resets = match self.resets {
            1 => said!("1 counter reset", "计数器重置 1 次"),
            n => said!("{n} counter resets", "计数器重置 {n} 次"),
        };
        let noted = [(judged.drift_taken_out, &drift), (self.resets > 0, &resets)];
        let noted = noted.into_iter().filter_map(|(so, said)| so.then_some(said));
        Said::sentences([&why].into_iter().chain(noted))
    }

    /// What the statistics may not say by themselves.
    fn weighed(&self, verdict: Verdict, reason: Said) -> (Verdict, Said) {
        if let Some(why) = &self.confounded {
            return (Verdict::Confounded, why.clone());
        }
        match self.exercised {
            Exercised::No => {
                return (
                    Verdict::NotExercised,
                    said!("the fault hit nothing", "故障未命中任何请求"),
                );
            }
            Exercised::Unknown if verdict == Verdict::AsExpected => {
                return (Verdict::Undecided, not_shown());
            }
            Exercised::Unknown | Exercised::Yes => {}
        }
        if self.partial && verdict == Verdict::AsExpected {
            let why = said!("the source's answers were incomplete", "数据源应答不完整");
            return (Verdict::Undecided, why);
        }
        (verdict, reason)
    }
}

/// Why a row is not AS EXPECTED whose fault was not shown to work.
fn not_shown() -> Said {
    said!(
        "its hits are not known or all of them failed, or it was gone before its time",
        "命中数未知或全部失败，或故障提前消失"
    )
}

/// What earlier versions said of it.
const NOT_SHOWN_BEFORE: &str = "its hits are not known, or it was gone before its time";

/// Whether a recorded row says so.
pub(super) fn was_not_shown(row: &RowState) -> bool {
    let why = row.reason.en();
    row.verdict == Verdict::Undecided && (why == not_shown().en() || why == NOT_SHOWN_BEFORE)
}

/// The final verdicts, in the sheet's order.
pub fn verdicts(rows: &BTreeMap<RowId, RowState>) -> Vec<Verdict> {
    rows.values().map(|r| r.verdict).collect()
}

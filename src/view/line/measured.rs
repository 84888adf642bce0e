//! Lines of what was measured.

use super::{
    super::label::{guard_label, row_label},
    Teller,
};
use crate::model::{
    amount::{Level, thousands},
    event::{BaselineRow, GuardState, Health},
    sample::{Numbers, Query, Window},
    sheet::{Moved, RowState, Verdict},
    text::Word,
};

impl Teller<'_> {
    fn show(&self, query: &Query, value: Option<f64>) -> String {
        value.map_or("--".to_owned(), |v| self.header.unit(&query.metric).show(v))
    }

    pub(super) fn baseline(&self, row: &BaselineRow) -> String {
        let (half1, half2) = (self.show(&row.query, row.half1), self.show(&row.query, row.half2));
        let line = format!(
            "{} {} {half1} | {half2} n {} {} {} {}",
            self.t("baseline", "基线"),
            row.query,
            row.n,
            self.t("can show", "可分辨"),
            self.show(&row.query, row.can_show),
            row.state.word(self.lang),
        );
        match &row.why {
            Some(why) => format!("{line}{}{}", self.t(": ", "："), why.get(self.lang)),
            None => line,
        }
    }

    pub(super) fn window(&self, query: &Query, window: &Window) -> String {
        let unit = self.header.unit(&query.metric);
        let numbers = match &window.numbers {
            Ok(Numbers::Gauge(x)) => unit.show(*x),
            Ok(Numbers::Rate([part, whole]) | Numbers::Ratio([part, whole])) => unit.show(part / whole),
            Ok(Numbers::Quantile(counts)) => {
                let all = counts.last().copied().unwrap_or(0.0);
                format!("{} {}", thousands(all), self.t("observations", "个观测"))
            }
            Err(gap) => gap.to_string(),
        };
        let partial = if window.marks.partial {
            self.t(" (partial)", " (不完整)")
        } else {
            ""
        };
        format!(
            "{} {} #{} {numbers}{partial}",
            self.t("window", "窗口"),
            query,
            window.index
        )
    }

    pub(super) fn guard(&self, guard: &GuardState) -> String {
        let Some(header) = self.header.guard.get(guard.index) else {
            return format!("{} {}", self.t("guard", "守护"), guard.health.word(self.lang));
        };
        let value = match &guard.reading.value {
            Ok(level) => self.header.unit(&header.metric).show(level.0),
            Err(gap) => gap.to_string(),
        };
        let count = match guard.health {
            Health::Holds => String::new(),
            _ => format!(" {}/{}", guard.bad, header.samples),
        };
        format!(
            "{} {} {value} ({}) {}{count}",
            self.t("guard", "守护"),
            guard_label(header),
            header.limit,
            guard.health.word(self.lang)
        )
    }

    pub(super) fn row(&self, row: &RowState) -> String {
        let verdict = row.verdict.word(self.lang);
        let Some(header) = self.header.row(row.row) else {
            return format!(
                "{}.{} {verdict} {}",
                row.row.step + 1,
                row.row.row + 1,
                row.reason.get(self.lang)
            );
        };
        let unit = self.header.unit(&header.metric);
        let show = |level: Option<Level>| level.map_or("--".to_owned(), |l| unit.show(l.0));
        let mut line = format!(
            "{} {} → {} ({}) {verdict} {}",
            row_label(header),
            show(row.before),
            show(row.now),
            header.declared,
            row.reason.get(self.lang)
        );
        if row.partial {
            line.push_str(self.t(" [partial]", " [不完整]"));
        }
        if let Some(otherwise) = header
            .otherwise
            .as_ref()
            .filter(|_| row.verdict == Verdict::Unexpected)
        {
            line.push_str(" | ");
            line.push_str(otherwise.get(self.lang));
        }
        line
    }

    pub(super) fn moved(&self, moved: &[Moved]) -> String {
        let list: Vec<_> = moved
            .iter()
            .map(|m| {
                let unit = self.header.unit(&m.metric);
                format!("{} {} → {}", m.metric, unit.show(m.before), unit.show(m.now))
            })
            .collect();
        let what = self.t("moved, not on the sheet:", "有变化但不在对账单:");
        format!(
            "{what} {}",
            if list.is_empty() {
                "--".to_owned()
            } else {
                list.join(", ")
            }
        )
    }
}

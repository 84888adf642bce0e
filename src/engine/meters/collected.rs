//! The windows of a run, by query and period, in the judge's form.

use std::collections::BTreeMap;

use crate::{
    judge::Windows,
    model::{
        dashboard::Read,
        event::Period,
        sample::{Numbers, Query, SourceMs, Window},
        time::Span,
    },
};

/// All windows of a run so far.
#[derive(Debug, Default)]
pub struct Collected {
    periods: BTreeMap<Period, Stretch>,
    edges: BTreeMap<Query, Vec<f64>>,
}

/// One period: where it begins, and the windows of each query from there.
#[derive(Debug)]
struct Stretch {
    start: SourceMs,
    /// Windows at or after this index are not asked for: the period is over there.
    end: Option<usize>,
    windows: BTreeMap<Query, Vec<Window>>,
}

impl Collected {
    /// Begins a period at `start`.
    pub fn begin(&mut self, period: Period, start: SourceMs) {
        self.periods.entry(period).or_insert(Stretch {
            start,
            end: None,
            windows: BTreeMap::new(),
        });
    }

    /// Ends a period after `windows` windows.
    pub fn end(&mut self, period: Period, windows: usize) {
        if let Some(stretch) = self.periods.get_mut(&period) {
            stretch.end = Some(stretch.end.map_or(windows, |already| already.min(windows)));
        }
    }

    /// Where a period begins on the source's clock.
    pub fn start(&self, period: Period) -> Option<SourceMs> {
        self.periods.get(&period).map(|s| s.start)
    }

    /// The next window to ask for: its start and its index; `None` if the period is over or has not begun.
    pub fn wanted(&self, period: Period, query: &Query, width: Span) -> Option<(SourceMs, usize)> {
        let stretch = self.periods.get(&period)?;
        let next = stretch.windows.get(query).map_or(0, Vec::len);
        let start = stretch.start + (width.0 * next as u64) as i64;
        stretch.end.is_none_or(|end| next < end).then_some((start, next))
    }

    /// The periods that have begun and may still get windows.
    pub fn open_periods(&self) -> Vec<Period> {
        self.periods.keys().copied().collect()
    }

    /// Whether every query of a period that was ended has all its windows.
    pub fn is_complete(&self, period: Period, queries: &[Query]) -> bool {
        let Some(stretch) = self.periods.get(&period) else {
            return true;
        };
        let Some(end) = stretch.end else { return false };
        queries
            .iter()
            .all(|q| stretch.windows.get(q).map_or(0, Vec::len) >= end)
    }

    /// Takes a window; windows come in order.
    pub fn push(&mut self, period: Period, query: &Query, window: Window) {
        if let Some(stretch) = self.periods.get_mut(&period) {
            stretch.windows.entry(query.clone()).or_default().push(window);
        }
    }

    /// The bucket edges of a quantile, once they are known.
    pub fn set_edges(&mut self, query: &Query, edges: &[f64]) {
        self.edges.entry(query.clone()).or_insert_with(|| edges.to_vec());
    }

    /// The bucket edges of a quantile.
    pub fn edges(&self, query: &Query) -> &[f64] {
        self.edges.get(query).map_or(&[], Vec::as_slice)
    }

    /// How many windows there are, gaps included.
    pub fn len(&self, period: Period, query: &Query) -> usize {
        self.raw(period, query).len()
    }

    /// The windows as they came.
    pub fn raw(&self, period: Period, query: &Query) -> &[Window] {
        self.periods
            .get(&period)
            .and_then(|s| s.windows.get(query))
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a window of the period is marked as incomplete by its source.
    pub fn is_partial(&self, period: Period, query: &Query) -> bool {
        self.raw(period, query).iter().any(|w| w.marks.partial)
    }

    /// How often a counter behind the query was reset during the period.
    pub fn resets(&self, period: Period, query: &Query) -> u32 {
        self.raw(period, query).iter().map(|w| w.marks.resets).sum()
    }

    /// The windows of a period for the judge.
    pub fn windows(&self, period: Period, query: &Query, read: &Read) -> Windows {
        windows(self.raw(period, query), read, self.edges(query))
    }
}

/// Windows as they came, in the judge's form. What is not of the metric's kind is a gap.
pub fn windows(raw: &[Window], read: &Read, edges: &[f64]) -> Windows {
    match read {
        Read::Gauge { .. } | Read::Mean { .. } | Read::Promql { .. } => {
            Windows::Gauge(each(raw, |numbers| match numbers {
                Numbers::Gauge(x) => Some(*x),
                _ => None,
            }))
        }
        Read::Rate { .. } => Windows::Rate(each(raw, |numbers| match numbers {
            Numbers::Rate(x) => Some(*x),
            _ => None,
        })),
        Read::Ratio { .. } => Windows::Ratio(each(raw, |numbers| match numbers {
            Numbers::Ratio(x) => Some(*x),
            _ => None,
        })),
        Read::Quantile { q, .. } => Windows::Quantile {
            edges: edges.to_vec(),
            q: *q,
            cum: each(raw, |numbers| match numbers {
                Numbers::Quantile(x) if x.len() == edges.len() + 1 => Some(x.clone()),
                _ => None,
            }),
        },
    }
}

fn each<T>(raw: &[Window], of_its_kind: impl Fn(&Numbers) -> Option<T>) -> Vec<Option<T>> {
    let numbers = raw.iter().map(|w| w.numbers.as_ref().ok());
    numbers.map(|n| n.and_then(&of_its_kind)).collect()
}

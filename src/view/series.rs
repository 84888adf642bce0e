//! The points of charts, from windows and from readings.

use std::collections::VecDeque;

use super::{Chart, MAX_POINTS, Point, RunView, fold::keep};
use crate::model::{
    amount::Level,
    event::Period,
    sample::{Numbers, Query, Window},
    time::Moment,
};

impl RunView {
    /// The period that a reading belongs to which does not say so itself.
    pub(super) fn period(&self) -> Period {
        use crate::model::phase::Phase::{Closed, Recovering, Verifying};
        if matches!(self.phase.phase, Closed | Recovering | Verifying) {
            return Period::After;
        }
        let latest = self.steps.iter().rposition(|s| s.started.is_some());
        latest.map_or(Period::Baseline, Period::Step)
    }

    /// Whether the query's windows hold a value by themselves. Those of a quantile do not: they count observations
    /// under bucket edges that only the judge knows, so its chart is made of the levels that come with rows and guards.
    pub(super) fn has_windows(&self, query: &Query) -> bool {
        self.windowed.contains(query)
    }

    pub(super) fn window(&mut self, query: &Query, period: Period, window: &Window, at: Moment) {
        let value = match &window.numbers {
            Ok(Numbers::Quantile(_)) => return,
            Ok(Numbers::Gauge(x)) => Some(*x),
            Ok(Numbers::Rate([part, whole]) | Numbers::Ratio([part, whole])) => Some(part / whole),
            Err(_) => None,
        };
        if !self.windowed.contains(query) {
            if value.is_none() {
                return;
            }
            self.windowed.push(query.clone());
        }
        self.point(query, period, value.filter(|x| x.is_finite()).map(Level), at);
    }

    /// Leaves out the older half of each chart. False if no chart has more than a point.
    pub fn halve_charts(&mut self) -> bool {
        let mut halved = false;
        for chart in &mut self.charts {
            let older = chart.points.len() / 2;
            chart.points.drain(..older);
            halved |= older > 0;
        }
        halved
    }

    pub(super) fn point(&mut self, query: &Query, period: Period, value: Option<Level>, at: Moment) {
        let point = Point { at, period, value };
        match self.charts.iter_mut().find(|c| &c.query == query) {
            Some(chart) => keep(&mut chart.points, point, MAX_POINTS),
            None => self.charts.push(Chart {
                query: query.clone(),
                points: VecDeque::from([point]),
            }),
        }
    }
}

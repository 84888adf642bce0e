//! What is measured: the guard, the baseline, the sheet, what moved beside it.

use super::super::{BaselineView, GuardView, LevelView, MovedView, RunView};
use crate::model::{
    amount::Level,
    event::{BaselineRow, GuardState, Period},
    ids::StepName,
    sample::Query,
    sheet::{Moved, RowState},
    snapshot::{BaselineLevel, BaselineLevels},
    time::Moment,
};

impl RunView {
    pub(super) fn guard(&mut self, state: &GuardState, at: Moment) {
        let Some(slot) = self.guards.get_mut(state.index) else {
            return;
        };
        let mut state = state.clone();
        state.room = finite(state.room);
        *slot = Some(GuardView {
            state: state.clone(),
            at,
        });
        let header = self.header.as_ref().and_then(|h| h.guard.get(state.index));
        if let Some(guard) = header.filter(|g| g.instance.is_none()) {
            let query = Query {
                metric: guard.metric.clone(),
                scope: guard.scope.clone(),
                instance: None,
            };
            if !self.has_windows(&query) {
                let value = state.reading.value.clone().ok();
                self.point(&query, self.period(), value, at);
            }
        }
    }

    pub(super) fn sheet_row(&mut self, row: &RowState, at: Moment) {
        let Some(known) = self.rows.iter_mut().find(|r| r.id == row.row) else {
            return;
        };
        if known.state.as_ref().is_some_and(|s| s.last) && !row.last {
            return;
        }
        known.state = Some(row.clone());
        known.at = at;
        let query = self.header.as_ref().and_then(|h| h.row(row.row)).map(|r| Query {
            metric: r.metric.clone(),
            scope: r.scope.clone(),
            instance: None,
        });
        if let Some(query) = query.filter(|q| !self.has_windows(q)) {
            self.point(&query, Period::Step(row.row.step), row.now, at);
        }
    }

    pub(super) fn moved(&mut self, moved: &[Moved], at: Moment) {
        let steps: Vec<_> = match moved {
            [] => self.running_steps(),
            some => some.iter().map(|m| m.step.clone()).collect(),
        };
        let (mut earlier, mut kept) = (Vec::new(), Vec::new());
        for known in std::mem::take(&mut self.moved) {
            if steps.contains(&known.moved.step) {
                earlier.push(known);
            } else {
                kept.push(known);
            }
        }
        for new in moved.iter().filter(|m| m.before.is_finite() && m.now.is_finite()) {
            let same = |k: &&MovedView| k.moved.metric == new.metric && k.moved.step == new.step;
            let since = earlier.iter().find(same).map_or(at, |k| k.since);
            kept.push(MovedView {
                moved: new.clone(),
                since,
            });
        }
        self.moved = kept;
    }

    fn running_steps(&self) -> Vec<StepName> {
        let Some(header) = &self.header else {
            return Vec::new();
        };
        let both = header.steps.iter().zip(&self.steps);
        both.filter(|(_, view)| view.runs())
            .map(|(h, _)| h.name.clone())
            .collect()
    }

    pub(super) fn baseline_row(&mut self, mut row: BaselineRow, at: Moment) {
        for number in [&mut row.half1, &mut row.half2, &mut row.can_show] {
            *number = finite(*number);
        }
        if !self.has_windows(&row.query) {
            self.point(&row.query, Period::Baseline, row.half2.map(Level), at);
        }
        match self.baseline.iter_mut().find(|b| b.row.query == row.query) {
            Some(known) => *known = BaselineView { row, at },
            None => self.baseline.push(BaselineView { row, at }),
        }
    }
}

/// JSON has no infinity, so that a view sent over the wire would show something else.
fn finite(number: Option<f64>) -> Option<f64> {
    number.filter(|n| n.is_finite())
}

pub(super) fn frozen(levels: &BaselineLevels) -> Vec<LevelView> {
    let view = |(query, level): (&Query, &BaselineLevel)| LevelView {
        query: query.clone(),
        level: Level(level.level),
        seen: (Level(level.lowest), Level(level.highest)),
    };
    levels.levels.iter().map(view).collect()
}

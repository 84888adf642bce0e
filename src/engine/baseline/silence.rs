//! The silent baseline: watched while it lasts, judged when its time is up, then frozen.

use crate::{
    drill::Input,
    engine::{Done, Engine, baseline},
    model::{
        drill::Limit,
        event::{BaselineRow, Body, Period},
        said::{Said, said},
        sample::Query,
        snapshot::BaselineLevels,
        time::Span,
    },
};

impl Engine {
    /// The baseline is being watched: rows, and the range that later readings are compared with.
    pub(in crate::engine) fn watch_baseline(&mut self) {
        let Some(meters) = &self.meters else { return };
        let window = baseline::settling_window(&self.plan.drill);
        let started = self.collected.start(Period::Baseline).unwrap_or_default();
        let filled = meters
            .store
            .source_now()
            .is_some_and(|now| now - started >= window.0 as i64);
        for query in baseline::row_queries(&self.plan.drill) {
            if filled {
                self.ranges.observe(&query, &meters.store.reading(&query, window));
            }
        }
        let now = self.clock.now();
        if now.since(self.last_baseline) >= Span::seconds(2) && !self.judging_baseline {
            self.last_baseline = now;
            self.baseline_rows(false);
        }
    }

    /// Judges the baseline's rows beside the engine; when its time has elapsed, with the levels to freeze.
    fn baseline_rows(&mut self, elapsed: bool) {
        self.judging_baseline = true;
        let bench = self.bench();
        let rows: Vec<_> = baseline::row_queries(&self.plan.drill)
            .iter()
            .map(|query| baseline::prepare(&bench, query, elapsed))
            .collect();
        let queries = self
            .meters
            .as_ref()
            .map(|m| m.queries.as_slice())
            .unwrap_or_default();
        let levels = elapsed.then(|| baseline::prepare_levels(&bench, queries, &self.ranges));
        let done = self.done.clone();
        self.tasks.spawn_blocking(move || {
            let levels = levels.map(baseline::PreparedLevels::freeze);
            let rows = rows.into_iter().map(baseline::Prepared::judge).collect();
            let _ = done.send(Done::Baseline { rows, levels });
        });
    }

    pub(in crate::engine) fn judge_baseline(&mut self) {
        self.baseline_rows(true);
    }

    pub(in crate::engine) fn baseline_judged(
        &mut self,
        rows: Vec<(BaselineRow, Option<Said>)>,
        levels: Option<BaselineLevels>,
    ) {
        self.judging_baseline = false;
        let mut blockers = Vec::new();
        for (row, blocks) in rows {
            blockers.extend(blocks);
            self.ledger.emit(Body::Baseline(row));
        }
        if let Some(levels) = levels {
            self.baseline = levels;
            blockers.extend(self.relative_limits_without_level());
            self.feed(Input::BaselineJudged { blockers });
        }
    }

    /// Hypotheses that compare with a baseline level that there is none of: they could never break.
    fn relative_limits_without_level(&self) -> Vec<Said> {
        let relative = self
            .plan
            .drill
            .guard
            .steady_state
            .iter()
            .filter(|h| matches!(h.limit, Limit::Within(_)));
        relative
            .map(|h| Query::new(&h.metric, h.scope.as_ref()))
            .filter(|q| !self.baseline.levels.contains_key(q))
            .map(|Query { metric, .. }| {
                said!(
                    "guard {metric}: its baseline has no level to stay near",
                    "守护 {metric}：其基线没有可参照的水平"
                )
            })
            .collect()
    }

    /// The baseline is over: no further window belongs to it.
    pub(in crate::engine) fn freeze_baseline(&mut self) {
        let queries = self
            .meters
            .as_ref()
            .map(|m| m.queries.as_slice())
            .unwrap_or_default();
        let n = queries
            .iter()
            .map(|q| self.collected.len(Period::Baseline, q))
            .max()
            .unwrap_or(0);
        self.collected.end(Period::Baseline, n);
        self.ledger.emit(Body::Frozen(self.baseline.clone()));
    }
}

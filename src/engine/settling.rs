//! What is not yet back: the guard's hypotheses, the sheet's metrics, the pools.

use super::{Engine, baseline};
use crate::{
    drill::Input,
    model::{
        dashboard::Metric,
        event::Health,
        sample::{Query, Reading},
        snapshot::BaselineLevel,
    },
};

impl Engine {
    /// Tells the machine what is not yet back.
    pub(super) fn settle(&mut self) {
        let mut missing = self.bad_hypotheses();
        let users_ok = missing.is_empty() && self.gone_at_source.is_some();
        missing.extend(self.rows_outside());
        missing.extend(self.busy_pools());
        self.feed(Input::Settling { missing, users_ok });
    }

    /// Hypotheses that do not hold, or not yet on a sample taken after the faults were gone.
    fn bad_hypotheses(&self) -> Vec<String> {
        let gone = self.gone_at_source.unwrap_or(i64::MAX);
        let mut bad = Vec::new();
        for watch in self.watches.iter() {
            match self.guard_states.get(&watch.index) {
                Some(state) if state.health != Health::Holds => bad.push(self.guard_text(state)),
                Some(state) if state.reading.sampled >= gone => {}
                _ => bad.push(format!(
                    "{}: no sample since the faults are gone",
                    watch.query.metric
                )),
            }
        }
        bad
    }

    fn rows_outside(&self) -> Vec<String> {
        let Some(meters) = &self.meters else {
            return vec!["metrics cannot be read".into()];
        };
        let window = baseline::settling_window(&self.plan.drill);
        let mut outside = Vec::new();
        for query in baseline::row_queries(&self.plan.drill) {
            let metric = self.plan.drill.dashboard.metric(&query.metric);
            // What had no level before the drill has nothing to come back to.
            let (Some(metric), Some(level)) = (metric, self.baseline.levels.get(&query)) else {
                continue;
            };
            outside.extend(outside_of(
                metric,
                level,
                &query,
                &meters.store.reading(&query, window),
            ));
        }
        outside
    }

    fn busy_pools(&self) -> Vec<String> {
        let Some(meters) = &self.meters else {
            return Vec::new();
        };
        let mut busy = Vec::new();
        for pool in &self.plan.drill.recovery.pools {
            let query = Query {
                metric: pool.metric.clone(),
                scope: pool.scope.clone(),
            };
            let reading = meters.store.reading(&query, self.plan.drill.window * 2);
            match &reading.value {
                Ok(value) if value.0 <= pool.idle_at_most => {}
                Ok(value) => {
                    busy.push(format!(
                        "{} busy {:.0}, idle at most {:.0}",
                        pool.metric, value.0, pool.idle_at_most
                    ));
                }
                Err(gap) => busy.push(format!("{}: {gap}", pool.metric)),
            }
        }
        busy
    }
}

fn outside_of(metric: &Metric, level: &BaselineLevel, query: &Query, reading: &Reading) -> Option<String> {
    let scope = query.scope.as_ref().map(|s| format!(" {s}")).unwrap_or_default();
    let name = format!("{}{scope}", query.metric);
    match &reading.value {
        Ok(value) if reading.partial => Some(format!("{name} {}: incomplete", metric.unit.show(value.0))),
        Ok(value) if baseline::is_inside(metric, level, value.0) => None,
        Ok(value) => {
            let (now, before) = (metric.unit.show(value.0), metric.unit.show(level.level));
            Some(format!("{name} {now}, was {before}"))
        }
        Err(gap) => Some(format!("{name}: {gap}")),
    }
}

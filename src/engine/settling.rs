//! What is not yet back: the guard's hypotheses, the sheet's metrics, the pools.

use super::{Engine, baseline};
use crate::{
    drill::Input,
    model::{
        dashboard::Metric,
        event::Health,
        sample::{Query, Reading},
        snapshot::BaselineLevel,
        time::Span,
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
                Some(state) if state.reading.sampled >= gone && !state.reading.partial => {}
                _ => bad.push(format!(
                    "{}: no sample since the faults are gone",
                    watch.query.metric
                )),
            }
        }
        bad
    }

    /// Why a reading says nothing about now: it was taken before the faults were gone, is old, or is incomplete.
    fn not_now(&self, reading: &Reading) -> Option<&'static str> {
        let stale = self.spacing() * 3 + Span::seconds(2);
        match reading {
            r if r.partial => Some("incomplete"),
            r if r.sampled < self.gone_at_source.unwrap_or(i64::MAX) => {
                Some("no sample since the faults are gone")
            }
            r if r.age > stale => Some("no fresh sample"),
            _ => None,
        }
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
            let reading = meters.store.reading(&query, window);
            outside.extend(match self.not_now(&reading) {
                Some(why) if reading.value.is_ok() => Some(format!("{}: {why}", named(&query))),
                _ => outside_of(metric, level, &query, &reading),
            });
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
            match (&reading.value, self.not_now(&reading)) {
                (Ok(_), Some(why)) => busy.push(format!("{}: {why}", pool.metric)),
                (Ok(value), None) if value.0 <= pool.idle_at_most => {}
                (Ok(value), None) => {
                    busy.push(format!(
                        "{} busy {:.0}, idle at most {:.0}",
                        pool.metric, value.0, pool.idle_at_most
                    ));
                }
                (Err(gap), _) => busy.push(format!("{}: {gap}", pool.metric)),
            }
        }
        busy
    }
}

fn outside_of(metric: &Metric, level: &BaselineLevel, query: &Query, reading: &Reading) -> Option<String> {
    let name = named(query);
    match &reading.value {
        Ok(value) if baseline::is_inside(metric, level, value.0) => None,
        Ok(value) => {
            let (now, before) = (metric.unit.show(value.0), metric.unit.show(level.level));
            Some(format!("{name} {now}, was {before}"))
        }
        Err(gap) => Some(format!("{name}: {gap}")),
    }
}

fn named(query: &Query) -> String {
    match &query.scope {
        Some(scope) => format!("{} {scope}", query.metric),
        None => query.metric.to_string(),
    }
}

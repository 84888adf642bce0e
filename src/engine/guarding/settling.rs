//! What is not yet back: the guard's hypotheses, the sheet's metrics, the pools.

use crate::{
    drill::{Input, Missing},
    engine::{Engine, baseline, recovery::restart_by_hand},
    model::{
        dashboard::Metric,
        event::Health,
        said::said,
        sample::{Gap, Query, Reading},
        snapshot::BaselineLevel,
        time::Span,
    },
};

/// The shortest silence of a metric that makes its last value too old to count.
const STALE: Span = Span::seconds(5);

impl Engine {
    /// Tells the machine what is not yet back.
    pub(in crate::engine) fn settle(&mut self) {
        let mut missing = self.bad_hypotheses();
        let users_ok = missing.is_empty() && self.gone_at_source.is_some();
        missing.extend(self.rows_outside());
        missing.extend(self.busy_pools());
        self.feed(Input::Settling { missing, users_ok });
    }

    /// Hypotheses that do not hold, or not yet on a sample taken after the faults were gone.
    fn bad_hypotheses(&self) -> Vec<Missing> {
        let gone = self.gone_at_source.unwrap_or(i64::MAX);
        let mut bad = Vec::new();
        for watch in self.watches.iter() {
            match self.guard_states.get(&watch.index) {
                Some(state) if state.health != Health::Holds => {
                    let text = self.guard_text(state);
                    bad.push(match state.health {
                        Health::Blind | Health::BlindTooLong => Missing::unread(text),
                        _ => Missing::outside(text),
                    });
                }
                Some(state) if state.reading.sampled >= gone && !state.reading.partial => {}
                _ => bad.push(unseen(&watch.query)),
            }
        }
        bad
    }

    /// Whether a reading says nothing about now: it was taken before the faults were gone, or nothing new comes.
    fn is_too_old(&self, reading: &Reading) -> bool {
        let gone = self.gone_at_source.unwrap_or(i64::MAX);
        reading.sampled < gone || reading.age > (self.spacing() * 3).max(STALE)
    }

    fn rows_outside(&self) -> Vec<Missing> {
        let Some(meters) = &self.meters else {
            return vec![Missing::unread(said!("metrics cannot be read", "指标无法读取"))];
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
            if reading.value.is_ok() && self.is_too_old(&reading) {
                outside.push(unseen(&query));
            } else {
                outside.extend(outside_of(metric, level, &query, &reading));
            }
        }
        outside
    }

    fn busy_pools(&self) -> Vec<Missing> {
        let Some(meters) = &self.meters else {
            return Vec::new();
        };
        let mut busy = Vec::new();
        for pool in &self.plan.drill.recovery.pools {
            for query in meters.pool_queries(pool) {
                let reading = meters.store.reading(&query, self.plan.drill.window * 2);
                let missing = match &reading.value {
                    Err(gap) => nothing_read(&query, gap),
                    Ok(_) if reading.partial || self.is_too_old(&reading) => unseen(&query),
                    Ok(value) if pool.is_idle(value.0) => continue,
                    Ok(value) => {
                        let (busy, idle) = (pool.busy(value.0), pool.idle_at_most);
                        Missing::outside(said!(
                            "{query} busy {busy:.0}, idle at most {idle:.0}",
                            "{query} 占用 {busy:.0}，空闲上限 {idle:.0}"
                        ))
                    }
                };
                busy.push(missing.or_by_hand(restart_by_hand(&self.scene(), pool, &query)));
            }
        }
        busy
    }
}

fn unseen(query: &Query) -> Missing {
    Missing::unread(said!(
        "{query}: no fresh sample since the faults are gone",
        "{query}：故障清除后尚无新样本"
    ))
}

fn nothing_read(query: &Query, gap: &Gap) -> Missing {
    Missing::unread(said!(gap = gap.said(); "{query}: {gap}", "{query}：{gap}"))
}

fn outside_of(metric: &Metric, level: &BaselineLevel, query: &Query, reading: &Reading) -> Option<Missing> {
    match &reading.value {
        Ok(value) if reading.partial => {
            let value = metric.unit.show(value.0);
            Some(Missing::unread(said!(
                "{query} {value}: incomplete",
                "{query} {value}：数据不全"
            )))
        }
        Ok(value) if baseline::is_inside(metric, level, value.0) => None,
        Ok(value) => {
            let (now, before) = (metric.unit.show(value.0), metric.unit.show(level.level));
            Some(Missing::outside(said!(
                "{query} {now}, was {before}",
                "{query} {now}，演练前 {before}"
            )))
        }
        Err(gap) => Some(nothing_read(query, gap)),
    }
}

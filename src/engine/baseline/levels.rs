//! The levels that are frozen when the silent time is over, and what "back inside its baseline" means.

use std::collections::BTreeMap;

use super::uses::{Use, detectable, uses};
use crate::{
    engine::sheet::rows::Bench,
    judge::{self, Windows},
    model::{
        amount::Unit,
        dashboard::{Better, Metric},
        event::Period,
        sample::{Query, Reading},
        snapshot::{BaselineLevel, BaselineLevels},
    },
};

/// The lowest and highest reading of each query over the settling window, while nothing was injected.
#[derive(Debug, Default)]
pub struct Ranges(BTreeMap<Query, (f64, f64)>);

impl Ranges {
    /// Takes a reading of the silent baseline.
    pub fn observe(&mut self, query: &Query, reading: &Reading) {
        let Ok(value) = &reading.value else { return };
        let seen = self.0.entry(query.clone()).or_insert((value.0, value.0));
        *seen = (seen.0.min(value.0), seen.1.max(value.0));
    }
}

/// The levels to freeze, ready to be computed on another thread.
#[derive(Debug)]
pub struct PreparedLevels(Vec<PreparedLevel>);

#[derive(Debug)]
struct PreparedLevel {
    query: Query,
    windows: Windows,
    edges: Vec<f64>,
    seen: Option<(f64, f64)>,
    uses: Vec<Use>,
}

/// Takes all that the levels of these queries are computed from.
pub fn prepare_levels(bench: &Bench<'_>, queries: &[Query], ranges: &Ranges) -> PreparedLevels {
    let level = |query: &Query| {
        let metric = bench.drill.dashboard.metric(&query.metric)?;
        Some(PreparedLevel {
            query: query.clone(),
            windows: bench.collected.windows(Period::Baseline, query, &metric.read),
            edges: bench.collected.edges(query).to_vec(),
            seen: ranges.0.get(query).copied(),
            uses: uses(bench, query),
        })
    };
    PreparedLevels(queries.iter().filter_map(level).collect())
}

impl PreparedLevels {
    /// The levels that are frozen when the baseline is over. A query without a finite level has none.
    pub fn freeze(self) -> BaselineLevels {
        let mut levels = BTreeMap::new();
        for one in self.0 {
            let Some(level) = judge::level(&one.windows).filter(|x| x.is_finite()) else {
                continue;
            };
            let (lowest, highest) = one.seen.unwrap_or((level, level));
            let frozen = BaselineLevel {
                level,
                lowest: lowest.min(level),
                highest: highest.max(level),
                smallest_detectable: detectable(&one.windows, &one.uses).filter(|x| x.is_finite()),
                edges: one.edges,
            };
            levels.insert(one.query, frozen);
        }
        BaselineLevels { levels }
    }
}

/// Whether a value is back inside its baseline: between the lowest and the highest reading of the silent time, widened
/// by half their distance and never by less than the unit's grain. Better than before is inside too.
pub fn is_inside(metric: &Metric, level: &BaselineLevel, value: f64) -> bool {
    let grain = match metric.unit {
        Unit::Percent => 0.005,
        Unit::Seconds => 0.010,
        Unit::PerSecond => 0.5,
        Unit::Count => 1.0,
        Unit::Bytes => 1024.0 * 1024.0,
    };
    let relative = if metric.unit == Unit::Percent {
        0.0
    } else {
        level.level.abs() * 0.05
    };
    let slack = ((level.highest - level.lowest) / 2.0).max(grain).max(relative);
    let low_ok = value >= level.lowest - slack || metric.better == Some(Better::Lower);
    let high_ok = value <= level.highest + slack || metric.better == Some(Better::Higher);
    low_ok && high_ok
}

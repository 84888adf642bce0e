//! The silent baseline: whether each row can be judged at all, and what "back inside its baseline" will mean.

use std::collections::BTreeMap;

use super::{rows, rows::Bench};
use crate::{
    judge::{self, Expect, Windows},
    model::{
        amount::Unit,
        dashboard::{Better, Metric, Read},
        drill::Drill,
        event::{BaselineRow, Period, Steadiness},
        sample::{Query, Reading},
        snapshot::{BaselineLevel, BaselineLevels},
        time::Span,
    },
};

/// Over how long a reading is taken that is compared with the baseline while verifying.
pub fn settling_window(drill: &Drill) -> Span {
    drill.recovery.hold.max(drill.window * 5)
}

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

/// Every query that a row of the sheet looks at, once, with the steps that do.
pub fn row_queries(drill: &Drill) -> Vec<Query> {
    let mut all: Vec<Query> = Vec::new();
    for expectation in drill.steps.iter().flat_map(|s| &s.expect) {
        let query = rows::query(expectation);
        if !all.contains(&query) {
            all.push(query);
        }
    }
    all
}

/// A baseline row, ready to be judged on another thread.
#[derive(Debug)]
pub struct Prepared {
    query: Query,
    windows: Windows,
    halves: [Windows; 2],
    usable: usize,
    last_gap: Option<String>,
    uses: Vec<Use>,
    elapsed: bool,
}

/// What a row of the sheet wants of its metric's baseline.
#[derive(Debug)]
struct Use {
    expect: Expect,
    pause: usize,
    planned: usize,
    settle: usize,
}

/// Takes all that a baseline row is judged from.
pub fn prepare(bench: &Bench<'_>, query: &Query, elapsed: bool) -> Prepared {
    let raw = bench.collected.raw(Period::Baseline, query);
    let edges = bench.collected.edges(query);
    let nothing = Read::Promql { query: String::new() };
    let read = bench
        .drill
        .dashboard
        .metric(&query.metric)
        .map_or(&nothing, |m| &m.read);
    let (first, second) = raw.split_at(raw.len() / 2);
    let of = |part| super::collected::windows(part, read, edges);
    Prepared {
        query: query.clone(),
        windows: of(raw),
        halves: [of(first), of(second)],
        usable: raw.iter().filter(|w| w.numbers.is_ok()).count(),
        last_gap: raw
            .iter()
            .rev()
            .find_map(|w| w.numbers.as_ref().err())
            .map(ToString::to_string),
        uses: uses(bench, query),
        elapsed,
    }
}

fn uses(bench: &Bench<'_>, query: &Query) -> Vec<Use> {
    let mut all = Vec::new();
    for (step, s) in bench.drill.steps.iter().enumerate() {
        for expectation in s.expect.iter().filter(|e| &rows::query(e) == query) {
            all.push(Use {
                expect: rows::expect(&expectation.change),
                pause: bench.schedule.slots[step].start.windows(bench.drill.window),
                planned: bench.planned(step),
                settle: bench.settle(step),
            });
        }
    }
    all
}

/// The smallest change that all uses of a baseline could show.
fn detectable(windows: &Windows, uses: &[Use]) -> Option<f64> {
    uses.iter()
        .filter_map(|u| judge::smallest_detectable_after(windows, u.pause, u.planned, Some(u.settle)))
        .reduce(f64::max)
}

impl Prepared {
    /// The row as it stands, and why it cannot be armed on, if it cannot.
    pub fn judge(self) -> (BaselineRow, Option<String>) {
        let can_show = detectable(&self.windows, &self.uses);
        let (state, why) = self.fitness(can_show);
        let blocks = matches!(state, Steadiness::Unsteady | Steadiness::TooThin)
            .then(|| format!("{}: {}", self.query, why.clone().unwrap_or_default()));
        let [half1, half2] = self
            .halves
            .each_ref()
            .map(|w| judge::level(w).filter(|x| x.is_finite()));
        let row = BaselineRow {
            query: self.query,
            half1,
            half2,
            n: self.usable,
            can_show: can_show.filter(|x| x.is_finite()),
            state,
            why,
        };
        (row, blocks)
    }

    /// A bound below what the baseline can show will mostly end UNDECIDED: said before the start, not after it.
    fn too_coarse(&self, sdc: Option<f64>) -> Option<String> {
        let level = judge::level(&self.windows)?;
        let smallest = self
            .uses
            .iter()
            .filter_map(|u| u.expect.smallest_bound(level))
            .reduce(f64::min)?;
        (smallest < sdc?)
            .then(|| "its bound is smaller than what can be shown: it will mostly end UNDECIDED".into())
    }

    fn fitness(&self, sdc: Option<f64>) -> (Steadiness, Option<String>) {
        if let Some(thin) = judge::too_thin(&self.windows) {
            let why = match &self.last_gap {
                Some(gap) => format!("{thin}; last: {gap}"),
                None => thin.to_string(),
            };
            return (
                if self.elapsed {
                    Steadiness::TooThin
                } else {
                    Steadiness::Watching
                },
                Some(why),
            );
        }
        let refused = self
            .uses
            .iter()
            .any(|u| judge::must_refuse(&self.windows, &u.expect, sdc));
        let moving = judge::steadiness(&self.windows).is_some_and(|s| s.is_unsteady());
        match (refused, moving) {
            (true, _) => (
                Steadiness::Unsteady,
                Some("it moves by itself: drift or step in the baseline".into()),
            ),
            (false, true) => (
                Steadiness::Moving,
                Some("it moves, by less than its row cares for".into()),
            ),
            (false, false) => (Steadiness::Steady, self.too_coarse(sdc)),
        }
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

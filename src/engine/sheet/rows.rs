//! The sheet's rows: all that a row is judged from, apart from the engine.

use super::{exercised::Exercised, verdict::Prepared};
use crate::{
    drill::schedule::Schedule,
    engine::meters::collected::{self, Collected},
    judge::{self, Case, Expect, Periods},
    metrics::longest_range,
    model::{
        amount::{Basis, Bounds, Unit},
        dashboard::Read,
        drill::{Change, Drill, Expectation},
        event::Period,
        said::{Said, said},
        sample::{Gap, Query},
        sheet::RowId,
        snapshot::BaselineLevels,
        time::Span,
    },
};

/// All that a row is judged from.
pub struct Bench<'a> {
    /// The drill.
    pub drill: &'a Drill,
    /// Its timeline.
    pub schedule: &'a Schedule,
    /// The windows.
    pub collected: &'a Collected,
    /// The frozen baseline.
    pub baseline: &'a BaselineLevels,
    /// The spacing of the source's samples.
    pub spacing: Span,
}

/// A row's query.
pub fn query(expectation: &Expectation) -> Query {
    Query::new(&expectation.metric, expectation.scope.as_ref())
}

/// A declared change, for the judge.
pub fn expect(change: &Change) -> Expect {
    let unit = |b: &Bounds| match b.basis {
        Basis::Absolute => judge::Unit::Abs,
        Basis::Relative => judge::Unit::Rel,
    };
    let bounds = |b: &Bounds| judge::Bounds {
        at_least: b.at_least,
        at_most: b.at_most,
    };
    match change {
        Change::Rises(b) => Expect::Rises {
            bounds: bounds(b),
            unit: unit(b),
        },
        Change::Falls(b) => Expect::Falls {
            bounds: bounds(b),
            unit: unit(b),
        },
        Change::Stays(b) => Expect::Stays {
            within: b.at_most.unwrap_or(f64::NAN),
            unit: unit(b),
        },
        Change::Level(b) => Expect::Level { bounds: bounds(b) },
    }
}

impl Bench<'_> {
    /// How many windows a step is planned to have.
    pub fn planned(&self, step: usize) -> usize {
        self.drill.steps[step].duration.windows(self.drill.window)
    }

    /// How many windows at a step's start are left out: the file's word, or the judge's default, raised to twice the
    /// spacing of the source's samples; never so many that too few remain.
    pub fn settle(&self, step: usize) -> usize {
        let planned = self.planned(step);
        let window = self.drill.window;
        match self.drill.steps[step].settle.or(self.drill.settle) {
            Some(span) => span.0.div_ceil(window.0.max(1)) as usize,
            None => {
                let spacing = (self.spacing.0 * 2).div_ceil(window.0.max(1)) as usize;
                judge::settle_windows(planned).max(spacing.min(planned / 3))
            }
        }
    }

    /// The same for a query. Until a range of PromQL has passed, its value still looks back to before the step; where too few
    /// windows remain then, there is no data rather than a change that is thinned.
    pub fn settle_of(&self, step: usize, query: &Query) -> usize {
        let range = match self.read(query) {
            Some(Read::Promql { query }) => longest_range(query),
            _ => Span::ZERO,
        };
        let windows = range.0.div_ceil(self.drill.window.0.max(1));
        self.settle(step).max(windows as usize)
    }

    /// Windows between the end of the baseline and the start of a step's group.
    fn pause(&self, group: usize, query: &Query) -> usize {
        let baseline = self.collected.start(Period::Baseline);
        let step = self.collected.start(Period::Step(group));
        let (Some(baseline), Some(step)) = (baseline, step) else {
            return 0;
        };
        let passed = (step - baseline).max(0) as u64 / self.drill.window.0.max(1);
        (passed as usize).saturating_sub(self.collected.len(Period::Baseline, query))
    }

    fn read(&self, query: &Query) -> Option<&Read> {
        self.drill.dashboard.metric(&query.metric).map(|m| &m.read)
    }

    /// The windows of a step: steps of a group begin together, and a shorter one is judged by its own time.
    fn during(&self, group: usize, step: usize, query: &Query, read: &Read) -> judge::Windows {
        let raw = self.collected.raw(Period::Step(group), query);
        let own = &raw[..raw.len().min(self.planned(step))];
        collected::windows(own, read, self.collected.edges(query))
    }

    /// The two periods of a query around a group; `None` if there is nothing to compare.
    pub fn periods(&self, group: usize, step: usize, query: &Query) -> Option<Periods> {
        let read = self.read(query)?;
        let before = self.collected.windows(Period::Baseline, query, read);
        let during = self.during(group, step, query, read);
        let mut periods = Periods::new(before, during).ok()?;
        periods.settle = Some(self.settle_of(step, query));
        periods.pause = self.pause(group, query);
        Some(periods)
    }

    /// All that a row is judged from, apart from the engine: judging takes time that nothing else must wait for.
    pub fn prepare(
        &self,
        id: RowId,
        exercised: Exercised,
        late: Option<Said>,
        age: Span,
        last: bool,
    ) -> Prepared {
        let expectation = &self.drill.steps[id.step].expect[id.row];
        let query = query(expectation);
        let group = self.schedule.slots[id.step].group;
        let partial = self.collected.is_partial(Period::Baseline, &query)
            || self.collected.is_partial(Period::Step(group), &query);
        let windows = self
            .collected
            .raw(Period::Step(group), &query)
            .iter()
            .filter(|w| w.numbers.is_ok())
            .count();
        let case = self.periods(group, id.step, &query).map(|periods| {
            let mut case = Case::new(periods, expect(&expectation.change));
            case.sdc = self.frozen_sdc(&query, &case.expect);
            case
        });
        let other = self.schedule.confounded_by(id.step);
        Prepared {
            id,
            case,
            exercised,
            partial,
            windows,
            age,
            last,
            unit: self
                .drill
                .dashboard
                .metric(&query.metric)
                .map_or(Unit::Count, |m| m.unit),
            resets: self.collected.resets(Period::Baseline, &query)
                + self.collected.resets(Period::Step(group), &query),
            confounded: other
                .map(|step| self.drill.steps[step].name.as_str())
                .map(|step| said!("step {step} was live too", "步骤 {step} 也在进行"))
                .or(late),
            no_data: self.why_no_data(group, &query),
        }
    }

    /// The source's own words, if no window of the group had numbers.
    fn why_no_data(&self, group: usize, query: &Query) -> Option<Said> {
        let raw = self.collected.raw(Period::Step(group), query);
        if raw.iter().any(|w| w.numbers.is_ok()) {
            return None;
        }
        raw.iter()
            .rev()
            .find_map(|w| w.numbers.as_ref().err().map(Gap::said))
    }

    /// The smallest detectable change frozen before the start, in the unit that the row is judged in.
    fn frozen_sdc(&self, query: &Query, expect: &Expect) -> Option<f64> {
        let frozen = self.baseline.levels.get(query)?;
        let sdc = frozen.smallest_detectable?;
        match expect.unit() {
            judge::Unit::Abs => Some(sdc),
            judge::Unit::Rel if frozen.level > 0.0 => Some(sdc / frozen.level),
            judge::Unit::Rel => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::sheet::testing::{doubled, rises},
        model::{ids::MetricId, sheet::Verdict},
    };

    /// A step of thirty windows under which what the query gives doubles.
    fn judged(promql: &str) -> (usize, Verdict) {
        let metric = MetricId::new("order_mean").unwrap();
        let drill = rises(&metric, Read::Promql { query: promql.into() });
        let query = Query::new(&metric, None);
        let collected = doubled(&query);
        let bench = Bench {
            drill: &drill,
            schedule: &Schedule::of(&drill).unwrap(),
            collected: &collected,
            baseline: &BaselineLevels::default(),
            spacing: Span::seconds(1),
        };
        let id = RowId { step: 0, row: 0 };
        let row = bench.prepare(id, Exercised::Yes, None, Span::ZERO, true).judge();
        (bench.settle_of(0, &query), row.verdict)
    }

    #[test]
    fn what_a_range_of_promql_still_sees_of_the_time_before_is_left_out_however_long_it_is() {
        assert_eq!(judged("avg(busy)"), (3, Verdict::AsExpected));
        assert_eq!(judged("sum(rate(busy[12s]))"), (12, Verdict::AsExpected));
        assert_eq!(judged("sum(rate(busy[5m]))"), (300, Verdict::NoData));
    }
}

//! The sheet's rows: from windows to verdicts. Whatever the statistics say, a row is never AS EXPECTED if its fault hit
//! nothing, if another fault disturbed it, or if the source called its own answer incomplete.

use std::collections::{BTreeMap, BTreeSet};

use super::collected::Collected;
use crate::{
    drill::schedule::Schedule,
    judge::{self, Case, Expect, Judgement, Periods},
    model::{
        amount::{Basis, Bounds, Level, Unit},
        dashboard::Read,
        drill::{Change, Drill, Expectation},
        event::{Hits, Period},
        ids::{MetricId, StepName},
        sample::Query,
        sheet::{Moved, RowId, RowState, Verdict},
        snapshot::BaselineLevels,
        time::Span,
    },
};

/// Whether the fault of a group has hit anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exercised {
    /// It has, or the group has no fault.
    Yes,
    /// It was read, and it has not.
    No,
    /// Its counters could not be read, or it was gone before its time.
    Unknown,
}

/// What is known of a fault's effect.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Which fault of its step; the same on every instance.
    pub what: String,
    /// Its counters; `None` if they were never read.
    pub hits: Option<Hits>,
    /// Whether it was gone from its injector before its step was over.
    pub vanished: bool,
}

/// Whether a group's faults have hit anything: every fault of every step that breaks something must have, somewhere.
pub fn exercised(schedule: &Schedule, group: usize, seen: impl Fn(usize) -> Vec<Seen>) -> Exercised {
    let mut all = Exercised::Yes;
    for step in schedule.members(group).filter(|s| schedule.slots[*s].breaks) {
        let seen = seen(step);
        if seen.is_empty() || seen.iter().any(|s| s.vanished) {
            all = Exercised::Unknown;
        }
        let faults: BTreeSet<&String> = seen.iter().map(|s| &s.what).collect();
        for fault in faults {
            let mut counters = seen.iter().filter(|s| &s.what == fault).map(|s| s.hits);
            if counters.clone().flatten().any(|h| h.hits > 0) {
                continue;
            }
            if counters.any(|c| c.is_none()) {
                all = Exercised::Unknown;
            } else {
                return Exercised::No;
            }
        }
    }
    all
}

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
    Query {
        metric: expectation.metric.clone(),
        scope: expectation.scope.clone(),
    }
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
        super::collected::windows(own, read, self.collected.edges(query))
    }

    /// The two periods of a query around a group; `None` if there is nothing to compare.
    pub fn periods(&self, group: usize, step: usize, query: &Query) -> Option<Periods> {
        let read = self.read(query)?;
        let before = self.collected.windows(Period::Baseline, query, read);
        let during = self.during(group, step, query, read);
        let mut periods = Periods::new(before, during).ok()?;
        periods.settle = Some(self.settle(step));
        periods.pause = self.pause(group, query);
        Some(periods)
    }

    /// All that a row is judged from, apart from the engine: judging takes time that nothing else must wait for.
    pub fn prepare(
        &self,
        id: RowId,
        exercised: Exercised,
        late: Option<String>,
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
                .map(|step| format!("step {} was live too", self.drill.steps[step].name))
                .or(late),
            no_data: self.why_no_data(group, &query),
        }
    }

    /// The source's own words, if no window of the group had numbers.
    fn why_no_data(&self, group: usize, query: &Query) -> Option<String> {
        let raw = self.collected.raw(Period::Step(group), query);
        if raw.iter().any(|w| w.numbers.is_ok()) {
            return None;
        }
        raw.iter()
            .rev()
            .find_map(|w| w.numbers.as_ref().err().map(ToString::to_string))
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

    /// The metrics that could have moved in a group and stand on no row of it.
    pub fn off_sheet(&self, group: usize) -> OffSheet {
        let on_sheet: Vec<_> = self
            .schedule
            .members(group)
            .flat_map(|s| self.drill.steps[s].expect.iter().map(|e| &e.metric))
            .collect();
        let mut metrics = Vec::new();
        for metric in &self.drill.dashboard.metrics {
            let counts = !matches!(metric.read, Read::Quantile { .. });
            if !counts || on_sheet.contains(&&metric.id) {
                continue;
            }
            let query = Query {
                metric: metric.id.clone(),
                scope: None,
            };
            metrics.extend(
                self.periods(group, group, &query)
                    .map(|periods| (metric.id.clone(), periods)),
            );
        }
        OffSheet {
            step: self.drill.steps[group].name.clone(),
            metrics,
        }
    }
}

/// A row, ready to be judged on another thread.
#[derive(Debug)]
pub struct Prepared {
    id: RowId,
    case: Option<Case>,
    exercised: Exercised,
    partial: bool,
    windows: usize,
    age: Span,
    last: bool,
    unit: Unit,
    resets: u32,
    confounded: Option<String>,
    no_data: Option<String>,
}

impl Prepared {
    /// The row as it stands.
    pub fn judge(self) -> RowState {
        let mut row = RowState {
            row: self.id,
            verdict: Verdict::NoData,
            reason: "not begun".into(),
            before: None,
            now: None,
            low: None,
            high: None,
            windows: self.windows,
            last: self.last,
            age: self.age,
            partial: self.partial,
        };
        let Some(case) = &self.case else { return row };
        let judged = judge::verdict(case);
        row.low = judged.lo.map(Level);
        row.high = judged.hi.map(Level);
        row.before = judged
            .base
            .or_else(|| judge::level(case.periods.baseline()))
            .map(Level);
        row.now = judged
            .level
            .or_else(|| judge::level(case.periods.injection()))
            .map(Level);
        (row.verdict, row.reason) = self.weighed(judged.verdict, self.reason(&judged));
        if row.verdict == Verdict::NoData {
            row.reason = self.no_data.unwrap_or(row.reason);
        }
        row
    }

    /// Why, with what a reader needs to weigh it: the bound that was straddled, a drift taken out, counter resets.
    fn reason(&self, judged: &Judgement) -> String {
        let relative = self
            .case
            .as_ref()
            .is_some_and(|c| c.expect.unit() == judge::Unit::Rel);
        let is_level = self
            .case
            .as_ref()
            .is_some_and(|c| matches!(c.expect, Expect::Level { .. }));
        let show = |x: f64| match (relative, self.unit) {
            (true, _) => format!("{:.1}%", x * 100.0),
            (false, Unit::Percent) if !is_level => format!("{:.2}pp", x * 100.0),
            (false, unit) => unit.show(x),
        };
        let mut reason = judged.reason.to_string();
        for s in &judged.straddled {
            reason.push_str(&format!(" {} by {}", show(s.bound), show(s.past)));
        }
        if judged.drift_taken_out {
            reason.push_str("; drift of the baseline taken out");
        }
        match self.resets {
            0 => {}
            1 => reason.push_str("; 1 counter reset"),
            n => reason.push_str(&format!("; {n} counter resets")),
        }
        reason
    }

    /// What the statistics may not say by themselves.
    fn weighed(&self, verdict: Verdict, reason: String) -> (Verdict, String) {
        if let Some(why) = &self.confounded {
            return (Verdict::Confounded, why.clone());
        }
        match self.exercised {
            Exercised::No => return (Verdict::NotExercised, "the fault hit nothing".into()),
            Exercised::Unknown if verdict == Verdict::AsExpected => {
                return (
                    Verdict::Undecided,
                    "its hits are not known, or it was gone before its time".into(),
                );
            }
            Exercised::Unknown | Exercised::Yes => {}
        }
        if self.partial && verdict == Verdict::AsExpected {
            return (Verdict::Undecided, "the source's answers were incomplete".into());
        }
        (verdict, reason)
    }
}

/// Metrics that stand on no row, ready to be judged on another thread.
#[derive(Debug)]
pub struct OffSheet {
    step: StepName,
    metrics: Vec<(MetricId, Periods)>,
}

impl OffSheet {
    /// Those that moved.
    pub fn moved(&self) -> Vec<Moved> {
        let periods: Vec<&Periods> = self.metrics.iter().map(|(_, p)| p).collect();
        let level = |w: &judge::Windows| judge::level(w).unwrap_or(f64::NAN);
        judge::movers(&periods)
            .into_iter()
            .map(|i| Moved {
                metric: self.metrics[i].0.clone(),
                before: level(self.metrics[i].1.baseline()),
                now: level(self.metrics[i].1.injection()),
                step: self.step.clone(),
            })
            .collect()
    }
}

/// The final verdicts, in the sheet's order.
pub fn verdicts(rows: &BTreeMap<RowId, RowState>) -> Vec<Verdict> {
    rows.values().map(|r| r.verdict).collect()
}

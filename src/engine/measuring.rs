//! Reading: the metrics' source and the targets themselves, each in a task of its own; windows and guard readings from
//! what they bring.

use std::collections::BTreeMap;

use tokio::time::{MissedTickBehavior, interval};

use super::{Done, Engine, baseline, header};
use crate::{
    drill::{
        Input,
        guard::{self, Watch},
    },
    metrics::{Fetch, MetricsError, Source, Store, Wanted, wanted},
    model::{
        dashboard::{MatchOp, Matcher, Read, Selector},
        drill::Limit,
        event::{BaselineRow, Body, GuardState, Health, Period},
        ids::{InstanceName, MetricId, ScopeName},
        phase::Phase,
        plan::Plan,
        sample::{Query, Reading, SourceMs},
        secret::Secrets,
        snapshot::BaselineLevels,
        time::{Moment, Span},
    },
};

/// The sources of a run and what they have brought.
pub(super) struct Meters {
    pub store: Store,
    pub wanted: Vec<Wanted>,
    pub queries: Vec<Query>,
    /// The source, until its task has it.
    pub source: Option<Source>,
    trips: Vec<Trip>,
    /// Source time minus ours, in milliseconds.
    offset: Option<i64>,
    spacing: Span,
}

/// The direct reading of one target instance.
struct Trip {
    instance: InstanceName,
    store: Store,
    wanted: Vec<Wanted>,
    source: Option<Source>,
}

/// All that the guard looks at: hypotheses, then tripwires.
pub(super) fn watches(plan: &Plan) -> Vec<Watch> {
    let mut all = guard::hypotheses(&plan.drill.guard);
    all.extend(guard::tripwires(&plan.drill.guard, &plan.drill.targets.instances));
    all
}

/// Everything that is read: what the drill looks at, and every metric of the dashboard for charts and movers.
fn asked(plan: &Plan) -> Vec<(MetricId, Option<ScopeName>)> {
    let mut asked = plan.drill.watched();
    for metric in &plan.drill.dashboard.metrics {
        let key = (metric.id.clone(), None);
        if !asked.contains(&key) {
            asked.push(key);
        }
    }
    asked
}

impl Meters {
    /// Opens the sources; nothing is read yet.
    pub fn open(plan: &Plan, secrets: &Secrets) -> Result<Meters, MetricsError> {
        let drill = &plan.drill;
        let wanted = wanted(&drill.dashboard, &asked(plan), &drill.targets.instances);
        let widest = drill
            .guard
            .steady_state
            .iter()
            .map(|h| h.window)
            .max()
            .unwrap_or(Span::ZERO);
        let keep = widest.max(baseline::settling_window(drill)).max(drill.window * 4) + Span::seconds(60);
        let source = Source::open(&plan.environment, secrets)?;
        let spacing = source.every();
        let trips = open_trips(plan)?;
        Ok(Meters {
            store: Store::new(&wanted, keep),
            queries: wanted.iter().map(|w| w.query.clone()).collect(),
            wanted,
            source: Some(source),
            trips,
            offset: None,
            spacing,
        })
    }

    /// The spacing of the source's samples: measured, or how often it is asked.
    pub fn spacing(&self) -> Span {
        self.spacing
    }

    /// Takes a fetch and learns the source's clock and rhythm from it.
    pub fn add(&mut self, fetch: Fetch, now: Moment) {
        self.offset = Some(fetch.source_now - now.0 as i64);
        if let Some(interval) = fetch.interval {
            self.spacing = interval;
        }
        self.store.add(fetch);
    }
}

fn open_trips(plan: &Plan) -> Result<Vec<Trip>, MetricsError> {
    if plan.drill.guard.tripwires.is_empty() {
        return Ok(Vec::new());
    }
    let asked: Vec<_> = plan
        .drill
        .guard
        .tripwires
        .iter()
        .map(|t| (t.metric.clone(), t.scope.clone()))
        .collect();
    let service = &plan.drill.targets.service;
    plan.drill
        .targets
        .instances
        .iter()
        .map(|instance| {
            let one = std::slice::from_ref(instance);
            let wanted = wanted(&plan.drill.dashboard, &asked, one);
            let source = Source::targets(&plan.environment, &[(service.clone(), instance.clone())])?;
            Ok(Trip {
                instance: instance.clone(),
                store: Store::new(&wanted, Span::seconds(30)),
                wanted,
                source: Some(source),
            })
        })
        .collect()
}

/// A read narrowed to one instance.
pub(super) fn of_instance(read: &Read, instance: &InstanceName) -> Read {
    let matcher = Matcher {
        label: "instance".into(),
        op: MatchOp::Equal,
        value: instance.as_str().to_owned(),
    };
    let narrow = |selector: &Selector| selector.narrowed(std::slice::from_ref(&matcher), "");
    match read {
        Read::Rate { selector } => Read::Rate {
            selector: narrow(selector),
        },
        Read::Gauge { selector, agg } => Read::Gauge {
            selector: narrow(selector),
            agg: *agg,
        },
        other => other.clone(),
    }
}

impl Engine {
    /// Starts reading. Each source is asked at its own rhythm and never twice at a time.
    pub(super) fn start_meters(&mut self) {
        let Some(meters) = &mut self.meters else { return };
        let mut tasks = Vec::new();
        if let Some(source) = meters.source.take() {
            tasks.push((None, source, meters.wanted.clone()));
        }
        for (i, trip) in meters.trips.iter_mut().enumerate() {
            if let Some(source) = trip.source.take() {
                tasks.push((Some(i), source, trip.wanted.clone()));
            }
        }
        for (meter, source, wanted) in tasks {
            let done = self.done.clone();
            self.spawn(read_on(source, wanted, move |fetch| {
                let fetch = Box::new(fetch);
                done.send(match meter {
                    None => Done::Fetched(fetch),
                    Some(meter) => Done::Tripped { meter, fetch },
                })
                .is_ok()
            }));
        }
    }

    /// Now, on the clock of the metrics' source; our own wall clock until it has answered.
    pub(super) fn source_now(&self) -> SourceMs {
        match self.meters.as_ref().and_then(|m| m.offset) {
            Some(offset) => self.clock.now().0 as i64 + offset,
            None => self.clock.wall().as_millisecond(),
        }
    }

    /// The spacing of the source's samples.
    pub(super) fn spacing(&self) -> Span {
        self.meters.as_ref().map_or(Span::seconds(1), |m| m.spacing)
    }

    /// How old the newest sample of a query is.
    pub(super) fn age(&self, query: &Query) -> Span {
        self.meters
            .as_ref()
            .map_or(Span::ZERO, |m| m.store.reading(query, Span::ZERO).age)
    }

    pub(super) fn fetched(&mut self, fetch: Fetch) {
        let now = self.clock.now();
        for warning in &fetch.warnings {
            self.warn_once(warning);
        }
        let Some(meters) = &mut self.meters else { return };
        meters.add(fetch, now);
        self.take_windows();
        self.share_readings();
        if self.machine.phase() == Phase::Baseline {
            self.watch_baseline();
        }
    }

    fn warn_once(&mut self, warning: &str) {
        if self.warned.insert(warning.to_owned()) {
            self.ledger.emit(Body::Warning(warning.to_owned()));
        }
    }

    /// Takes every window that is complete by now.
    fn take_windows(&mut self) {
        let Some(meters) = &self.meters else { return };
        let width = self.plan.drill.window;
        for period in self.collected.open_periods() {
            for query in &meters.queries {
                if let Some(edges) = meters.store.edges(query) {
                    self.collected.set_edges(query, edges);
                }
                while let Some((start, index)) = self.collected.wanted(period, query, width) {
                    let Some(window) = meters.store.window(query, start, width, index) else {
                        break;
                    };
                    self.ledger.emit(Body::Window {
                        query: query.clone(),
                        period,
                        window: window.clone(),
                    });
                    self.collected.push(period, query, window);
                }
            }
        }
    }

    fn share_readings(&mut self) {
        let Some(meters) = &self.meters else { return };
        let pools = &self.plan.drill.recovery.pools;
        let readings: BTreeMap<Query, Reading> = pools
            .iter()
            .map(|p| Query {
                metric: p.metric.clone(),
                scope: p.scope.clone(),
            })
            .map(|q| (q.clone(), meters.store.reading(&q, Span::ZERO)))
            .collect();
        self.shared.readings(readings);
    }

    /// Evaluates the hypotheses, at the guard's own rhythm.
    pub(super) fn guard(&mut self, now: Moment) {
        let guarded = !matches!(self.machine.phase(), Phase::Preflight | Phase::Closed);
        if !guarded || now.since(self.last_guard) < self.plan.drill.guard.every {
            return;
        }
        self.last_guard = now;
        let mut states = Vec::new();
        if let Some(meters) = &self.meters {
            for watch in self.watches.iter_mut().filter(|w| w.instance.is_none()) {
                let reading = meters.store.reading(&watch.query, watch.window);
                states.push(watch.observe(reading, Some(&self.baseline), now));
            }
        }
        let unread = self.meters.is_none().then(|| "metrics cannot be read".to_owned());
        let bad = states
            .iter()
            .find(|s| s.health != Health::Holds)
            .map(|s| self.guard_text(s))
            .or(unread);
        self.shared.bad_guard(bad);
        for state in states {
            self.guard_seen(state);
        }
    }

    /// A direct reading of a target: its tripwires are evaluated at once.
    pub(super) fn tripped(&mut self, meter: usize, fetch: Fetch) {
        let now = self.clock.now();
        let Some(trip) = self.meters.as_mut().and_then(|m| m.trips.get_mut(meter)) else {
            return;
        };
        trip.store.add(fetch);
        let mut states = Vec::new();
        for watch in self
            .watches
            .iter_mut()
            .filter(|w| w.instance.as_ref() == Some(&trip.instance))
        {
            let reading = trip.store.reading(&watch.query, Span::ZERO);
            states.push(watch.observe(reading, Some(&self.baseline), now));
        }
        for state in states {
            self.guard_seen(state);
        }
    }

    fn guard_seen(&mut self, state: GuardState) {
        if matches!(self.machine.phase(), Phase::Preflight | Phase::Closed) {
            return;
        }
        let text = self.guard_text(&state);
        self.guard_states.insert(state.index, state.clone());
        self.feed(Input::Guard(state, text));
    }

    /// `order_threads_busy order-0 46 (≤ 40), 3 of 3`.
    pub(super) fn guard_text(&self, state: &GuardState) -> String {
        let Some(watch) = self.watches.iter().find(|w| w.index == state.index) else {
            return String::new();
        };
        let metric = &watch.query.metric;
        let unit = self.plan.drill.dashboard.metric(metric).map(|m| m.unit);
        let value = match (&state.reading.value, unit) {
            (Ok(value), Some(unit)) => unit.show(value.0),
            (Ok(value), None) => value.0.to_string(),
            (Err(gap), _) => gap.to_string(),
        };
        let place = watch.instance.as_ref().map(ToString::to_string);
        let place = place
            .or_else(|| watch.query.scope.as_ref().map(ToString::to_string))
            .unwrap_or_default();
        let (limit, samples) = self.limits.get(state.index).cloned().unwrap_or_default();
        let bad = state.bad.min(samples);
        format!("{metric} {place} {value} ({limit}), {bad} of {samples}")
    }

    pub(super) fn restart_guard(&mut self) {
        let now = self.clock.now();
        for watch in &mut self.watches {
            watch.restart(now);
        }
    }

    /// The baseline is being watched: rows, and the range that later readings are compared with.
    fn watch_baseline(&mut self) {
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

    pub(super) fn judge_baseline(&mut self) {
        self.baseline_rows(true);
    }

    pub(super) fn baseline_judged(
        &mut self,
        rows: Vec<(BaselineRow, Option<String>)>,
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
    fn relative_limits_without_level(&self) -> Vec<String> {
        let relative = self
            .plan
            .drill
            .guard
            .steady_state
            .iter()
            .filter(|h| matches!(h.limit, Limit::Within(_)));
        relative
            .map(|h| Query {
                metric: h.metric.clone(),
                scope: h.scope.clone(),
            })
            .filter(|q| !self.baseline.levels.contains_key(q))
            .map(|q| format!("guard {}: its baseline has no level to stay near", q.metric))
            .collect()
    }

    /// The baseline is over: no further window belongs to it.
    pub(super) fn freeze_baseline(&mut self) {
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

/// Asks a source again and again, at its rhythm, until nobody listens.
async fn read_on(mut source: Source, wanted: Vec<Wanted>, mut tell: impl FnMut(Fetch) -> bool) {
    let mut rhythm = interval(source.every().into());
    rhythm.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        rhythm.tick().await;
        if !tell(source.fetch(&wanted).await) {
            return;
        }
    }
}

/// The limits as people read them, with the samples that abort, by index.
pub(super) fn limits(plan: &Plan) -> Vec<(String, u32)> {
    header::header(plan, 0)
        .guard
        .into_iter()
        .map(|g| (g.limit, g.samples))
        .collect()
}

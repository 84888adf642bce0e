//! Reading: the metrics' source and the targets themselves, each in a task of its own, and the windows that they fill.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::{MissedTickBehavior, interval};

use super::{Done, Engine, baseline};
use crate::{
    metrics::{Fetch, MetricsError, Source, Store, Wanted, wanted},
    model::{
        dashboard::{MatchOp, Matcher, Read, Selector},
        event::Body,
        ids::{InstanceName, MetricId, ScopeName},
        phase::Phase,
        plan::Plan,
        playbook::PoolDrain,
        sample::{Gap, Query, Reading, SourceMs},
        secret::Secrets,
        time::{Moment, Span},
    },
};

/// The sources of a run and what they have brought.
pub(super) struct Meters {
    pub store: Store,
    pub wanted: Vec<Wanted>,
    pub queries: Vec<Query>,
    /// The pools' queries, of each target instance apart.
    of_instances: Vec<Query>,
    /// The source, until its task has it.
    pub source: Option<Source>,
    pub trips: Vec<Trip>,
    /// Source time minus ours, in milliseconds.
    offset: Option<i64>,
    spacing: Span,
}

/// The direct reading of one target instance.
pub(super) struct Trip {
    pub instance: InstanceName,
    pub store: Store,
    wanted: Vec<Wanted>,
    source: Option<Source>,
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
        let mut wanted = wanted(&drill.dashboard, &asked(plan), &drill.targets.instances);
        let queries = wanted.iter().map(|w| w.query.clone()).collect();
        let of_instances = of_instances(plan, &wanted);
        wanted.extend(of_instances.iter().cloned());
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
            queries,
            of_instances: of_instances.into_iter().map(|w| w.query).collect(),
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

    /// The queries that a pool is judged by: one for each target, if the metric has a series of any of them; else the
    /// whole.
    pub fn pool_queries(&self, pool: &PoolDrain) -> Vec<Query> {
        let whole = Query::new(&pool.metric, pool.scope.as_ref());
        let is_of_pool = |q: &&Query| q.metric == whole.metric && q.scope == whole.scope;
        let each: Vec<Query> = self.of_instances.iter().filter(is_of_pool).cloned().collect();
        let is_there =
            |q: &Query| !matches!(self.store.reading(q, Span::ZERO).value, Err(Gap::NoSeries { .. }));
        match each.iter().any(is_there) {
            true => each,
            false => vec![whole],
        }
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

/// More queries than that are not asked for instances apart: pools are then judged as a whole.
const MOST_OF_INSTANCES: usize = 64;

/// What the pools read, narrowed to each target: only what is read raw has an instance.
fn of_instances(plan: &Plan, wanted: &[Wanted]) -> Vec<Wanted> {
    let pools = plan.drill.recovery.pools.iter();
    let queries = pools
        .map(|p| Query::new(&p.metric, p.scope.as_ref()))
        .collect::<BTreeSet<_>>();
    let raw = wanted.iter().filter(|w| queries.contains(&w.query));
    let raw = raw.filter(|w| matches!(w.read, Read::Gauge { .. } | Read::Rate { .. }));
    let each = raw.flat_map(|w| {
        let instances = plan.drill.targets.instances.iter();
        instances.map(|instance| Wanted {
            query: w.query.of_instance(instance),
            read: of_instance(&w.read, instance),
        })
    });
    let each: Vec<Wanted> = each.collect();
    if each.len() > MOST_OF_INSTANCES {
        Vec::new()
    } else {
        each
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
        self.watch_targets();
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
            .map(|p| Query::new(&p.metric, p.scope.as_ref()))
            .chain(meters.of_instances.iter().cloned())
            .map(|q| (q.clone(), meters.store.reading(&q, Span::ZERO)))
            .collect();
        self.shared.readings(readings);
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

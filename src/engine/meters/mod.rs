//! Reading: the metrics' source and the targets themselves, each in a task of its own, and the windows that they fill.

pub(super) mod collected;
mod reading;
mod tripwires;

use std::collections::BTreeSet;

use self::tripwires::{Trip, open_trips};
use super::baseline;
use crate::{
    metrics::{Fetch, MetricsError, Source, Store, Wanted, wanted},
    model::{
        dashboard::{MatchOp, Matcher, Read, Selector},
        ids::{InstanceName, MetricId, ScopeName},
        plan::Plan,
        playbook::PoolDrain,
        sample::{Gap, Query},
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

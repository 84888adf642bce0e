//! The blast radius, with the request rates of the instances as they are now.

use std::collections::BTreeMap;

use super::Inspector;
use crate::{
    drill::{faults, reach},
    engine::meters::{Meters, of_instance},
    metrics::{Store, Wanted},
    model::{
        drill::Action,
        event::{CheckOutcome, ReachLine},
        ids::{InstanceName, ScopeName, ServiceName},
        sample::Query,
        time::Span,
    },
};

impl Inspector {
    /// The blast radius, with the request rates of the instances as they are now.
    pub(super) async fn reach(&mut self, meters: &mut Meters) -> Vec<ReachLine> {
        let rates = self.rates(meters).await;
        let lines = reach::lines(&self.plan, |service, instance| {
            rates.get(&(service.clone(), instance.clone())).copied()
        });
        let cap = self.plan.drill.steps.iter().find_map(|s| match &s.action {
            Action::Fault { envelope, .. } => envelope.max_concurrent,
            _ => None,
        });
        for line in &lines {
            if reach::fills_the_pool(line) {
                let found = format!("{} on {} would hold the whole pool", line.what, line.instance);
                let next =
                    Some("lower percent or max_concurrent: otherwise the pool is tested, not the fault");
                self.say("reach", CheckOutcome::Warned, found, next);
            } else if reach::cap_eats_hits(line, cap) {
                let found = format!(
                    "the cap lies below what {} on {} would hold",
                    line.what, line.instance
                );
                let next = Some("raise max_concurrent, or the drill shows less than it says");
                self.say("reach", CheckOutcome::Warned, found, next);
            }
        }
        lines
    }

    /// The requests a second of every instance that is hit: all asked at once, twice, because a rate needs two samples.
    async fn rates(&self, meters: &mut Meters) -> BTreeMap<(ServiceName, InstanceName), f64> {
        let asked = self.rate_queries();
        if asked.is_empty() {
            return BTreeMap::new();
        }
        let Some(mut source) = meters.source.take() else {
            return BTreeMap::new();
        };
        let wanted: Vec<Wanted> = asked.values().cloned().collect();
        let mut store = Store::new(&wanted, Span::seconds(60));
        for round in 0..2 {
            if round > 0 {
                tokio::time::sleep(source.every().into()).await;
            }
            store.add(source.fetch(&wanted).await);
        }
        let window = source.every() * 4;
        meters.source = Some(source);
        let read = asked.into_iter().filter_map(|(place, wanted)| {
            let value = store.reading(&wanted.query, window).value.ok()?;
            Some((place, value.0))
        });
        read.collect()
    }

    /// The query of each instance's own rate, where the topology names a metric for it.
    fn rate_queries(&self) -> BTreeMap<(ServiceName, InstanceName), Wanted> {
        let dashboard = &self.plan.drill.dashboard;
        let of = |service: &ServiceName, instance: &InstanceName| {
            let node = dashboard.topology.iter().find(|n| &n.service == service)?;
            let metric = dashboard.metric(node.pool.as_ref()?.rate_metric.as_ref()?)?;
            // Named like a scope, so that the answers of one metric are told apart.
            let scope = ScopeName::new(instance.as_str()).ok()?;
            Some(Wanted {
                query: Query::new(&metric.id, Some(&scope)),
                read: of_instance(&metric.read, instance),
            })
        };
        faults::aims(&self.plan)
            .filter_map(|aim| {
                let wanted = of(aim.service, aim.instance)?;
                Some(((aim.service.clone(), aim.instance.clone()), wanted))
            })
            .collect()
    }
}

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
        said::said,
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
            let (fault, instance) = (&line.what, &line.instance);
            let what = said!("reach", "影响面");
            if reach::fills_the_pool(line) {
                let found = said!(
                    "{fault} on {instance} would hold the whole pool",
                    "{instance} 的 {fault} 会占满整个线程池"
                );
                let next = Some(said!(
                    "lower percent or max_concurrent: otherwise the pool is tested, not the fault",
                    "请调低 percent 或 max_concurrent：否则测的是线程池，而非故障"
                ));
                self.say(what, CheckOutcome::Warned, found, next);
            } else if reach::cap_eats_hits(line, cap) {
                let found = said!(
                    "the cap lies below what {fault} on {instance} would hold",
                    "上限低于 {instance} 的 {fault} 会占用的线程数"
                );
                let next = Some(said!(
                    "raise max_concurrent, or the drill shows less than it says",
                    "请调高 max_concurrent，否则演练的效果小于所述"
                ));
                self.say(what, CheckOutcome::Warned, found, next);
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

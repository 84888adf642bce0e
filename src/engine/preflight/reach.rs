//! The blast radius, with the request rates of the instances as they are now.

use std::collections::BTreeMap;

use super::Inspector;
use crate::{
    drill::{faults, reach},
    engine::meters::{Meters, of_instance},
    metrics::{Source, Store, Wanted},
    model::{
        drill::Action,
        event::{CheckOutcome, ReachLine},
        ids::{InstanceName, ServiceName},
        plan::Plan,
        sample::{Query, Reading},
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

    async fn rates(&self, meters: &mut Meters) -> BTreeMap<(ServiceName, InstanceName), f64> {
        let mut rates = BTreeMap::new();
        let Some(mut source) = meters.source.take() else {
            return rates;
        };
        for (service, instance) in rule_instances(&self.plan) {
            if let Some(rate) = self.rate(&mut source, &service, &instance).await {
                rates.insert((service, instance), rate);
            }
        }
        meters.source = Some(source);
        rates
    }

    async fn rate(&self, source: &mut Source, service: &ServiceName, instance: &InstanceName) -> Option<f64> {
        let dashboard = &self.plan.drill.dashboard;
        let node = dashboard.topology.iter().find(|n| &n.service == service)?;
        let metric = dashboard.metric(node.pool.as_ref()?.rate_metric.as_ref()?)?;
        let query = Query {
            metric: metric.id.clone(),
            scope: None,
        };
        let wanted = [Wanted {
            query: query.clone(),
            read: of_instance(&metric.read, instance),
        }];
        let mut store = Store::new(&wanted, Span::seconds(60));
        for round in 0..2 {
            if round > 0 {
                tokio::time::sleep(source.every().into()).await;
            }
            store.add(source.fetch(&wanted).await);
        }
        let Reading { value, .. } = store.reading(&query, source.every() * 4);
        value.ok().map(|v| v.0)
    }
}

/// Every instance that gets a rule, once, with its service.
fn rule_instances(plan: &Plan) -> Vec<(ServiceName, InstanceName)> {
    let mut all = Vec::new();
    for step in &plan.drill.steps {
        let Action::Fault { faults, envelope } = &step.action else {
            continue;
        };
        for fault in faults {
            let (service, hit) = faults::instances(plan, fault, envelope);
            for instance in hit {
                let key = (service.clone(), instance.clone());
                if !all.contains(&key) {
                    all.push(key);
                }
            }
        }
    }
    all
}

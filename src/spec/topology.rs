//! The parts of a dashboard that name its metrics: panels, services, pools.

use super::{
    diagnostic::Problem,
    fields::Fields,
    names::meant,
    report::Report,
    shape::{Form, Scalar},
    single,
    tree::{Node, Value},
    values::{self, Bad, quoted},
};
use crate::model::{
    dashboard::{Metric, Panel, Pool, TopologyNode},
    ids::{MetricId, ServiceName},
    text::nearest,
};

/// The metrics that panels and pools may name.
pub(super) struct Known<'a> {
    pub report: &'a Report<'a>,
    pub metrics: &'a [Metric],
    /// Whether all metrics could be read; otherwise a name may belong to one that could not.
    pub complete: bool,
}

impl Known<'_> {
    pub fn panel(&self, fields: &Fields) -> Option<Panel> {
        let title = fields.localized("title");
        let metrics = fields
            .list("metrics")
            .into_iter()
            .filter_map(|node| self.metric(node))
            .collect();
        Some(Panel {
            title: title?,
            metrics,
        })
    }

    fn metric(&self, node: &Node) -> Option<MetricId> {
        let form = Form::One(Scalar::Name);
        let id = single::one(self.report, node, &form, |text| single::name(text, MetricId::new))?;
        if self.complete && !self.metrics.iter().any(|m| m.id == id) {
            let names = self.metrics.iter().map(|m| m.id.as_str());
            let bad =
                Bad::new(format!("no metric is called `{id}`")).help(meant(id.as_str(), "metrics", names));
            self.report.error(&node.span, Problem::UnknownName, bad);
        }
        Some(id)
    }

    pub fn service(&self, fields: &Fields) -> Option<TopologyNode> {
        let service = fields.name("service", ServiceName::new);
        let instances = fields.one_or("instances", values::whole(1, 100_000));
        let calls = fields.ones("calls", |text| single::name(text, ServiceName::new));
        let shares = fields.ones("shares", values::token);
        let pool = fields.map("pool").and_then(|pool| self.pool(&pool));
        Some(TopologyNode {
            service: service?,
            instances: instances?,
            calls,
            pool,
            shares,
        })
    }

    fn pool(&self, fields: &Fields) -> Option<Pool> {
        let threads = fields.one("threads", values::whole(1, 1_000_000));
        let metric = fields.node("metric").and_then(|node| self.metric(node));
        let timeout = fields.some_time("timeout");
        let rate_metric = fields.node("rate").and_then(|node| self.metric(node));
        Some(Pool {
            threads: threads?,
            metric,
            timeout,
            rate_metric,
        })
    }
}

/// A call may lead to a service that the map does not have; one that nearly has a name of the map is a slip.
pub(super) fn warn_of_misspelt_calls(fields: &Fields, topology: &[TopologyNode]) {
    let services: Vec<&str> = topology.iter().map(|n| n.service.as_str()).collect();
    for node in fields.maps("topology").iter().flat_map(|node| node.list("calls")) {
        let Value::Text { text, .. } = &node.value else {
            continue;
        };
        if services.contains(&text.as_str()) {
            continue;
        }
        if let Some(near) = nearest(text, services.iter().copied()) {
            let bad = Bad::new(format!("the topology has no service {}", quoted(text)))
                .help(format!("did you mean `{near}`?"));
            fields.report.warn(&node.span, Problem::UnknownName, bad);
        }
    }
}

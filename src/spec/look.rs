//! What a drill may name: the metrics and scopes of its dashboard.

use super::{bounds, diagnostic::Problem, fields::Fields, names::meant, values::Bad};
use crate::model::{
    amount::Unit,
    dashboard::{Dashboard, Metric},
    ids::{MetricId, ScopeName},
};

/// The dashboard that a drill looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look<'a> {
    /// `None` if there is none of that name: then nothing can be said about metrics.
    pub dashboard: Option<&'a Dashboard>,
}

/// A metric and the scope that narrows it, both known.
pub(super) struct Seen<'a> {
    pub metric: &'a Metric,
    pub scope: Option<ScopeName>,
}

impl<'a> Look<'a> {
    /// The `metric` and `scope` of a map, if the dashboard has them.
    pub fn seen(&self, fields: &Fields) -> Option<Seen<'a>> {
        let id = fields.name("metric", MetricId::new);
        let scope = self.scope(fields);
        let metric = self.metric(fields, &id?)?;
        Some(Seen {
            metric,
            scope: scope?,
        })
    }

    fn metric(&self, fields: &Fields, id: &MetricId) -> Option<&'a Metric> {
        let dashboard = self.dashboard?;
        let found = dashboard.metric(id);
        if found.is_none() {
            let names = dashboard.metrics.iter().map(|m| m.id.as_str());
            let bad = Bad::new(format!("dashboard `{}` has no metric `{id}`", dashboard.name)).help(meant(
                id.as_str(),
                "metrics",
                names,
            ));
            fields.wrong("metric", Problem::UnknownName, bad);
        }
        found
    }

    /// `Some(None)` if the map has no scope; `None` if it has a wrong one.
    fn scope(&self, fields: &Fields) -> Option<Option<ScopeName>> {
        if !fields.has("scope") {
            return Some(None);
        }
        let name = fields.name("scope", ScopeName::new)?;
        let dashboard = self.dashboard?;
        if dashboard.scope(&name).is_none() {
            let names = dashboard.scopes.iter().map(|s| s.name.as_str());
            let bad = Bad::new(format!("dashboard `{}` has no scope `{name}`", dashboard.name)).help(meant(
                name.as_str(),
                "scopes",
                names,
            ));
            fields.wrong("scope", Problem::UnknownName, bad);
            return None;
        }
        Some(Some(name))
    }
}

/// A level in a metric's unit.
pub(super) fn level(fields: &Fields, key: &str, unit: Unit) -> Option<f64> {
    fields.one(key, |text| bounds::level(text, unit))
}

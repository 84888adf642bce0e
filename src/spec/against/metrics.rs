//! Metrics that the environment's source can answer, and how often.

use super::Check;
use crate::{
    model::{dashboard::Read, drill::Drill, environment::MetricsSource, time::Span},
    spec::{
        diagnostic::{Problem, Severity},
        values::Bad,
    },
};

impl Check<'_> {
    pub(super) fn metrics(&mut self) {
        let interval = match &self.environment.metrics {
            MetricsSource::Prometheus(p) => p.scrape_interval,
            MetricsSource::Scrape { every, .. } => {
                self.without_server();
                Some(*every)
            }
        };
        if let Some(interval) = interval.filter(|i| *i > self.drill.window) {
            let bad = Bad::new(format!(
                "samples come every {interval}: most windows of {} stay empty",
                self.drill.window
            ))
            .help(format!("write `window: {}` or more", longer(interval)));
            self.note(Severity::Warning, Problem::Weak, "window", bad);
        }
    }

    /// Notes every metric in use that only a Prometheus server can answer.
    fn without_server(&mut self) {
        let drill = self.drill;
        for (id, _) in drill.watched() {
            let needs_server = drill
                .dashboard
                .metric(&id)
                .is_some_and(|m| matches!(m.read, Read::Promql { .. }));
            if needs_server {
                let bad = Bad::new(format!(
                    "`{id}` is a `promql` metric, and environment `{}` has no Prometheus server",
                    self.environment.name
                ))
                .help("read it as a `ratio`, `rate`, `quantile` or `gauge`, or add `prometheus:` to the environment");
                let keys = keys_of(drill, id.as_str());
                self.note(Severity::Error, Problem::Unsafe, keys, bad);
            }
        }
    }
}

/// A window that holds two samples.
fn longer(interval: Span) -> Span {
    interval * 2
}

/// Where a drill first uses a metric.
fn keys_of(drill: &Drill, id: &str) -> String {
    let guard = drill
        .guard
        .steady_state
        .iter()
        .position(|h| h.metric.as_str() == id);
    if let Some(i) = guard {
        return format!("guard.steady_state.{i}.metric");
    }
    for (i, step) in drill.steps.iter().enumerate() {
        if let Some(j) = step.expect.iter().position(|e| e.metric.as_str() == id) {
            return format!("steps.{i}.expect.{j}.metric");
        }
    }
    match drill.recovery.pools.iter().position(|p| p.metric.as_str() == id) {
        Some(i) => format!("recovery.pools.{i}.metric"),
        None => "guard".to_owned(),
    }
}

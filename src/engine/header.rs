//! From a plan to the header that opens a run: everything a reader needs to make sense of later events.

use crate::model::{
    amount::{Basis, Bounds, Unit},
    dashboard::Metric,
    drill::{Action, Change, Limit, Step},
    event::{GuardHeader, Header, MetricHeader, RowHeader, StepHeader},
    ids::{InstanceName, MetricId},
    plan::Plan,
    sample::Query,
};

/// The header of a run of `plan`.
pub fn header(plan: &Plan, keeper: u32) -> Header {
    let drill = &plan.drill;
    let metric = |m: &Metric| MetricHeader {
        id: m.id.clone(),
        title: m.title.clone(),
        unit: m.unit,
    };
    let unscoped = |metrics: &[MetricId]| metrics.iter().map(|m| Query::new(m, None)).collect::<Vec<_>>();
    Header {
        run: plan.run.clone(),
        drill: drill.name.clone(),
        title: drill.title.clone(),
        hypothesis: drill.hypothesis.clone(),
        purpose: plan.purpose,
        environment: plan.environment.name.clone(),
        stage: plan.environment.stage,
        keeper,
        version: plan.allclear_version.clone(),
        baseline: drill.baseline,
        window: drill.window,
        steps: drill.steps.iter().map(|s| step_header(plan, s)).collect(),
        guard: guard_headers(plan),
        metrics: drill.dashboard.metrics.iter().map(metric).collect(),
        panels: drill
            .dashboard
            .panels
            .iter()
            .map(|p| (p.title.clone(), unscoped(&p.metrics)))
            .collect(),
        topology: drill.dashboard.topology.clone(),
        targets: drill.targets.instances.clone(),
    }
}

fn unit_of(plan: &Plan, metric: &MetricId) -> Unit {
    plan.drill
        .dashboard
        .metric(metric)
        .map_or(Unit::Count, |m| m.unit)
}

fn step_header(plan: &Plan, step: &Step) -> StepHeader {
    let (what, cap) = match &step.action {
        Action::Observe => (String::new(), None),
        Action::Load(load) => (load.describe(), Some(load.max_concurrent)),
        Action::Fault { faults, envelope } => {
            let all: Vec<_> = faults.iter().map(|f| f.describe()).collect();
            (all.join(", "), envelope.max_concurrent)
        }
    };
    StepHeader {
        name: step.name.clone(),
        what,
        breaks: step.action.breaks(),
        duration: step.duration,
        max_concurrent: cap,
        rows: step
            .expect
            .iter()
            .map(|e| RowHeader {
                metric: e.metric.clone(),
                scope: e.scope.clone(),
                declared: declared(&e.change, unit_of(plan, &e.metric)),
                measured: e.change.measured(),
                otherwise: e.otherwise.clone(),
            })
            .collect(),
    }
}

fn guard_headers(plan: &Plan) -> Vec<GuardHeader> {
    let guard = &plan.drill.guard;
    let hypotheses = guard.steady_state.iter().map(|h| GuardHeader {
        metric: h.metric.clone(),
        scope: h.scope.clone(),
        instance: None,
        limit: limit(h.limit, unit_of(plan, &h.metric)),
        samples: guard.samples,
    });
    let tripwires = guard.tripwires.iter().flat_map(|t| {
        plan.drill
            .targets
            .instances
            .iter()
            .map(|instance: &InstanceName| GuardHeader {
                metric: t.metric.clone(),
                scope: t.scope.clone(),
                instance: Some(instance.clone()),
                limit: limit(t.limit, unit_of(plan, &t.metric)),
                samples: t.samples,
            })
    });
    hypotheses.chain(tripwires).collect()
}

/// A limit, short: `≥ 99.00%`.
pub fn limit(limit: Limit, unit: Unit) -> String {
    match limit {
        Limit::AtLeast(value) => format!("≥ {}", level(value, unit)),
        Limit::AtMost(value) => format!("≤ {}", level(value, unit)),
        Limit::Within(fraction) => format!("±{}%", trimmed(fraction * 100.0)),
    }
}

/// The declared change, short: `+≥1.50s`, `±0.50pp`, `-20%..-5%`.
pub fn declared(change: &Change, unit: Unit) -> String {
    match change {
        Change::Rises(bounds) => ranged("+", bounds, unit),
        Change::Falls(bounds) => ranged("-", bounds, unit),
        Change::Stays(bounds) => format!("±{}", bound(bounds.at_most.unwrap_or(0.0), bounds.basis, unit)),
        Change::Level(bounds) => match (bounds.at_least, bounds.at_most) {
            (Some(low), Some(high)) => format!("{}..{}", level(low, unit), level(high, unit)),
            (Some(low), None) => format!("≥ {}", level(low, unit)),
            (None, Some(high)) => format!("≤ {}", level(high, unit)),
            (None, None) => "any".into(),
        },
    }
}

fn ranged(sign: &str, bounds: &Bounds, unit: Unit) -> String {
    let show = |x| bound(x, bounds.basis, unit);
    match (bounds.at_least, bounds.at_most) {
        (None, None) => format!("{sign}any"),
        (Some(low), None) => format!("{sign}≥{}", show(low)),
        (None, Some(high)) => format!("0..{sign}{}", show(high)),
        (Some(low), Some(high)) => format!("{sign}{}..{}", show(low), show(high)),
    }
}

fn bound(value: f64, basis: Basis, unit: Unit) -> String {
    match (basis, unit) {
        (Basis::Relative, Unit::Percent) => format!("{}%rel", trimmed(value * 100.0)),
        (Basis::Relative, _) => format!("{}%", trimmed(value * 100.0)),
        (Basis::Absolute, Unit::Percent) => format!("{}pp", trimmed(value * 100.0)),
        (Basis::Absolute, _) => unit.show(value),
    }
}

/// As exact as a file can say it, without digits that say nothing: a limit must not be shown as another.
fn trimmed(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

/// A level as a file wrote it: a percentage is not rounded to another one.
fn level(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => format!("{}%", trimmed(value * 100.0)),
        _ => unit.show(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_not_rounded_into_another() {
        assert_eq!(limit(Limit::AtLeast(0.99999), Unit::Percent), "≥ 99.999%");
        let small = Bounds {
            at_least: None,
            at_most: Some(0.00004),
            basis: Basis::Absolute,
        };
        assert_eq!(declared(&Change::Stays(small), Unit::Percent), "±0.004pp");
    }

    #[test]
    fn declared_changes_read_as_people_write_them() {
        let bounds = |at_least, at_most, basis| Bounds {
            at_least,
            at_most,
            basis,
        };
        let shown = [
            declared(
                &Change::Rises(bounds(Some(1.5), None, Basis::Absolute)),
                Unit::Seconds,
            ),
            declared(
                &Change::Rises(bounds(None, Some(0.2), Basis::Relative)),
                Unit::Seconds,
            ),
            declared(
                &Change::Stays(bounds(None, Some(0.005), Basis::Absolute)),
                Unit::Percent,
            ),
            declared(
                &Change::Falls(bounds(Some(0.1), Some(0.3), Basis::Relative)),
                Unit::PerSecond,
            ),
            declared(
                &Change::Rises(bounds(None, None, Basis::Absolute)),
                Unit::PerSecond,
            ),
            declared(
                &Change::Level(bounds(None, Some(12.0), Basis::Absolute)),
                Unit::Count,
            ),
        ];
        assert_eq!(
            shown,
            ["+≥1.50s", "0..+20%", "±0.5pp", "-10%..30%", "+any", "≤ 12"]
        );
    }
}

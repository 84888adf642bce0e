//! The guard: hypotheses over windows and tripwires.

use super::{
    bounds,
    diagnostic::Problem,
    fields::Fields,
    look::{Look, level},
    values::{self, Bad},
};
use crate::model::{
    amount::Unit,
    dashboard::{MetricKind, Read},
    drill::{Guard, Hypothesis, Limit, Tripwire},
    time::Span,
};

/// A hypothesis looks over this many of the drill's windows unless it says otherwise.
const WINDOWS_OF_A_HYPOTHESIS: u64 = 6;
/// More bad samples than this and a guard no longer guards.
const MOST_SAMPLES: u32 = 100;

pub(super) fn read(fields: &Fields, look: Look, window: Option<Span>) -> Option<Guard> {
    let every = fields.some_time("every");
    let samples = fields.one_or("samples", values::whole(1, MOST_SAMPLES));
    let hypotheses = fields.maps("steady_state");
    let steady_state: Vec<Hypothesis> = hypotheses
        .iter()
        .filter_map(|h| hypothesis(h, look, window))
        .collect();
    let tripwires = fields
        .maps("tripwires")
        .iter()
        .filter_map(|t| tripwire(t, look))
        .collect();
    if fields.is_empty_list("steady_state") {
        let bad = Bad::new("a guard without a hypothesis guards nothing")
            .help("name a business metric and its limit");
        fields.wrong("steady_state", Problem::Unsafe, bad);
    } else if steady_state.len() == hypotheses.len() && !looks_at_business(&steady_state, look) {
        let bad = Bad::new("the guard has no business metric").help(business_metrics(look));
        fields
            .report
            .error(&fields.place("steady_state"), Problem::Unsafe, bad);
    }
    Some(Guard {
        every: every?,
        samples: samples?,
        steady_state,
        tripwires,
    })
}

fn looks_at_business(hypotheses: &[Hypothesis], look: Look) -> bool {
    let Some(dashboard) = look.dashboard else {
        return true;
    };
    hypotheses
        .iter()
        .filter_map(|h| dashboard.metric(&h.metric))
        .any(|m| m.kind == MetricKind::Business)
}

fn business_metrics(look: Look) -> String {
    let names: Vec<String> = look
        .dashboard
        .iter()
        .flat_map(|d| &d.metrics)
        .filter(|m| m.kind == MetricKind::Business)
        .map(|m| format!("`{}`", m.id))
        .take(10)
        .collect();
    if names.is_empty() {
        "give a metric of the dashboard `kind: business`: health checks stay green while users suffer"
            .to_owned()
    } else {
        format!("the business metrics are {}", names.join(", "))
    }
}

fn hypothesis(fields: &Fields, look: Look, drill_window: Option<Span>) -> Option<Hypothesis> {
    let window = if fields.has("window") {
        fields.some_time("window")
    } else {
        drill_window.map(|w| w * WINDOWS_OF_A_HYPOTHESIS)
    };
    let seen = look.seen(fields)?;
    let limit = limit(fields, seen.metric.unit).or_else(|| {
        fields
            .one("within", |text| bounds::fraction(text, seen.metric.unit))
            .map(Limit::Within)
    });
    Some(Hypothesis {
        metric: seen.metric.id.clone(),
        scope: seen.scope,
        window: window?,
        limit: limit?,
    })
}

fn limit(fields: &Fields, unit: Unit) -> Option<Limit> {
    level(fields, "at_least", unit)
        .map(Limit::AtLeast)
        .or_else(|| level(fields, "at_most", unit).map(Limit::AtMost))
}

fn tripwire(fields: &Fields, look: Look) -> Option<Tripwire> {
    let samples = fields.one_or("samples", values::whole(1, MOST_SAMPLES));
    let seen = look.seen(fields)?;
    let why_not = match seen.metric.read {
        Read::Gauge { .. } | Read::Rate { .. } => None,
        Read::Promql { .. } => Some("`promql` asks a server; a tripwire is read straight from the targets"),
        Read::Ratio { .. } => Some("a `ratio` needs many events; a tripwire looks at single samples"),
        Read::Quantile { .. } | Read::Mean { .. } => {
            Some("a `quantile` needs many events; a tripwire looks at single samples")
        }
    };
    if let Some(why) = why_not {
        let bad = Bad::new(format!("`{}` cannot be a tripwire: {why}", seen.metric.id))
            .help("use a `gauge` or a `rate`, or put it into `steady_state`");
        fields.wrong("metric", Problem::Unsafe, bad);
    }
    let limit = limit(fields, seen.metric.unit);
    Some(Tripwire {
        metric: seen.metric.id.clone(),
        scope: seen.scope,
        limit: limit?,
        samples: samples?,
    })
}

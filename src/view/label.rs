//! Short names for what is looked at.

use crate::model::{
    event::{GuardHeader, RowHeader},
    ids::{MetricId, ScopeName},
    sample::Query,
    time::Span,
};

fn scoped(metric: &MetricId, scope: Option<&ScopeName>) -> String {
    Query::new(metric, scope).to_string()
}

/// `order_success users`; for a tripwire `order-0 order_threads_busy`.
pub fn guard_label(guard: &GuardHeader) -> String {
    match &guard.instance {
        Some(instance) => format!("{instance} {}", guard.metric),
        None => scoped(&guard.metric, guard.scope.as_ref()),
    }
}

/// `order_success marked`.
pub fn row_label(row: &RowHeader) -> String {
    scoped(&row.metric, row.scope.as_ref())
}

/// An age in at most three cells where that is possible: `3s`, `12m`, `5h`, `9d`.
pub fn short_age(age: Span) -> String {
    match age.0 / 1000 {
        s if s < 100 => format!("{s}s"),
        s if s < 6_000 => format!("{}m", s / 60),
        s if s < 360_000 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

//! What is read from a source: each query with its selectors narrowed by scope and targets.

use crate::model::{
    dashboard::{Dashboard, MatchOp, Matcher, Read, Selector},
    ids::{InstanceName, MetricId, ScopeName},
    sample::Query,
};

/// A query, and how it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The query.
    pub query: Query,
    /// How it is read; selectors are narrowed by scope and targets already.
    pub read: Read,
}

impl Wanted {
    /// The selectors behind it, in the order in which [`super::Answer::part`] counts them. None for PromQL.
    pub(super) fn selectors(&self) -> Vec<&Selector> {
        match &self.read {
            Read::Ratio { good, total } => vec![good, total],
            Read::Mean { sum, count } => vec![sum, count],
            Read::Rate { selector } | Read::Gauge { selector, .. } => vec![selector],
            Read::Quantile { histogram, .. } => vec![histogram],
            Read::Promql { .. } => vec![],
        }
    }

    /// What is shown to a person of the `part`th selector, or of the PromQL.
    pub(super) fn text(&self, part: usize) -> String {
        match (&self.read, self.selectors().get(part)) {
            (Read::Promql { query }, _) => query.clone(),
            (_, Some(selector)) => selector.promql(),
            (_, None) => String::new(),
        }
    }
}

/// Narrows metrics by their scopes and fills in the targets. Asked twice, given once.
///
/// A metric or scope that the dashboard lacks, and a `promql` metric with a scope (nobody can narrow a finished
/// query), are left out: the store then answers them with a gap, never with a value.
pub fn wanted(
    dashboard: &Dashboard,
    asked: &[(MetricId, Option<ScopeName>)],
    targets: &[InstanceName],
) -> Vec<Wanted> {
    let mut out: Vec<Wanted> = Vec::new();
    for (metric, scope) in asked {
        let query = Query {
            metric: metric.clone(),
            scope: scope.clone(),
            instance: None,
        };
        if out.iter().any(|w| w.query == query) {
            continue;
        }
        if let Some(read) = narrowed(dashboard, &query, targets) {
            out.push(Wanted { query, read });
        }
    }
    out
}

fn narrowed(dashboard: &Dashboard, query: &Query, targets: &[InstanceName]) -> Option<Read> {
    let metric = dashboard.metric(&query.metric)?;
    let scope = match &query.scope {
        Some(name) => Some(dashboard.scope(name)?),
        None => None,
    };
    let more = scope.map_or(&[][..], |s| &s.matchers);
    let narrow = |selector: &Selector| narrow(selector, more, targets);
    Some(match &metric.read {
        Read::Ratio { good, total } => Read::Ratio {
            good: narrow(good),
            total: narrow(total),
        },
        Read::Rate { selector } => Read::Rate {
            selector: narrow(selector),
        },
        Read::Quantile { histogram, q } => Read::Quantile {
            histogram: narrow(histogram),
            q: *q,
        },
        Read::Mean { sum, count } => Read::Mean {
            sum: narrow(sum),
            count: narrow(count),
        },
        Read::Gauge { selector, agg } => Read::Gauge {
            selector: narrow(selector),
            agg: *agg,
        },
        Read::Promql { .. } if scope.is_some() => return None,
        Read::Promql { query } => Read::Promql {
            query: query.replace("{targets}", &as_pattern(targets)),
        },
    })
}

fn narrow(selector: &Selector, more: &[Matcher], targets: &[InstanceName]) -> Selector {
    let mut out = selector.clone();
    out.matchers.extend(more.iter().cloned());
    for matcher in &mut out.matchers {
        let filling = match matcher.op {
            MatchOp::Matches | MatchOp::NotMatches => as_pattern(targets),
            MatchOp::Equal | MatchOp::NotEqual => joined(targets, str::to_owned),
        };
        matcher.value = matcher.value.replace("{targets}", &filling);
    }
    out
}

/// `order-0|order[.]1`: a dot in a name means itself. A character class instead of a backslash, so that the text
/// means the same inside and outside of a PromQL string.
fn as_pattern(targets: &[InstanceName]) -> String {
    joined(targets, |name| name.replace('.', "[.]"))
}

fn joined(targets: &[InstanceName], form: impl Fn(&str) -> String) -> String {
    let names: Vec<String> = targets.iter().map(|t| form(t.as_str())).collect();
    names.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::testing::{dashboard, instance, metric, scope};

    #[test]
    fn selectors_are_narrowed_by_scope_and_targets() {
        let asked = [(metric("busy"), Some(scope("targets")))];
        let got = wanted(&dashboard(), &asked, &[instance("order-0"), instance("order.1")]);
        assert_eq!(got[0].text(0), r#"busy{instance=~"order-0|order[.]1"}"#);
    }

    #[test]
    fn a_query_asked_twice_is_read_once() {
        let asked = [(metric("busy"), None), (metric("busy"), None)];
        assert_eq!(wanted(&dashboard(), &asked, &[]).len(), 1);
    }

    #[test]
    fn promql_takes_the_targets_but_no_scope() {
        let asked = [(metric("lag"), None), (metric("lag"), Some(scope("users")))];
        let got = wanted(&dashboard(), &asked, &[instance("order-0")]);
        assert_eq!(got.len(), 1);
        assert_eq!(got[0].text(0), r#"max(lag{instance=~"order-0"})"#);
    }

    #[test]
    fn what_the_dashboard_lacks_is_left_out() {
        let asked = [(metric("nothing"), None), (metric("busy"), Some(scope("nobody")))];
        assert!(wanted(&dashboard(), &asked, &[]).is_empty());
    }
}

//! What the tests of this module share.

use std::sync::Arc;

use super::fetch::{Answer, Fetch, RawSeries, SeriesId, TargetId};
use super::wanted::Wanted;
use crate::model::{
    amount::Unit,
    dashboard::{Agg, Dashboard, MatchOp, Matcher, Metric, MetricKind, Read, Scope, Selector},
    ids::{DashboardName, InstanceName, MetricId, ScopeName},
    sample::{Query, SourceMs},
    text::Localized,
};

pub(crate) fn metric(name: &str) -> MetricId {
    MetricId::new(name).unwrap()
}

pub(crate) fn scope(name: &str) -> ScopeName {
    ScopeName::new(name).unwrap()
}

pub(crate) fn instance(name: &str) -> InstanceName {
    InstanceName::new(name).unwrap()
}

pub(crate) fn query(name: &str) -> Query {
    Query {
        metric: metric(name),
        scope: None,
        instance: None,
    }
}

pub(crate) fn selector(name: &str, matchers: &[(&str, MatchOp, &str)]) -> Selector {
    Selector {
        name: name.to_owned(),
        matchers: matchers
            .iter()
            .map(|(label, op, value)| Matcher {
                label: (*label).to_owned(),
                op: *op,
                value: (*value).to_owned(),
            })
            .collect(),
    }
}

pub(crate) fn gauge(name: &str, agg: Agg) -> Wanted {
    let selector = selector(name, &[]);
    wants(name, Read::Gauge { selector, agg })
}

pub(crate) fn rate(name: &str) -> Wanted {
    let selector = selector(name, &[]);
    wants(name, Read::Rate { selector })
}

pub(crate) fn ratio(name: &str) -> Wanted {
    let total = selector(name, &[]);
    let good = selector(name, &[("code", MatchOp::Matches, "2..")]);
    wants(name, Read::Ratio { good, total })
}

pub(crate) fn quantile(name: &str, q: f64) -> Wanted {
    let histogram = selector(&format!("{name}_bucket"), &[]);
    wants(name, Read::Quantile { histogram, q })
}

pub(crate) fn mean(name: &str) -> Wanted {
    let (sum, count) = (
        selector(&format!("{name}_sum"), &[]),
        selector(&format!("{name}_count"), &[]),
    );
    wants(name, Read::Mean { sum, count })
}

pub(crate) fn promql(name: &str, text: &str) -> Wanted {
    let query = text.to_owned();
    wants(name, Read::Promql { query })
}

pub(crate) fn wants(name: &str, read: Read) -> Wanted {
    Wanted {
        query: query(name),
        read,
    }
}

pub(crate) fn dashboard() -> Dashboard {
    let of = |id: &str, read: Read| Metric {
        id: metric(id),
        title: Localized::plain(id),
        kind: MetricKind::System,
        unit: Unit::Count,
        better: None,
        read,
        of: Vec::new(),
    };
    let in_scope = |name: &str, op, label: &str, value: &str| Scope {
        name: scope(name),
        matchers: vec![Matcher {
            label: label.to_owned(),
            op,
            value: value.to_owned(),
        }],
    };
    Dashboard {
        name: DashboardName::new("shop").unwrap(),
        scopes: vec![
            in_scope("users", MatchOp::NotEqual, "traffic", "drill"),
            in_scope("targets", MatchOp::Matches, "instance", "{targets}"),
        ],
        metrics: vec![
            of("busy", gauge("busy", Agg::Sum).read),
            of("lag", promql("lag", r#"max(lag{instance=~"{targets}"})"#).read),
        ],
        panels: vec![],
        topology: vec![],
    }
}

pub(crate) fn target(name: &str) -> TargetId {
    TargetId::of([("instance", name)].into_iter())
}

/// A series of `instance` that its labels tell from others there.
pub(crate) fn series(instance: &str, labels: &str, samples: &[(SourceMs, f64)]) -> RawSeries {
    RawSeries {
        id: SeriesId::of([("instance", instance), ("labels", labels)].into_iter()),
        target: Some(target(instance)),
        le: None,
        samples: samples.to_vec(),
    }
}

/// A bucket of one histogram.
pub(crate) fn bucket(le: &str, samples: &[(SourceMs, f64)]) -> RawSeries {
    RawSeries {
        le: Some(le.parse().unwrap()),
        ..series("a", "", samples)
    }
}

/// A round that answers each part of each query as given, and saw the targets of all samples alive.
pub(crate) fn round(now: SourceMs, answers: &[(&Wanted, usize, Vec<RawSeries>)]) -> Fetch {
    let all = || answers.iter().flat_map(|(_, _, series)| series);
    let up = all()
        .filter_map(|s| Some((s.target?, s.samples.iter().map(|x| x.0).collect())))
        .collect();
    Fetch {
        source_now: now,
        up,
        raw: answers
            .iter()
            .map(|(wanted, part, series)| Answer {
                query: wanted.query.clone(),
                part: *part,
                since: SourceMs::MIN,
                summed: false,
                partial: false,
                series: Arc::new(series.clone()),
            })
            .collect(),
        ..Fetch::default()
    }
}

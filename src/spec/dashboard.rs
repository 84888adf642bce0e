//! Dashboards: metrics, scopes, panels, topology.

use std::ops::Range;

use super::{
    diagnostic::Problem,
    fields::Fields,
    report::Report,
    selector,
    shape::{Form, Scalar},
    shapes::dashboard::{DASHBOARD, GAUGE},
    single,
    topology::{Known, warn_of_misspelt_calls},
    tree::{Node, Value},
    values::{self, Bad, quoted},
};
use crate::model::{
    amount::Unit,
    dashboard::{Agg, Better, Dashboard, Metric, MetricKind, Read, Scope, Selector, TopologyNode},
    ids::{DashboardName, MetricId, ScopeName},
    text::Localized,
};

pub(super) fn read(report: &Report, tree: &Node) -> Option<Dashboard> {
    let fields = Fields::open(report, tree, &DASHBOARD)?;
    let name = fields.name("dashboard", DashboardName::new);
    let scopes = read_scopes(&fields);
    let metrics: Vec<Metric> = fields.maps("metrics").iter().filter_map(read_metric).collect();
    if fields.is_empty_list("metrics") {
        fields.wrong(
            "metrics",
            Problem::MissingKey,
            Bad::new("a dashboard without a metric"),
        );
    }
    each_once(report, fields.maps("metrics").iter().filter_map(|m| m.node("id")));
    each_once(
        report,
        fields.maps("topology").iter().filter_map(|n| n.node("service")),
    );
    let names = Known {
        report,
        metrics: &metrics,
        complete: !report.has_errors(),
    };
    let panels = fields
        .maps("panels")
        .iter()
        .filter_map(|panel| names.panel(panel))
        .collect();
    let topology: Vec<TopologyNode> = fields
        .maps("topology")
        .iter()
        .filter_map(|node| names.service(node))
        .collect();
    warn_of_misspelt_calls(&fields, &topology);
    Some(Dashboard {
        name: name?,
        scopes,
        metrics,
        panels,
        topology,
    })
}

fn read_scopes(fields: &Fields) -> Vec<Scope> {
    let form = Form::One(Scalar::Matchers);
    fields
        .named("scopes")
        .into_iter()
        .filter_map(|entry| {
            let name = key_name(fields.report, &entry.key, &entry.key_span, ScopeName::new);
            let matchers = single::one(fields.report, &entry.value, &form, selector::matchers);
            Some(Scope {
                name: name?,
                matchers: matchers?,
            })
        })
        .collect()
}

/// A key that is a name of the user's own.
pub(super) fn key_name<T>(
    report: &Report,
    key: &str,
    span: &Range<usize>,
    new: impl Fn(&str) -> Result<T, crate::model::ids::NotAName>,
) -> Option<T> {
    single::name(key, new)
        .map_err(|bad| report.error(span, Problem::BadValue, bad))
        .ok()
}

/// Notes every name that stands a second time.
pub(super) fn each_once<'a>(report: &Report, names: impl Iterator<Item = &'a Node>) {
    let mut seen: Vec<(&str, &Node)> = Vec::new();
    for node in names {
        let Value::Text { text, .. } = &node.value else {
            continue;
        };
        match seen.iter().find(|(name, _)| name == text) {
            Some((_, first)) => report.error(
                &node.span,
                Problem::DuplicateName,
                Bad::new(format!(
                    "{} is a name twice; first in line {}",
                    quoted(text),
                    report.line(&first.span)
                )),
            ),
            None => seen.push((text, node)),
        }
    }
}

fn read_metric(fields: &Fields) -> Option<Metric> {
    let id = fields.name("id", MetricId::new);
    let title = fields.localized("title");
    let kind = fields.word("kind").map(|word| match word.as_str() {
        "business" => MetricKind::Business,
        "system" => MetricKind::System,
        _ => MetricKind::Chain,
    });
    let unit = fields.word("unit").map(|word| match word.as_str() {
        "percent" => Unit::Percent,
        "seconds" => Unit::Seconds,
        "bytes" => Unit::Bytes,
        "per_second" => Unit::PerSecond,
        _ => Unit::Count,
    });
    let better = fields.word("better").map(|word| match word.as_str() {
        "higher" => Better::Higher,
        _ => Better::Lower,
    });
    let read = read_how(fields);
    let ways = ["ratio", "rate", "quantile", "gauge", "promql"];
    if ways.iter().filter(|way| fields.has(way)).count() > 1 {
        return None;
    }
    let unit = fitting_unit(fields, read.as_ref()?, unit);
    let id = id?;
    let title = title.unwrap_or_else(|| Localized::plain(id.as_str()));
    Some(Metric {
        id,
        title,
        kind: kind?,
        unit: unit?,
        better,
        read: read?,
        of: Vec::new(),
    })
}

fn read_how(fields: &Fields) -> Option<Read> {
    if let Some(ratio) = fields.map("ratio") {
        let (good, total) = (
            ratio.one("good", selector::selector),
            ratio.one("total", selector::selector),
        );
        return Some(Read::Ratio {
            good: good?,
            total: total?,
        });
    }
    if let Some(selector) = fields.one("rate", selector::selector) {
        return Some(Read::Rate { selector });
    }
    if let Some(quantile) = fields.map("quantile") {
        let (histogram, q) = (
            quantile.one("histogram", buckets),
            quantile.one("q", between_0_and_1),
        );
        return Some(Read::Quantile {
            histogram: histogram?,
            q: q?,
        });
    }
    if let Some(gauge) = fields.node("gauge") {
        return read_gauge(fields, gauge);
    }
    fields.one("promql", query).map(|query| Read::Promql { query })
}

fn read_gauge(fields: &Fields, node: &Node) -> Option<Read> {
    if !matches!(node.value, Value::Map(_)) {
        let selector = fields.one("gauge", selector::selector)?;
        return Some(Read::Gauge {
            selector,
            agg: Agg::Sum,
        });
    }
    let gauge = Fields::open(fields.report, node, &GAUGE)?;
    let selector = gauge.one("selector", selector::selector);
    let agg = gauge.word("agg").map(|word| match word.as_str() {
        "max" => Agg::Max,
        "avg" => Agg::Avg,
        _ => Agg::Sum,
    });
    Some(Read::Gauge {
        selector: selector?,
        agg: agg?,
    })
}

fn buckets(text: &str) -> Result<Selector, Bad> {
    let selector = selector::selector(text)?;
    if selector.name.ends_with("_bucket") {
        Ok(selector)
    } else {
        Err(Bad::new(format!(
            "{} is not a histogram's `_bucket` series",
            quoted(&selector.name)
        ))
        .help(format!(
            "write `{}_bucket`, if that is the histogram",
            selector.name
        )))
    }
}

fn between_0_and_1(text: &str) -> Result<f64, Bad> {
    match values::number(text)? {
        q if q > 0.0 && q < 1.0 => Ok(q),
        _ => Err(Bad::new(format!("{} is not between 0 and 1", quoted(text)))
            .help("write 0.99 for the 99th percentile")),
    }
}

fn query(text: &str) -> Result<String, Bad> {
    let query = text.split_whitespace().collect::<Vec<_>>().join(" ");
    values::token(&query)
}

/// A ratio is in percent and a rate per second; the others must say.
fn fitting_unit(fields: &Fields, read: &Read, said: Option<Unit>) -> Option<Unit> {
    let implied = match read {
        Read::Ratio { .. } => Some((Unit::Percent, "a `ratio` is in `percent`")),
        Read::Rate { .. } => Some((Unit::PerSecond, "a `rate` is in `per_second`")),
        Read::Quantile { .. } | Read::Mean { .. } | Read::Gauge { .. } | Read::Promql { .. } => None,
    };
    match (implied, said) {
        (Some((unit, why)), Some(other)) if unit != other => {
            let help = "leave `unit` out, or read the metric in another way";
            fields.wrong("unit", Problem::BadValue, Bad::new(why).help(help));
            None
        }
        (Some((unit, _)), _) => Some(unit),
        (None, Some(unit)) => Some(unit),
        (None, None) => {
            if !fields.has("unit") {
                let bad = Bad::new("a metric of this kind lacks `unit`")
                    .help("the units are `percent`, `seconds`, `bytes`, `per_second` and `count`");
                fields.report.error(&fields.place("id"), Problem::MissingKey, bad);
            }
            None
        }
    }
}

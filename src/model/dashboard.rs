//! Where to look: metrics, scopes, panels and the topology of the system under drill.

use serde::{Deserialize, Serialize};

use super::{
    amount::Unit,
    ids::{DashboardName, MetricId, ScopeName, ServiceName},
    text::Localized,
};

/// A dashboard file, checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dashboard {
    /// Its name.
    pub name: DashboardName,
    /// The scopes that drills may use.
    pub scopes: Vec<Scope>,
    /// The metrics, in the file's order.
    pub metrics: Vec<Metric>,
    /// Groups of metrics on the chart screen.
    pub panels: Vec<Panel>,
    /// The services and what they call, for the map.
    pub topology: Vec<TopologyNode>,
}

impl Dashboard {
    /// The metric of that id.
    pub fn metric(&self, id: &MetricId) -> Option<&Metric> {
        self.metrics.iter().find(|m| &m.id == id)
    }

    /// The scope of that name.
    pub fn scope(&self, name: &ScopeName) -> Option<&Scope> {
        self.scopes.iter().find(|s| &s.name == name)
    }
}

/// Label matchers that narrow a metric: the drill's own traffic, real users, the target instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Its name.
    pub name: ScopeName,
    /// What a series must match as well.
    pub matchers: Vec<Matcher>,
}

/// One label matcher. `{targets}` in a value stands for the names of the run's target instances, joined by `|`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Matcher {
    /// The label.
    pub label: String,
    /// How it is compared.
    pub op: MatchOp,
    /// The value, or an anchored regular expression.
    pub value: String,
}

/// How a label is compared, as in PromQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MatchOp {
    /// `=`
    #[serde(rename = "=")]
    Equal,
    /// `!=`
    #[serde(rename = "!=")]
    NotEqual,
    /// `=~`, anchored at both ends
    #[serde(rename = "=~")]
    Matches,
    /// `!~`, anchored at both ends
    #[serde(rename = "!~")]
    NotMatches,
}

impl MatchOp {
    /// As PromQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            MatchOp::Equal => "=",
            MatchOp::NotEqual => "!=",
            MatchOp::Matches => "=~",
            MatchOp::NotMatches => "!~",
        }
    }
}

/// A PromQL instant-vector selector: a metric name and matchers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Selector {
    /// The metric's name in the exposition.
    pub name: String,
    /// Its matchers.
    pub matchers: Vec<Matcher>,
}

impl Selector {
    /// As PromQL writes it: `name{a="b"}`, values escaped.
    pub fn promql(&self) -> String {
        if self.matchers.is_empty() {
            return self.name.clone();
        }
        let inside: Vec<String> = self
            .matchers
            .iter()
            .map(|m| format!("{}{}\"{}\"", m.label, m.op.symbol(), escape_label(&m.value)))
            .collect();
        format!("{}{{{}}}", self.name, inside.join(","))
    }

    /// This selector narrowed by more matchers, with `{targets}` filled in.
    pub fn narrowed(&self, more: &[Matcher], targets: &str) -> Selector {
        let mut matchers = self.matchers.clone();
        matchers.extend(more.iter().cloned());
        for m in &mut matchers {
            m.value = m.value.replace("{targets}", targets);
        }
        Selector {
            name: self.name.clone(),
            matchers,
        }
    }
}

fn escape_label(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// A metric: what to read and what its numbers mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Its id, used by drills.
    pub id: MetricId,
    /// What people read.
    pub title: Localized,
    /// What it tells about.
    pub kind: MetricKind,
    /// The unit of its values.
    pub unit: Unit,
    /// Which direction is good, if either is.
    pub better: Option<Better>,
    /// How it is read.
    pub read: Read,
    /// The quantiles whose histogram this looks at; none for a metric that a file names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<MetricId>,
}

/// What a metric tells about. The guard needs a business metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// What users and the business feel.
    Business,
    /// Resources: threads, pools, memory.
    System,
    /// Calls along the chain of services.
    Chain,
}

/// Which direction is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// How a metric is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Read {
    /// Two counters: good events of all.
    Ratio {
        /// The good events.
        good: Selector,
        /// All events.
        total: Selector,
    },
    /// A counter of events, per second.
    Rate {
        /// The counter.
        selector: Selector,
    },
    /// A quantile of a classic histogram.
    Quantile {
        /// The `_bucket` series.
        histogram: Selector,
        /// Which quantile, 0 to 1.
        q: f64,
    },
    /// What a histogram observed, divided by how often.
    Mean {
        /// The `_sum` series.
        sum: Selector,
        /// The `_count` series.
        count: Selector,
    },
    /// A gauge, several series folded into one value.
    Gauge {
        /// The gauge.
        selector: Selector,
        /// How series are folded.
        agg: Agg,
    },
    /// Any PromQL that gives one number; needs a Prometheus server, one value a sample.
    Promql {
        /// The query. `{targets}` is filled in.
        query: String,
    },
}

/// How several series become one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Agg {
    /// Added up.
    Sum,
    /// The largest.
    Max,
    /// The mean.
    Avg,
}

/// A group of metrics on the chart screen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Its heading.
    pub title: Localized,
    /// Its metrics.
    pub metrics: Vec<MetricId>,
}

/// A service on the map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopologyNode {
    /// The service.
    pub service: ServiceName,
    /// How many instances it has.
    pub instances: u32,
    /// The services it calls.
    pub calls: Vec<ServiceName>,
    /// Its thread pool, for the arithmetic of the blast radius.
    pub pool: Option<Pool>,
    /// Resources it shares with other services.
    pub shares: Vec<String>,
}

/// A thread pool of each instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    /// Threads in the pool of one instance.
    pub threads: u32,
    /// The metric that counts busy threads.
    pub metric: Option<MetricId>,
    /// The caller's timeout: what bounds how long one call can hold a thread.
    pub timeout: Option<super::time::Span>,
    /// Requests a second of one instance, if the file knows it; otherwise preflight measures.
    pub rate_metric: Option<MetricId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrowed_selector_fills_in_the_targets_and_escapes() {
        let selector = Selector {
            name: "up".into(),
            matchers: vec![],
        };
        let scope = [
            Matcher {
                label: "instance".into(),
                op: MatchOp::Matches,
                value: "{targets}".into(),
            },
            Matcher {
                label: "path".into(),
                op: MatchOp::NotEqual,
                value: "a\"b\\c".into(),
            },
        ];
        assert_eq!(
            selector.narrowed(&scope, "order-0|order-1").promql(),
            r#"up{instance=~"order-0|order-1",path!="a\"b\\c"}"#
        );
    }
}

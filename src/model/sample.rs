//! What is measured: windows for the judge, readings for the guard, and why there may be none.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    amount::Level,
    ids::{InstanceName, MetricId, ScopeName},
    said::Said,
    time::Span,
};

/// What is looked at: a metric, narrowed by a scope, or to one instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Query {
    /// The metric.
    pub metric: MetricId,
    /// The scope, if any.
    pub scope: Option<ScopeName>,
    /// The one instance whose series are read, if not those of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceName>,
}

impl Query {
    /// The query of a metric, narrowed by a scope if there is one.
    pub fn new(metric: &MetricId, scope: Option<&ScopeName>) -> Self {
        Self {
            metric: metric.clone(),
            scope: scope.cloned(),
            instance: None,
        }
    }

    /// The same, of one instance alone.
    pub fn of_instance(&self, instance: &InstanceName) -> Self {
        Self {
            instance: Some(instance.clone()),
            ..self.clone()
        }
    }
}

/// `order_success users`, or only the metric; `order_threads_busy targets on order-0`.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Some(scope) => write!(f, "{} {scope}", self.metric)?,
            None => write!(f, "{}", self.metric)?,
        }
        match &self.instance {
            Some(instance) => write!(f, " on {instance}"),
            None => Ok(()),
        }
    }
}

/// An instance, as the labels of its series name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// The label `job`; empty if there is none.
    pub job: String,
    /// The label `instance`.
    pub instance: String,
}

/// Milliseconds since the Unix epoch on the clock of the source of the samples.
pub type SourceMs = i64;

/// The numbers of one window, in the judge's form. Seconds and counts are those of the samples themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Numbers {
    /// The mean of the finite samples.
    Gauge(f64),
    /// Events, and the seconds between the samples that counted them.
    Rate([f64; 2]),
    /// Good events, and all events.
    Ratio([f64; 2]),
    /// Observations at or below each finite bucket edge, and all of them.
    Quantile(Vec<f64>),
}

/// One window of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its number since the period's start.
    pub index: usize,
    /// Its start on the source's clock.
    pub start: SourceMs,
    /// Its numbers, or why there are none.
    pub numbers: Result<Numbers, Gap>,
    /// What the reader should know.
    #[serde(default, skip_serializing_if = "Marks::none")]
    pub marks: Marks,
}

/// What the reader of a window should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marks {
    /// Counter resets inside.
    #[serde(default)]
    pub resets: u32,
    /// The source said that its answer is incomplete: nothing may be called expected from it.
    #[serde(default)]
    pub partial: bool,
}

impl Marks {
    /// Nothing to say.
    pub fn none(&self) -> bool {
        *self == Marks::default()
    }
}

/// Why a window or a reading has no numbers. Never taken for 0, never for a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// No series matched.
    #[error("no series: {query}")]
    NoSeries {
        /// The query.
        query: String,
    },
    /// Series matched, but no sample fell into the window.
    #[error("no fresh sample")]
    NoSample,
    /// NaN or infinite.
    #[error("not a number (NaN or infinite): {query}")]
    NotANumber {
        /// The query.
        query: String,
    },
    /// A query for one value gave several series.
    #[error("{count} series where one was meant: {query}")]
    SeveralSeries {
        /// How many.
        count: usize,
        /// The query.
        query: String,
    },
    /// A query gave a string, a scalar or a matrix.
    #[error("a {kind} where one number was meant: {query}")]
    WrongType {
        /// What came.
        kind: String,
        /// The query.
        query: String,
    },
    /// Nothing happened: no requests, so no ratio and no quantile.
    #[error("no traffic")]
    NoTraffic,
    /// The source did not answer as it should.
    #[error("{0}")]
    Source(String),
}

impl Gap {
    /// The same in both languages.
    pub fn said(&self) -> Said {
        let zh = match self {
            Gap::NoSeries { query } => format!("无序列：{query}"),
            Gap::NoSample => "无新样本".to_owned(),
            Gap::NotANumber { query } => format!("不是数字（NaN 或无穷）：{query}"),
            Gap::SeveralSeries { count, query } => format!("应为 1 个序列，却有 {count} 个：{query}"),
            Gap::WrongType { kind, query } => format!("应为一个数，却是 {kind}：{query}"),
            Gap::NoTraffic => "无流量".to_owned(),
            Gap::Source(said) => said.clone(),
        };
        Said::new(self.to_string(), zh)
    }
}

/// The present value of a query, for the guard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The value in base units, or why there is none. A quantile above the last edge is infinite.
    pub value: Result<Level, Gap>,
    /// How old the newest sample behind it is.
    pub age: Span,
    /// The newest sample's time on the source's clock: two readings with the same one are the same sample.
    pub sampled: SourceMs,
    /// The source said that its answer is incomplete.
    #[serde(default)]
    pub partial: bool,
}

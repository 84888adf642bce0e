//! What opens a run, and what is needed to read everything that follows.

use serde::{Deserialize, Serialize};

use crate::model::{
    amount::Unit,
    dashboard::TopologyNode,
    environment::Stage,
    ids::{DrillName, EnvironmentName, InstanceName, MetricId, RunId, ScopeName, StepName},
    plan::Purpose,
    sample::Query,
    sheet::{Measured, RowId},
    text::Localized,
    time::Span,
};

/// What opens a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The run.
    pub run: RunId,
    /// The drill.
    pub drill: DrillName,
    /// Its title.
    pub title: Localized,
    /// Its hypothesis.
    pub hypothesis: Localized,
    /// What the run is for.
    #[serde(default)]
    pub purpose: Purpose,
    /// The environment.
    pub environment: EnvironmentName,
    /// Its stage.
    pub stage: Stage,
    /// The keeper's process id.
    pub keeper: u32,
    /// The version that runs it.
    pub version: String,
    /// How long the silent baseline is planned.
    pub baseline: Span,
    /// The width of a window.
    pub window: Span,
    /// The steps, for reading the sheet.
    pub steps: Vec<StepHeader>,
    /// The guard's hypotheses, then its tripwires, as [`GuardState::index`] counts them.
    pub guard: Vec<GuardHeader>,
    /// The metrics, for titles and units.
    pub metrics: Vec<MetricHeader>,
    /// Panels of the chart screen: title and queries.
    pub panels: Vec<(Localized, Vec<Query>)>,
    /// The map: service, instances, calls, pool threads, shared resources.
    pub topology: Vec<TopologyNode>,
    /// The pinned target instances.
    pub targets: Vec<InstanceName>,
}

impl Header {
    /// The header of a row.
    pub fn row(&self, id: RowId) -> Option<&RowHeader> {
        self.steps.get(id.step)?.rows.get(id.row)
    }

    /// The unit of a metric; a count if it is not known.
    pub fn unit(&self, metric: &MetricId) -> Unit {
        self.metrics
            .iter()
            .find(|m| &m.id == metric)
            .map_or(Unit::Count, |m| m.unit)
    }
}

/// A step, for reading the sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepHeader {
    /// Its name.
    pub name: StepName,
    /// What it does: `coupon.query delay 2s ±500ms`, `load 200/s`, or nothing.
    pub what: String,
    /// Whether it makes something that must be undone.
    pub breaks: bool,
    /// For how long.
    pub duration: Span,
    /// The cap on held calls, per instance.
    pub max_concurrent: Option<u32>,
    /// Its rows.
    pub rows: Vec<RowHeader>,
}

/// A row, for reading the sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowHeader {
    /// The metric.
    pub metric: MetricId,
    /// Its scope.
    pub scope: Option<ScopeName>,
    /// The declared change, short: `+≥1.5s`, `±0.5pp`.
    pub declared: String,
    /// What its interval is an interval of.
    #[serde(default)]
    pub measured: Measured,
    /// What it means if it does not come.
    pub otherwise: Option<Localized>,
}

/// A hypothesis or a tripwire, for reading the guard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuardHeader {
    /// The metric.
    pub metric: MetricId,
    /// Its scope.
    pub scope: Option<ScopeName>,
    /// The instance, for a tripwire.
    pub instance: Option<InstanceName>,
    /// The limit, short: `≥ 99%`.
    pub limit: String,
    /// Bad samples in a row that abort.
    pub samples: u32,
}

/// A metric, for titles and units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricHeader {
    /// Its id.
    pub id: MetricId,
    /// Its title.
    pub title: Localized,
    /// Its unit.
    pub unit: Unit,
}

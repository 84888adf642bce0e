//! Pools that must drain, and how a stuck instance is restarted.

use serde::{Deserialize, Serialize};

use super::{PodsOf, RolloutOf};
use crate::model::{
    ids::{MetricId, ScopeName},
    time::Span,
};

/// A pool that must drain before traffic returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolDrain {
    /// The metric that counts busy threads or connections.
    pub metric: MetricId,
    /// Narrowed by this scope.
    pub scope: Option<ScopeName>,
    /// Idle means at most this many, on each target instance where the metric tells them apart.
    pub idle_at_most: f64,
    /// What reading the metric itself keeps busy, on each instance: taken off before it is compared.
    #[serde(default)]
    pub scrape_holds: f64,
    /// How long to wait before the trend decides.
    pub wait: Span,
    /// What is done, once, if the backlog is flat or rising after the wait.
    pub if_stuck: Option<Restart>,
    /// Answers 2xx once a restarted instance is ready, with `{instance}`. Without it the pool's own readings tell.
    #[serde(default)]
    pub ready: Option<String>,
}

impl PoolDrain {
    /// How many are busy, of a reading.
    pub fn busy(&self, reading: f64) -> f64 {
        (reading - self.scrape_holds).max(0.0)
    }

    /// Whether a reading means idle. NaN never does.
    pub fn is_idle(&self, reading: f64) -> bool {
        self.busy(reading) <= self.idle_at_most && !reading.is_nan()
    }
}

/// How a stuck instance is restarted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// `POST` to a URL of the instance, with `{instance}`.
    Http {
        /// The URL.
        url: String,
    },
    /// A program, with `{instance}`, `{host}`, `{target}` and `{run}` in its words.
    Command {
        /// The program and its arguments; no shell. Relative paths start at the drill file's folder.
        run: Vec<String>,
        /// Its process group is killed after that.
        timeout: Span,
    },
    /// The pod is deleted, and what keeps it makes another.
    Kubernetes(PodsOf),
    /// Its workload makes another pod and lets the old one go.
    Rollout(RolloutOf),
}

//! A drill, checked and resolved: what is broken, what is expected, how it is put back.

mod expectation;
mod fault;
mod guard;
mod load;
mod step;

pub use expectation::{Change, Expectation};
pub use fault::{Effect, Envelope, Fault};
pub use guard::{Guard, Hypothesis, Limit, Tripwire};
pub use load::{Load, LoadMethod};
pub use step::{Action, Start, Step};

use serde::{Deserialize, Serialize};

use super::{
    dashboard::Dashboard,
    ids::{DrillName, InstanceName, MetricId, ScopeName, ServiceName, StepName},
    playbook::Playbook,
    text::Localized,
    time::Span,
};

/// One drill file, checked against its dashboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drill {
    /// Its name.
    pub name: DrillName,
    /// One line for people.
    pub title: Localized,
    /// What is believed, in a sentence.
    pub hypothesis: Localized,
    /// Where to look.
    pub dashboard: Dashboard,
    /// FMEA numbers, 1 to 5 each.
    pub risk: Option<Risk>,
    /// How long the system is watched in silence.
    pub baseline: Span,
    /// The width of a window that the judge sees. 10 s unless the file says otherwise.
    pub window: Span,
    /// How long after a fault's start windows are left out; the judge's default if absent.
    pub settle: Option<Span>,
    /// What must hold throughout.
    pub guard: Guard,
    /// What is hit.
    pub targets: Targets,
    /// The steps, in the file's order.
    pub steps: Vec<Step>,
    /// How everything is put back.
    pub recovery: Playbook,
    /// In production a fault without an expiry of its own is refused unless this says otherwise.
    pub accept_no_expiry: bool,
}

impl Drill {
    /// The step of that name.
    pub fn step(&self, name: &StepName) -> Option<&Step> {
        self.steps.iter().find(|s| &s.name == name)
    }

    /// Every (metric, scope) that the drill looks at: guard, expectations, pools. In a stable order, each once.
    pub fn watched(&self) -> Vec<(MetricId, Option<ScopeName>)> {
        let guard = self
            .guard
            .steady_state
            .iter()
            .map(|h| (h.metric.clone(), h.scope.clone()));
        let trips = self
            .guard
            .tripwires
            .iter()
            .map(|t| (t.metric.clone(), t.scope.clone()));
        let rows = self
            .steps
            .iter()
            .flat_map(|s| &s.expect)
            .map(|e| (e.metric.clone(), e.scope.clone()));
        let pools = self
            .recovery
            .pools
            .iter()
            .map(|p| (p.metric.clone(), p.scope.clone()));
        let mut all = Vec::new();
        for key in guard.chain(trips).chain(rows).chain(pools) {
            if !all.contains(&key) {
                all.push(key);
            }
        }
        all
    }
}

/// FMEA numbers, 1 (harmless) to 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Risk {
    /// How often it happens.
    pub likelihood: u8,
    /// How bad it is.
    pub impact: u8,
    /// How hard it is to notice.
    pub detection: u8,
}

/// What is hit. Resolved once, pinned, counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Targets {
    /// The service.
    pub service: ServiceName,
    /// The instances by name.
    pub instances: Vec<InstanceName>,
}

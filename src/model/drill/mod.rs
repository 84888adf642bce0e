//! A drill, checked and resolved: what is broken, what is expected, how it is put back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    amount::{Basis, Bounds, Share},
    dashboard::Dashboard,
    ids::{DrillName, InstanceName, MetricId, ScopeName, ServiceName, StepName},
    playbook::Playbook,
    sheet::Measured,
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

/// The steady state that must hold, and how long it may be broken before the run is aborted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    /// How often hypotheses are evaluated.
    pub every: Span,
    /// Consecutive fresh bad samples that abort. Blindness aborts after `every × samples`.
    pub samples: u32,
    /// What must hold, over windows.
    pub steady_state: Vec<Hypothesis>,
    /// Hard limits read straight from the targets each second.
    pub tripwires: Vec<Tripwire>,
}

/// One steady-state hypothesis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hypothesis {
    /// The metric.
    pub metric: MetricId,
    /// Narrowed by this scope.
    pub scope: Option<ScopeName>,
    /// Over how long it is averaged.
    pub window: Span,
    /// What must hold.
    pub limit: Limit,
}

/// An absolute limit, in base units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The value may not fall below.
    AtLeast(f64),
    /// The value may not rise above.
    AtMost(f64),
    /// The value stays within this fraction of its baseline.
    Within(f64),
}

impl Limit {
    /// Whether it says nothing without a baseline.
    pub fn needs_baseline(self) -> bool {
        matches!(self, Limit::Within(_))
    }
}

/// A hard limit, read straight from the targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tripwire {
    /// The metric: a gauge or a rate that the targets themselves expose.
    pub metric: MetricId,
    /// Narrowed by this scope.
    pub scope: Option<ScopeName>,
    /// What must hold. Never `Within`.
    pub limit: Limit,
    /// Consecutive fresh bad samples that abort.
    pub samples: u32,
}

/// What is hit. Resolved once, pinned, counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Targets {
    /// The service.
    pub service: ServiceName,
    /// The instances by name.
    pub instances: Vec<InstanceName>,
}

/// A timed part of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name.
    pub name: StepName,
    /// What it does.
    pub action: Action,
    /// For how long.
    pub duration: Span,
    /// When it begins.
    pub start: Start,
    /// Overrides the drill's settle time.
    pub settle: Option<Span>,
    /// What is expected.
    pub expect: Vec<Expectation>,
}

/// When a step begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// After the step before it in the file, or at the beginning.
    InOrder,
    /// After the named step.
    After(StepName),
    /// Together with the named step: one group, judged together.
    With(StepName),
    /// That long after the first step's start.
    At(Span),
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Only looks.
    Observe,
    /// Breaks something.
    Fault {
        /// The faults, all on the same targets.
        faults: Vec<Fault>,
        /// What may be hit.
        envelope: Envelope,
    },
    /// Sends requests.
    Load(Load),
}

impl Action {
    /// Whether it makes something that must be undone: a fault or a load.
    pub fn breaks(&self) -> bool {
        match self {
            Action::Observe => false,
            Action::Fault { .. } | Action::Load(_) => true,
        }
    }
}

/// What a step injects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A rule of the injection-point API.
    Rule {
        /// The injection point in the service's code, such as `coupon.query`.
        point: String,
        /// The service whose instances get the rule, if not the drill's targets: `cart` for a rule on the cart.
        service: Option<ServiceName>,
        /// What happens there.
        effect: Effect,
    },
}

impl Fault {
    /// Whether the target drops the fault by itself when its time is up.
    pub fn has_native_expiry(&self) -> bool {
        match self {
            Fault::Rule { .. } => true,
        }
    }

    /// What a person calls it: `coupon.query delay 2s ±500ms`.
    pub fn describe(&self) -> String {
        match self {
            Fault::Rule { point, effect, .. } => format!("{point} {}", effect.describe()),
        }
    }
}

/// What an injection point does to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The call takes longer.
    Delay {
        /// The mean.
        mean: Span,
        /// Uniformly up to this much more or less.
        jitter: Span,
    },
    /// The call throws.
    Exception {
        /// The class.
        class: String,
    },
    /// The call answers with this status.
    Status {
        /// HTTP status code.
        code: u16,
        /// The body.
        body: String,
    },
    /// The call answers with nothing.
    Empty,
    /// Values in the answer are replaced, by JSON pointer.
    Tamper(BTreeMap<String, serde_json::Value>),
    /// The call answers with an old value.
    Stale,
    /// The process holds this much more memory.
    Memory {
        /// Mebibytes.
        mib: u32,
    },
}

impl Effect {
    /// What a person calls it.
    pub fn describe(&self) -> String {
        match self {
            Effect::Delay { mean, jitter } if jitter.0 == 0 => format!("delay {mean}"),
            Effect::Delay { mean, jitter } => format!("delay {mean} ±{jitter}"),
            Effect::Exception { class } => format!("exception {class}"),
            Effect::Status { code, .. } => format!("status {code}"),
            Effect::Empty => "empty answer".into(),
            Effect::Tamper(values) => {
                format!("tamper {}", values.keys().cloned().collect::<Vec<_>>().join(", "))
            }
            Effect::Stale => "stale answer".into(),
            Effect::Memory { mib } => format!("hold {mib} MiB"),
        }
    }
}

/// What may be hit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Envelope {
    /// Only calls that carry these headers.
    pub header: BTreeMap<String, String>,
    /// Only these instances of the targets; all of them if empty.
    pub instances: Vec<InstanceName>,
    /// Only this share of the calls.
    pub percent: Option<Share>,
    /// At most this many calls held at once, per instance.
    pub max_concurrent: Option<u32>,
    /// Only for this long after the fault's start.
    pub window: Option<Span>,
}

/// Requests that a step sends by itself, at a steady rate whatever the answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Where to. `{service}` names an address of the environment.
    pub url: String,
    /// `GET` or `POST`.
    pub method: String,
    /// Headers of each request.
    pub headers: BTreeMap<String, String>,
    /// Requests a second.
    pub rate: f64,
    /// Requests in flight at most; more are dropped and counted.
    pub max_concurrent: u32,
    /// Each request's time limit.
    pub timeout: Span,
}

impl Load {
    /// What a person calls it: `load 200/s`.
    pub fn describe(&self) -> String {
        format!("load {}/s", self.rate)
    }
}

/// One metric, the change expected of it, and what it means if it does not come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The metric.
    pub metric: MetricId,
    /// Narrowed by this scope.
    pub scope: Option<ScopeName>,
    /// What is expected of it.
    pub change: Change,
    /// What it means if that does not come.
    pub otherwise: Option<Localized>,
}

/// The change expected of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It rises, within bounds; without bounds, by a detectable amount.
    Rises(Bounds),
    /// It falls.
    Falls(Bounds),
    /// It stays within this much of its baseline (`at_most` of the bounds).
    Stays(Bounds),
    /// Its level under the fault lies within the bounds, whatever it was before. Absolute only.
    Level(Bounds),
}

impl Change {
    /// What is measured against it.
    pub fn measured(&self) -> Measured {
        match self {
            Change::Level(_) => Measured::Level,
            Change::Rises(bounds) | Change::Falls(bounds) | Change::Stays(bounds) => match bounds.basis {
                Basis::Absolute => Measured::Change,
                Basis::Relative => Measured::RelativeChange,
            },
        }
    }
}

//! A timed part of a run: what it does, and when it begins.

use serde::{Deserialize, Serialize};

use super::{
    expectation::Expectation,
    fault::{Envelope, Fault},
    load::Load,
};
use crate::model::{ids::StepName, time::Span};

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

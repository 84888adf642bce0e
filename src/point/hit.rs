//! A call that is hit, and what it gets.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::Value;

use super::live::Live;
use super::rule::Fault;

/// A call that a rule took; it counts as held until it is dropped or has acted.
#[derive(Debug)]
#[must_use = "a hit that is not acted on changes nothing"]
pub struct Hit {
    rule: Arc<Live>,
}

/// What the service has to do with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Go on as usual; a delay, if any, is over.
    Proceed,
    /// Fail as if this class had been thrown.
    Exception {
        /// Name of the class.
        class: String,
    },
    /// Answer with this status.
    Status {
        /// HTTP status.
        code: u16,
        /// Body.
        body: String,
    },
    /// Answer with nothing in it.
    Empty,
    /// Answer as usual, with values replaced.
    Tamper(Tamper),
    /// Answer with an older value.
    Stale,
}

/// Values to replace in an answer.
#[derive(Debug, Clone)]
pub struct Tamper {
    rule: Arc<Live>,
}

impl PartialEq for Tamper {
    fn eq(&self, other: &Self) -> bool {
        self.rule.rule == other.rule.rule
    }
}

impl Hit {
    pub(super) fn new(rule: Arc<Live>) -> Self {
        Self { rule }
    }

    /// The fault of the rule that took the call.
    pub fn fault(&self) -> &Fault {
        &self.rule.rule.fault
    }

    /// Carries the fault out. A delay ends early when its rule is deleted or expires.
    pub async fn act(self) -> Outcome {
        match &self.rule.rule.fault {
            Fault::Delay { mean_ms, jitter_ms } => {
                let offset = (self.rule.draw() * 2.0 - 1.0) * *jitter_ms as f64;
                let delay = Duration::from_secs_f64((*mean_ms as f64 + offset).max(0.0) / 1000.0);
                tokio::select! {
                    () = tokio::time::sleep(delay) => {}
                    () = self.rule.gone.cancelled() => {}
                }
                Outcome::Proceed
            }
            Fault::Exception { class } => Outcome::Exception { class: class.clone() },
            Fault::Status { code, body } => Outcome::Status {
                code: *code,
                body: body.clone(),
            },
            Fault::Empty => Outcome::Empty,
            Fault::Tamper(_) => Outcome::Tamper(Tamper {
                rule: Arc::clone(&self.rule),
            }),
            Fault::Stale => Outcome::Stale,
            Fault::Memory { .. } => Outcome::Proceed,
        }
    }
}

impl Drop for Hit {
    fn drop(&mut self) {
        self.rule.release();
    }
}

impl Tamper {
    /// Replaces the values that are there; one that is missing counts the hit as failed. Says whether all were.
    pub fn apply(&self, answer: &mut Value) -> bool {
        let Fault::Tamper(values) = &self.rule.rule.fault else {
            return false;
        };
        let missing = values
            .iter()
            .filter(|(pointer, value)| match answer.pointer_mut(pointer) {
                Some(place) => {
                    *place = (*value).clone();
                    false
                }
                None => true,
            })
            .count();
        if missing > 0 {
            self.rule.failed.fetch_add(1, Relaxed);
        }
        missing == 0
    }
}

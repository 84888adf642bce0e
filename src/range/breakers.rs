//! The circuit breakers of one instance by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::breaker::{Breaker, BreakerState, Tuning};
use super::meters::Meters;
use crate::point::Locked;

/// Most breakers of an instance: a client that misspells names must not fill the memory.
const MOST: usize = 200;

/// A registry that, like Resilience4j's, makes a breaker for any name asked for.
pub(super) struct Breakers {
    tuning: Tuning,
    meters: Arc<Meters>,
    by_name: Locked<BTreeMap<String, Breaker>>,
}

impl Breakers {
    pub(super) fn new(tuning: Tuning, meters: Arc<Meters>) -> Self {
        Self {
            tuning,
            meters,
            by_name: Locked::default(),
        }
    }

    /// The breaker of that name, made if there was none; none only if there are too many.
    pub(super) fn get_or_make(&self, name: &str) -> Option<Breaker> {
        self.by_name.with(|by_name| {
            if let Some(known) = by_name.get(name) {
                return Some(known.clone());
            }
            if by_name.len() >= MOST {
                return None;
            }
            let breaker = Breaker::new(self.tuning);
            self.show(name, &breaker);
            by_name.insert(name.to_owned(), breaker.clone());
            Some(breaker)
        })
    }

    pub(super) fn get(&self, name: &str) -> Option<Breaker> {
        self.by_name.with(|by_name| by_name.get(name).cloned())
    }

    /// All of them, by name.
    pub(super) fn all(&self) -> Vec<(String, Breaker)> {
        self.by_name.with(|by_name| {
            by_name
                .iter()
                .map(|(name, breaker)| (name.clone(), breaker.clone()))
                .collect()
        })
    }

    fn show(&self, name: &str, breaker: &Breaker) {
        for state in BreakerState::ALL {
            let breaker = breaker.clone();
            self.meters.gauge(
                "resilience4j_circuitbreaker_state",
                "1 for the state that the breaker is in.",
                &[("name", name), ("state", state.label())],
                move || f64::from(u8::from(breaker.state() == state)),
            );
        }
        let (buffered, refused) = (breaker.clone(), breaker.clone());
        self.meters.gauge(
            "resilience4j_circuitbreaker_buffered_calls",
            "Calls in the breaker's window.",
            &[("name", name)],
            move || buffered.reading().buffered as f64,
        );
        self.meters.counter_fn(
            "resilience4j_circuitbreaker_not_permitted_calls_total",
            "Calls that the breaker did not let through.",
            &[("name", name)],
            move || refused.reading().not_permitted,
        );
    }
}

//! A circuit breaker with the states and rules of Resilience4j's (count-based sliding window).

mod machine;
mod state;

pub(super) use state::BreakerState;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use self::machine::{Machine, Record, State};
use crate::point::Locked;

/// Calls that the window holds; no rate is computed before it is full.
const WINDOW: usize = 100;

/// Percent of slow calls at which it opens.
pub(super) const SLOW_THRESHOLD: f64 = 50.0;

/// A call at least this long is slow.
const SLOW: Duration = Duration::from_millis(800);

/// How long it stays open.
const WAIT: Duration = Duration::from_secs(2);

/// Calls let through to decide when half open.
const TRIALS: usize = 5;

/// How it is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tuning {
    /// Opens when half of the calls fail; its wait ends by itself.
    Sound,
    /// Opens when a tenth fail, and stays open until a hand half-opens or closes it: the weakness
    /// `breaker-stays-open`.
    Sticky,
}

impl Tuning {
    /// Percent of failed calls at which it opens.
    pub(super) fn failure_threshold(self) -> f64 {
        match self {
            Self::Sound => 50.0,
            Self::Sticky => 10.0,
        }
    }
}

/// One breaker. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Breaker {
    machine: Arc<Locked<Machine>>,
    not_permitted: Arc<AtomicU64>,
}

/// The breaker lets no call through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotPermitted;

/// A call let through. Dropped without a record it gives its trial back.
#[derive(Debug)]
pub(super) struct Permit {
    breaker: Breaker,
    era: u64,
    recorded: bool,
}

/// The numbers behind a state. Rates are in percent, -1 while the window is not full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    pub(super) state: BreakerState,
    pub(super) failure_rate: f64,
    pub(super) slow_rate: f64,
    pub(super) buffered: usize,
    pub(super) failed: usize,
    pub(super) slow: usize,
    pub(super) slow_failed: usize,
    pub(super) not_permitted: u64,
    /// Percent of failed calls at which it opens.
    pub(super) failure_threshold: f64,
}

impl Breaker {
    pub(super) fn new(tuning: Tuning) -> Self {
        let machine = Machine {
            state: State::Closed,
            window: VecDeque::new(),
            era: 0,
            tuning,
        };
        Self {
            machine: Arc::new(Locked::new(machine)),
            not_permitted: Arc::default(),
        }
    }

    /// Asks to make a call.
    pub(super) fn permit(&self) -> Result<Permit, NotPermitted> {
        let era = self.machine.with(|machine| {
            machine.wait_over();
            match &mut machine.state {
                State::Closed | State::Disabled => Ok(machine.era),
                State::HalfOpen { permitted } if *permitted < TRIALS => {
                    *permitted += 1;
                    Ok(machine.era)
                }
                State::HalfOpen { .. } | State::Open { .. } | State::ForcedOpen => Err(NotPermitted),
            }
        });
        match era {
            Ok(era) => Ok(Permit {
                breaker: self.clone(),
                era,
                recorded: false,
            }),
            Err(refused) => {
                self.not_permitted.fetch_add(1, Relaxed);
                Err(refused)
            }
        }
    }

    pub(super) fn state(&self) -> BreakerState {
        self.reading().state
    }

    pub(super) fn reading(&self) -> Reading {
        self.machine.with(|machine| {
            machine.wait_over();
            let count = |of: fn(&Record) -> bool| machine.window.iter().filter(|record| of(record)).count();
            let (failed, slow) = (count(|record| record.failed), count(|record| record.slow));
            let rate = |n: usize| match machine.window.len() {
                n_calls if n_calls >= WINDOW => 100.0 * n as f64 / n_calls as f64,
                _ => -1.0,
            };
            Reading {
                state: machine.name(),
                failure_rate: rate(failed),
                slow_rate: rate(slow),
                buffered: machine.window.len(),
                failed,
                slow,
                slow_failed: count(|record| record.failed && record.slow),
                not_permitted: self.not_permitted.load(Relaxed),
                failure_threshold: machine.tuning.failure_threshold(),
            }
        })
    }

    /// Closes it and empties its window, in whatever state it is.
    pub(super) fn close(&self) {
        self.machine.with(|machine| machine.enter(State::Closed));
    }

    /// Opens it until a hand closes it.
    pub(super) fn force_open(&self) {
        self.machine.with(|machine| machine.enter(State::ForcedOpen));
    }

    /// Lets everything through.
    pub(super) fn disable(&self) {
        self.machine.with(|machine| machine.enter(State::Disabled));
    }

    /// OPEN to HALF_OPEN; from any other state nothing happens, and that state is the error.
    pub(super) fn half_open(&self) -> Result<(), BreakerState> {
        self.machine.with(|machine| {
            machine.wait_over();
            match machine.state {
                State::Open { .. } => {
                    machine.enter(State::HalfOpen { permitted: 0 });
                    Ok(())
                }
                _ => Err(machine.name()),
            }
        })
    }
}

impl Permit {
    /// Says how the call went.
    pub(super) fn record(mut self, succeeded: bool, took: Duration) {
        self.recorded = true;
        let record = Record {
            failed: !succeeded,
            slow: took >= SLOW,
        };
        self.breaker
            .machine
            .with(|machine| machine.record(self.era, record));
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.recorded {
            return;
        }
        self.breaker.machine.with(|machine| {
            if let (true, State::HalfOpen { permitted }) = (machine.era == self.era, &mut machine.state) {
                *permitted = permitted.saturating_sub(1);
            }
        });
    }
}

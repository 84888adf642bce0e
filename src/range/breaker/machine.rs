//! The machine of one breaker: its window, and when it opens and closes.

use std::collections::VecDeque;

use tokio::time::Instant;

use super::{SLOW_THRESHOLD, TRIALS, Tuning, WAIT, WINDOW, state::BreakerState};

#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) failed: bool,
    pub(super) slow: bool,
}

#[derive(Debug)]
pub(super) enum State {
    Closed,
    Open { since: Instant },
    HalfOpen { permitted: usize },
    ForcedOpen,
    Disabled,
}

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) state: State,
    pub(super) window: VecDeque<Record>,
    /// Moves with every transition, so that a late answer is not counted in a later state.
    pub(super) era: u64,
    pub(super) tuning: Tuning,
}

impl Machine {
    pub(super) fn name(&self) -> BreakerState {
        match self.state {
            State::Closed => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen { .. } => BreakerState::HalfOpen,
            State::ForcedOpen => BreakerState::ForcedOpen,
            State::Disabled => BreakerState::Disabled,
        }
    }

    pub(super) fn enter(&mut self, state: State) {
        self.state = state;
        self.window.clear();
        self.era += 1;
    }

    pub(super) fn wait_over(&mut self) {
        if let (State::Open { since }, Tuning::Sound) = (&self.state, self.tuning)
            && since.elapsed() >= WAIT
        {
            self.enter(State::HalfOpen { permitted: 0 });
        }
    }

    pub(super) fn record(&mut self, era: u64, record: Record) {
        let capacity = match self.state {
            State::Closed => WINDOW,
            State::HalfOpen { .. } => TRIALS,
            State::Open { .. } | State::ForcedOpen | State::Disabled => return,
        };
        if era != self.era {
            return;
        }
        self.window.push_back(record);
        if self.window.len() > capacity {
            self.window.pop_front();
        }
        if self.window.len() < capacity {
            return;
        }
        let share = |of: fn(&Record) -> bool| {
            100.0 * self.window.iter().filter(|record| of(record)).count() as f64 / capacity as f64
        };
        if share(|record| record.failed) >= self.tuning.failure_threshold()
            || share(|record| record.slow) >= SLOW_THRESHOLD
        {
            self.enter(State::Open {
                since: Instant::now(),
            });
        } else if matches!(self.state, State::HalfOpen { .. }) {
            self.enter(State::Closed);
        }
    }
}

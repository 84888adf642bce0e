//! The machine: phases as types, inputs in, effects out. Each file beside this one holds the ways out of one phase.

mod before_faults;
mod closing;
mod effect;
mod input;
mod recovering;
mod running;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub(super) use self::effect::Effects;
use self::effect::phase;
pub use self::{effect::Effect, input::Input};
use super::{order::Recovering, schedule::Schedule, verifying::Verifying};
use crate::model::{
    drill::Drill,
    event::{Body, Doubt},
    ids::FaultId,
    phase::{Cause, Phase},
    plan::Purpose,
    said::said,
    sheet::Verdict,
    time::Moment,
};

/// The state machine of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    drill: Drill,
    schedule: Schedule,
    purpose: Purpose,
    /// Whether a commander sits there who can extend the baseline.
    attended: bool,
    deadman: Deadman,
    /// Faults intended and not yet read back as gone.
    owed: BTreeSet<FaultId>,
    /// Whether any fault was ever intended.
    touched: bool,
    verdicts: Option<Vec<Verdict>>,
    /// What stands against HELD, and on no row.
    doubts: Vec<Doubt>,
    /// When a fault has last ended, as far as this keeper knows.
    fault_ended: Option<Moment>,
    /// How often everything was read again before arming: an answer to an earlier look is not one to this.
    looks: u32,
    state: State,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Preflight,
    Baseline {
        until: Moment,
        silence: Silence,
    },
    Armed {
        since: Moment,
    },
    Running {
        began: Moment,
        /// One a slot of the schedule.
        slots: Vec<SlotState>,
    },
    Recovering(Recovering),
    Verifying(Verifying),
    Closed,
}

/// How far a step of the drill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    Later,
    Going,
    Over,
}

/// Whether someone would stop the faults if the keeper died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deadman {
    Awaited,
    StandsBy,
    /// It died, and no other has stood up yet.
    Lost {
        since: Moment,
    },
}

/// What the silent baseline is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    /// It lasts.
    Watching,
    /// It is being judged, or was and cannot be armed on.
    Judged,
    /// It is fit; what recovery may change is being read again, for the `look`th time in this run.
    ReadingAgain { look: u32 },
}

impl Machine {
    /// A fresh run. The first effects come from [`Machine::start`].
    pub fn new(drill: Drill, schedule: Schedule, purpose: Purpose, attended: bool) -> Self {
        Self {
            drill,
            schedule,
            purpose,
            attended,
            deadman: Deadman::Awaited,
            owed: BTreeSet::new(),
            touched: false,
            verdicts: None,
            doubts: Vec::new(),
            fault_ended: None,
            looks: 0,
            state: State::Preflight,
        }
    }

    /// Begins a fresh run.
    pub fn start(&mut self) -> Effects {
        vec![phase(Phase::Preflight, None), Effect::RunPreflight]
    }

    /// Goes on with a run that another keeper left: everything it intended is owed, and recovery begins.
    pub fn resume(
        drill: Drill,
        schedule: Schedule,
        purpose: Purpose,
        owed: impl IntoIterator<Item = FaultId>,
        touched: bool,
        cause: Cause,
        now: Moment,
    ) -> (Self, Effects) {
        let mut machine = Self::new(drill, schedule, purpose, false);
        machine.owed.extend(owed);
        machine.touched = touched;
        // It may have ended just before whoever was to see it died.
        machine.fault_ended = touched.then_some(now);
        let effects = machine.recover(cause, now);
        (machine, effects)
    }

    /// Stops the faults at once and begins with nothing else before `until`, while everything is being put back.
    pub fn pause_after_faults(&mut self, until: Moment) {
        if let State::Recovering(recovering) = &mut self.state {
            recovering.pause_until(until);
        }
    }

    /// Takes over what a keeper before this one had in doubt.
    pub fn inherit_doubts(&mut self, doubts: Vec<Doubt>) {
        self.doubts = doubts;
    }

    /// The phase it is in.
    pub fn phase(&self) -> Phase {
        match self.state {
            State::Preflight => Phase::Preflight,
            State::Baseline { .. } => Phase::Baseline,
            State::Armed { .. } => Phase::Armed,
            State::Running { .. } => Phase::Running,
            State::Recovering(_) => Phase::Recovering,
            State::Verifying(_) => Phase::Verifying,
            State::Closed => Phase::Closed,
        }
    }

    /// Why everything is being put back, once it is.
    pub fn cause(&self) -> Option<&Cause> {
        match &self.state {
            State::Recovering(r) => Some(&r.cause),
            State::Verifying(v) => Some(&v.recovering.cause),
            _ => None,
        }
    }

    /// When the first step began, while steps run.
    pub fn running_since(&self) -> Option<Moment> {
        if let State::Running { began, .. } = &self.state {
            Some(*began)
        } else {
            None
        }
    }

    /// Whether a fault may be there: something was intended and has not been read back as gone.
    pub fn fault_may_be_live(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Takes one input at `now` and says what to do.
    pub fn step(&mut self, input: Input, now: Moment) -> Effects {
        if matches!(self.state, State::Closed) {
            return Vec::new();
        }
        match input {
            Input::Recover(cause) => self.recover(cause, now),
            Input::DeadmanReady => {
                self.deadman = Deadman::StandsBy;
                self.arm(now)
            }
            Input::DeadmanLost => {
                self.deadman = Deadman::Lost { since: now };
                Vec::new()
            }
            Input::Doubt(doubt) => self.doubt(doubt),
            Input::RowsFinal(verdicts) => {
                self.verdicts = Some(verdicts);
                self.verify(now)
            }
            Input::FaultIntended(fault) => {
                self.touched = true;
                self.owed.insert(fault);
                Vec::new()
            }
            Input::FaultGone(fault) => {
                let owed = self.owed.remove(&fault);
                if owed {
                    self.fault_ended = Some(now);
                }
                owed.then_some(Effect::Emit(Body::FaultGone { fault }))
                    .into_iter()
                    .collect()
            }
            Input::FaultFailed(fault, why) => {
                let what = said!(why; "{fault}: {why}", "{fault}：{why}");
                let mut effects = vec![Effect::Emit(Body::FaultFailed { fault, why })];
                effects.extend(self.recover(Cause::InjectFailed { what }, now));
                effects
            }
            Input::Guard(state, text) => self.guard(state, text, now),
            Input::PreflightDone { refused } => self.preflight_done(refused, now),
            Input::BaselineJudged { blockers } => self.baseline_judged(blockers),
            Input::ReadAgain { look, blockers } => self.read_again(look, blockers, now),
            Input::Extend(by) => self.extend(by, now),
            Input::Unfit { why } => match self.state {
                State::Preflight | State::Baseline { .. } => self.refuse(vec![why]),
                _ => Vec::new(),
            },
            Input::Tick => self.tick(now),
            other => self.recovery_input(other, now),
        }
    }

    /// Each is told once.
    fn doubt(&mut self, doubt: Doubt) -> Effects {
        if self.doubts.contains(&doubt) {
            return Vec::new();
        }
        self.doubts.push(doubt.clone());
        vec![Effect::Emit(Body::Doubted(doubt))]
    }

    fn tick(&mut self, now: Moment) -> Effects {
        match self.state {
            State::Baseline { .. } | State::Armed { .. } => self.wait_in_silence(now),
            State::Running { .. } => self.run_steps(now),
            State::Verifying(_) => self.verify(now),
            State::Recovering(_) => self.end_pause(now),
            State::Preflight | State::Closed => Vec::new(),
        }
    }
}

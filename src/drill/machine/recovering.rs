//! Recovering: the steps of recovery are handed out in their order, whatever becomes of them.

use super::{
    Machine, State,
    effect::{Effect, Effects, phase},
    input::Input,
};
use crate::{
    drill::{
        order::{Next, Recovering},
        verifying::Verifying,
    },
    model::{
        event::Body,
        phase::{Cause, Phase},
        plan::Purpose,
        recovery::{Milestone, StepId},
        time::Moment,
    },
};

impl Machine {
    /// Everything is to be put back. Idempotent: while it is being put back already, nothing changes.
    pub(super) fn recover(&mut self, cause: Cause, now: Moment) -> Effects {
        if matches!(
            self.state,
            State::Recovering(_) | State::Verifying(_) | State::Closed
        ) {
            return Vec::new();
        }
        if !self.touched {
            let recovering = Effect::Emit(Body::Recovering { cause: cause.clone() });
            let mut effects = vec![recovering];
            effects.extend(self.close(&[], cause));
            return effects;
        }
        let mut recovering = Recovering::new(cause.clone(), now, &self.drill.recovery);
        if self.purpose == Purpose::Rehearsal && cause == Cause::Finished {
            // What a healthy system does not need is what is rehearsed.
            recovering.assessed(true);
        }
        self.state = State::Recovering(recovering);
        // The faults first; everything else, words included, comes after.
        let mut effects = self.advance(now);
        effects.push(Effect::Emit(Body::Recovering { cause }));
        effects.push(phase(Phase::Recovering, None));
        effects.push(Effect::FinishRows);
        effects
    }

    /// Hands out the recovery steps that can begin now, and begins to verify when all are over.
    fn advance(&mut self, now: Moment) -> Effects {
        let State::Recovering(recovering) = &mut self.state else {
            return Vec::new();
        };
        let needed = recovering.needed();
        let mut effects = Vec::new();
        for next in recovering.next() {
            match next {
                Next::Step(step) => effects.push(Effect::Recover { step, needed }),
                Next::Command(index) => effects.push(Effect::RunCommand { index, needed }),
                Next::Assess => effects.push(Effect::Assess),
                Next::Verify => {
                    effects.push(phase(
                        Phase::Verifying,
                        Some(now + self.drill.recovery.verify_within),
                    ));
                }
            }
        }
        if recovering.is_verifying() {
            self.state = State::Verifying(Verifying::new(recovering.clone(), now));
        }
        effects
    }

    /// Goes on once a pause after the faults is over.
    pub(super) fn end_pause(&mut self, now: Moment) -> Effects {
        let ends = match &mut self.state {
            State::Recovering(recovering) => recovering.pause_ends(now),
            _ => false,
        };
        if ends { self.advance(now) } else { Vec::new() }
    }

    pub(super) fn recovery_input(&mut self, input: Input, now: Moment) -> Effects {
        match (&mut self.state, input) {
            (
                State::Recovering(r) | State::Verifying(Verifying { recovering: r, .. }),
                Input::StepOver(step),
            ) => {
                let faults = step == StepId::Faults;
                let tell = faults && !r.is_over(StepId::Faults) && r.cause.is_abort();
                r.step_over(step);
                let mut effects = if faults { self.faults_gone(now) } else { Vec::new() };
                effects.extend(tell.then_some(Effect::Notify { left: Vec::new() }));
                effects.extend(self.advance(now));
                effects
            }
            (State::Recovering(r), Input::GoOn(step)) => {
                r.go_on(step);
                self.advance(now)
            }
            (State::Recovering(r), Input::CommandOver(index, leftovers)) => {
                r.command_over(index, leftovers);
                self.advance(now)
            }
            (State::Recovering(r), Input::Assessed { needed }) => {
                r.assessed(needed);
                self.advance(now)
            }
            (State::Verifying(v), Input::Slept) => {
                v.slept();
                Vec::new()
            }
            (State::Recovering(r), Input::Settling { users_ok, .. }) => r.users_ok(users_ok, now),
            (State::Verifying(v), Input::Settling { missing, users_ok }) => {
                let mut effects = v.recovering.users_ok(users_ok, now);
                v.settling(missing, now);
                let awaits_rows = self.verdicts.is_none();
                let report = v.report(now, self.drill.recovery.hold, awaits_rows);
                effects.push(Effect::Emit(Body::Recovery(report)));
                effects.extend(self.verify(now));
                effects
            }
            (State::Verifying(_), Input::FinalRead { found, repaired }) => {
                self.final_read(found, repaired, now)
            }
            _ => Vec::new(),
        }
    }

    /// The first of the three times, if every intended fault has been read back as gone.
    pub(super) fn faults_gone(&mut self, now: Moment) -> Effects {
        let (State::Recovering(r) | State::Verifying(Verifying { recovering: r, .. })) = &mut self.state
        else {
            return Vec::new();
        };
        if self.owed.is_empty() {
            r.reach(Milestone::FaultsGone, now)
        } else {
            Vec::new()
        }
    }
}

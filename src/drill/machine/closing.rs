//! Verifying and closing: the last read, and the only way to ALL CLEAR.

use super::{
    Machine, State,
    effect::{Effect, Effects, phase},
};
use crate::{
    drill::outcome,
    model::{
        event::Body,
        phase::{Cause, Phase},
        recovery::{Leftover, Milestone, StepId, StepReport, StepState},
        time::Moment,
    },
};

impl Machine {
    /// Held for long enough, or out of time, and all rows are final: read everything a last time. A read that had to wait for rows
    /// afterwards would be old by the time that ALL CLEAR rests on it.
    pub(super) fn verify(&mut self, now: Moment) -> Effects {
        let (State::Verifying(v), Some(_)) = (&mut self.state, &self.verdicts) else {
            return Vec::new();
        };
        let playbook = &self.drill.recovery;
        if v.wants_final_read(now, playbook.hold, playbook.verify_within) {
            vec![Effect::ReadEverything]
        } else {
            Vec::new()
        }
    }

    pub(super) fn final_read(&mut self, found: Vec<Leftover>, repaired: bool, now: Moment) -> Effects {
        // An answer that nobody asked for proves nothing.
        if !matches!(&self.state, State::Verifying(v) if v.is_reading()) {
            return Vec::new();
        }
        let mut effects = Vec::new();
        // The last read asks every injector for everything of this run: what it does not find is gone.
        if !found
            .iter()
            .any(|l| matches!(l.step, StepId::Faults | StepId::Injector))
        {
            let gone = std::mem::take(&mut self.owed);
            effects.extend(
                gone.into_iter()
                    .map(|fault| Effect::Emit(Body::FaultGone { fault })),
            );
            effects.extend(self.faults_gone(now));
        }
        let State::Verifying(v) = &mut self.state else {
            return effects;
        };
        let playbook = &self.drill.recovery;
        effects.extend(v.final_read(found, repaired, now, playbook.hold, playbook.verify_within));
        effects.extend(self.conclude(now));
        effects
    }

    /// Closes the run when it is known what remains.
    fn conclude(&mut self, now: Moment) -> Effects {
        let State::Verifying(v) = &mut self.state else {
            return Vec::new();
        };
        let Some(left) = v.left.clone() else {
            return Vec::new();
        };
        let mut effects = vec![Effect::Emit(Body::MayRemain(left.clone()))];
        let state = if left.is_empty() {
            StepState::Done
        } else {
            StepState::Failed
        };
        effects.push(Effect::Emit(Body::Recovery(StepReport {
            state,
            ..v.report(now, self.drill.recovery.hold, false)
        })));
        if left.is_empty() {
            effects.extend(v.recovering.reach(Milestone::AllClear, now));
        }
        if !left.is_empty() {
            effects.push(Effect::Notify { left: left.clone() });
        }
        let cause = v.recovering.cause.clone();
        effects.extend(self.close(&left, cause));
        effects
    }

    pub(super) fn close(&mut self, left: &[Leftover], cause: Cause) -> Effects {
        let verdicts = self.verdicts.clone().unwrap_or_default();
        self.state = State::Closed;
        let outcome = outcome::outcome(
            self.purpose,
            &verdicts,
            &self.doubts,
            Some(cause),
            self.touched,
            outcome::recovered(left),
        );
        vec![phase(Phase::Closed, None), Effect::Close(outcome)]
    }
}

//! Running: steps begin and end by the schedule, and the guard may end them all.

use super::{
    Deadman, Machine, SlotState, State,
    effect::{Effect, Effects},
};
use crate::{
    drill::guard,
    model::{
        event::{Body, Doubt, GuardState, Health},
        phase::Cause,
        said::{Said, said},
        time::{Moment, Span},
    },
};

/// A deadman that dies is followed by another within moments. Where none can be started, the keeper may be the next to die.
const NO_DEADMAN: Span = Span::seconds(15);

impl Machine {
    /// Begins and ends the steps whose time has come.
    pub(super) fn run_steps(&mut self, now: Moment) -> Effects {
        if let Some(cause) = self.lost_deadman(now) {
            return self.recover(cause, now);
        }
        let State::Running { began, slots } = &mut self.state else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        // Ends first: a step that follows another begins on a system without the earlier fault.
        for (i, slot) in self.schedule.slots.iter().enumerate() {
            if slots[i] == SlotState::Going && now >= *began + slot.end {
                slots[i] = SlotState::Over;
                let made = slot.breaks && self.purpose.injects();
                if made {
                    self.fault_ended = Some(now);
                }
                effects.extend(made.then_some(Effect::StopStep { step: i }));
                effects.push(Effect::Emit(Body::StepEnded { step: i }));
            }
        }
        for (i, slot) in self.schedule.slots.iter().enumerate() {
            if slots[i] == SlotState::Later && now >= *began + slot.start {
                slots[i] = SlotState::Going;
                // From here on a fault may exist, whatever becomes of the injection. A rehearsal makes none, and puts
                // back as if it had.
                self.touched |= slot.breaks;
                effects.push(Effect::Inject { step: i });
            }
        }
        if slots.iter().all(|s| *s == SlotState::Over) {
            effects.extend(self.recover(Cause::Finished, now));
        }
        effects
    }

    /// Whether the run cannot go on without its deadman: nothing is injected while nobody stands by, and nothing stays injected
    /// for long.
    fn lost_deadman(&self, now: Moment) -> Option<Cause> {
        let (Deadman::Lost { since }, State::Running { began, slots }) = (self.deadman, &self.state) else {
            return None;
        };
        let mut later = self.schedule.slots.iter().zip(slots);
        let breaks_now = later
            .any(|(slot, state)| slot.breaks && *state == SlotState::Later && now >= *began + slot.start);
        let without = now.since(since);
        (breaks_now || without >= NO_DEADMAN).then_some(Cause::DeadmanLost { ms: without.0 })
    }

    pub(super) fn guard(&mut self, state: GuardState, text: Said, now: Moment) -> Effects {
        let health = state.health;
        let late = self.cause() == Some(&Cause::Finished) && self.reaches_back(&state, now);
        let mut effects = vec![Effect::Emit(Body::Guard(state))];
        let cause = match health {
            Health::Broken => Some(Cause::Guard { what: text }),
            Health::BlindTooLong => Some(Cause::Blind { what: text }),
            Health::Holds | Health::Bad | Health::Blind => None,
        };
        match (cause, &self.state) {
            (Some(cause), State::Armed { .. } | State::Running { .. }) => {
                effects.extend(self.recover(cause, now))
            }
            // Nothing was touched yet: a system that is not steady by itself is no system to drill on.
            (Some(cause), State::Baseline { .. }) => {
                let why = said!(
                    why = cause.said();
                    "the steady state does not hold by itself: {why}",
                    "稳态自身不成立：{why}"
                );
                effects.extend(self.refuse(vec![why]));
            }
            // Everything is being put back already. What the users felt was the fault all the same.
            (Some(Cause::Guard { what }), _) if late => {
                effects.extend(self.doubt(Doubt::GuardBroke { what }));
            }
            _ => {}
        }
        effects
    }

    /// Whether the samples that it broke on reach back to the last fault. What comes later is recovery's own: a drain, a restart.
    fn reaches_back(&self, state: &GuardState, now: Moment) -> bool {
        let guard = &self.drill.guard;
        let reach = match guard.steady_state.get(state.index) {
            Some(hypothesis) => hypothesis.window + guard.every * u64::from(guard.samples),
            None => guard::tripwire_stop(guard).unwrap_or(Span::ZERO),
        };
        let ended = self.fault_ended.filter(|_| self.purpose.injects());
        ended.is_some_and(|ended| now.since(ended) <= reach + state.reading.age)
    }
}

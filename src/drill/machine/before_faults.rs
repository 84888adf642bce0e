//! Preflight, baseline and armed: nothing has been touched, and a refusal ends the run.

use super::{
    Deadman, Machine, Silence, SlotState, State,
    effect::{Effect, Effects, phase},
};
use crate::{
    drill::outcome,
    model::{
        event::Body,
        phase::{Cause, Phase},
        plan::Purpose,
        said::{Said, said},
        time::{Moment, Span},
    },
};

/// How long an armed run waits for its deadman.
const DEADMAN_PATIENCE: Span = Span::seconds(30);

/// How long a run that cannot be armed waits for its commander: it holds the environment all that time.
const COMMANDER_PATIENCE: Span = Span::seconds(30 * 60);

impl Machine {
    pub(super) fn preflight_done(&mut self, refused: Vec<Said>, now: Moment) -> Effects {
        if !matches!(self.state, State::Preflight) {
            return Vec::new();
        }
        if !refused.is_empty() {
            return self.refuse(refused);
        }
        if self.purpose == Purpose::Restore {
            // The accident has touched enough.
            self.touched = true;
            return self.recover(Cause::Restore, now);
        }
        let until = now + self.drill.baseline;
        self.state = State::Baseline {
            until,
            silence: Silence::Watching,
        };
        vec![phase(Phase::Baseline, Some(until)), Effect::RestartGuard]
    }

    pub(super) fn refuse(&mut self, reasons: Vec<Said>) -> Effects {
        self.state = State::Closed;
        vec![
            Effect::Emit(Body::Refused { reasons }),
            phase(Phase::Closed, None),
            Effect::Close(outcome::refused()),
        ]
    }

    pub(super) fn extend(&mut self, by: Span, now: Moment) -> Effects {
        match &mut self.state {
            State::Baseline { until, silence } => {
                *until = (*until).max(now) + by;
                *silence = Silence::Watching;
                let until = *until;
                vec![Effect::Emit(Body::Extended { until })]
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn baseline_judged(&mut self, blockers: Vec<Said>) -> Effects {
        let State::Baseline {
            silence: silence @ Silence::Judged,
            ..
        } = &mut self.state
        else {
            return Vec::new();
        };
        if !blockers.is_empty() {
            return self.cannot_arm(blockers);
        }
        self.looks += 1;
        *silence = Silence::ReadingAgain { look: self.looks };
        vec![Effect::ReadAgain { look: self.looks }]
    }

    /// Whether the answer to this look is still wanted.
    pub fn awaits(&self, look: u32) -> bool {
        matches!(self.state, State::Baseline { silence: Silence::ReadingAgain { look: wanted }, .. } if wanted == look)
    }

    pub(super) fn read_again(&mut self, look: u32, blockers: Vec<Said>, now: Moment) -> Effects {
        if !self.awaits(look) {
            return Vec::new();
        }
        if !blockers.is_empty() {
            return self.cannot_arm(blockers);
        }
        self.state = State::Armed { since: now };
        let mut effects = vec![Effect::FreezeBaseline, phase(Phase::Armed, None)];
        effects.extend(self.arm(now));
        effects
    }

    /// A commander can extend the baseline; without one, the run ends here.
    fn cannot_arm(&mut self, reasons: Vec<Said>) -> Effects {
        if !self.attended {
            return self.refuse(reasons);
        }
        if let State::Baseline { silence, .. } = &mut self.state {
            *silence = Silence::Judged;
        }
        vec![Effect::Emit(Body::CannotArm { reasons })]
    }

    /// From armed to running, once the deadman stands by.
    pub(super) fn arm(&mut self, now: Moment) -> Effects {
        if !(self.deadman == Deadman::StandsBy && matches!(self.state, State::Armed { .. })) {
            return Vec::new();
        }
        self.state = State::Running {
            began: now,
            slots: vec![SlotState::Later; self.schedule.slots.len()],
        };
        let mut effects = vec![
            phase(Phase::Running, Some(now + self.schedule.total())),
            Effect::RestartGuard,
        ];
        effects.extend(self.tick(now));
        effects
    }

    /// The baseline's time is up, or nobody did what this phase waits for.
    pub(super) fn wait_in_silence(&mut self, now: Moment) -> Effects {
        match &mut self.state {
            State::Baseline {
                until,
                silence: silence @ Silence::Watching,
            } if now >= *until => {
                *silence = Silence::Judged;
                vec![Effect::JudgeBaseline]
            }
            State::Armed { since } if now.since(*since) >= DEADMAN_PATIENCE => {
                let why = said!(
                    "no deadman could be started within {DEADMAN_PATIENCE}: nothing is injected without one",
                    "{DEADMAN_PATIENCE} 内未能启动替补守护：没有它不注入任何故障"
                );
                self.refuse(vec![why])
            }
            State::Baseline {
                until,
                silence: Silence::Judged | Silence::ReadingAgain { .. },
            } if now.since(*until) >= COMMANDER_PATIENCE => {
                let why = said!(
                    "the baseline was not fit to arm on, and nobody extended it within {COMMANDER_PATIENCE}",
                    "基线不满足发起条件，且 {COMMANDER_PATIENCE} 内无人延长"
                );
                self.refuse(vec![why])
            }
            _ => Vec::new(),
        }
    }
}

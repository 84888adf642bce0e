//! The machine: phases as types, inputs in, effects out.

use std::collections::BTreeSet;

use super::{
    outcome,
    recovering::{Next, Recovering, StepResult},
    schedule::Schedule,
    verifying::{Missing, Verifying},
};
use crate::model::{
    drill::Drill,
    event::{Body, GuardState, Health, Outcome},
    ids::FaultId,
    phase::{Cause, Phase},
    recovery::{Leftover, Milestone, StepId, StepReport, StepState},
    sheet::Verdict,
    time::{Moment, Span},
};

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// Preflight is over; any reason refuses the run.
    PreflightDone {
        /// Why the run may not start.
        refused: Vec<String>,
    },
    /// The baseline has been judged.
    BaselineJudged {
        /// Why it is not fit to arm on.
        blockers: Vec<String>,
    },
    /// The deadman is there and has said so.
    DeadmanReady,
    /// The deadman is gone.
    DeadmanLost,
    /// A fault is about to be made; its intent is durable.
    FaultIntended(FaultId),
    /// A fault could not be made, or it is not known whether it was.
    FaultFailed(FaultId, String),
    /// A fault was read back as gone.
    FaultGone(FaultId),
    /// The guard has looked; the text says what, with value, limit and count.
    Guard(GuardState, String),
    /// Someone or something wants everything put back.
    Recover(Cause),
    /// The commander wants a longer baseline.
    Extend(Span),
    /// A recovery step is over.
    StepOver(StepResult),
    /// A command of the playbook is over.
    CommandOver(usize, Vec<Leftover>),
    /// Whether anything of steps 3 to 7 has to be put back.
    Assessed {
        /// It has, or it could not be read.
        needed: bool,
    },
    /// What is not yet back inside its baseline. Empty: everything holds now.
    Settling {
        /// One each.
        missing: Vec<Missing>,
        /// Whether every hypothesis of the guard holds with a fresh sample taken after the faults were gone.
        users_ok: bool,
    },
    /// Nothing was touched yet, and nothing may be.
    Unfit {
        /// Why.
        why: String,
    },
    /// The last read of everything recovery may have changed or missed.
    FinalRead {
        /// What was found, after it was tried once more to put it back.
        found: Vec<Leftover>,
        /// Whether something had to be put back once more: then everything has to hold again.
        repaired: bool,
    },
    /// All rows of the sheet are final.
    RowsFinal(Vec<Verdict>),
}

/// What the engine shall do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Record and show an event.
    Emit(Body),
    /// Look at everything, touch nothing.
    RunPreflight,
    /// Judge the baseline so far.
    JudgeBaseline,
    /// Freeze the baseline's levels.
    FreezeBaseline,
    /// Forget what the guard counted: a phase begins.
    RestartGuard,
    /// Make the faults of a step: intent first.
    Inject {
        /// The step's index.
        step: usize,
    },
    /// Stop the faults of a step and read back that they are gone.
    StopStep {
        /// The step's index.
        step: usize,
    },
    /// Judge all rows with what there is, now.
    FinishRows,
    /// Carry out a recovery step.
    Recover {
        /// Which.
        step: StepId,
        /// Whether steps 3 to 7 have anything to put back.
        needed: bool,
    },
    /// Run a command of the playbook.
    RunCommand {
        /// Its index.
        index: usize,
        /// Whether steps 3 to 7 have anything to put back; if not, a command whose check passes is not run.
        needed: bool,
    },
    /// Read whether steps 3 to 7 have anything to put back.
    Assess,
    /// Read everything a last time, as [`Input::FinalRead`].
    ReadEverything,
    /// Tell those who are to be told. Only after the faults were stopped.
    Notify {
        /// What may remain; empty when a run was aborted and its faults are stopped.
        left: Vec<Leftover>,
    },
    /// The run is over.
    Close(Outcome),
}

/// How long an armed run waits for its deadman.
const DEADMAN_PATIENCE: Span = Span::seconds(30);

/// How long a run that cannot be armed waits for its commander: it holds the environment all that time.
const COMMANDER_PATIENCE: Span = Span::seconds(30 * 60);

/// The state machine of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    drill: Drill,
    schedule: Schedule,
    /// Whether a commander sits there who can extend the baseline.
    attended: bool,
    deadman: bool,
    /// Faults intended and not yet read back as gone.
    owed: BTreeSet<FaultId>,
    /// Whether any fault was ever intended.
    touched: bool,
    verdicts: Option<Vec<Verdict>>,
    state: State,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Preflight,
    Baseline {
        until: Moment,
        judging: bool,
    },
    Armed {
        since: Moment,
    },
    Running {
        began: Moment,
        begun: Vec<bool>,
        ended: Vec<bool>,
    },
    Recovering(Recovering),
    Verifying(Verifying),
    Closed,
}

pub(super) type Effects = Vec<Effect>;

impl Machine {
    /// A fresh run. The first effects come from [`Machine::start`].
    pub fn new(drill: Drill, schedule: Schedule, attended: bool) -> Self {
        Self {
            drill,
            schedule,
            attended,
            deadman: false,
            owed: BTreeSet::new(),
            touched: false,
            verdicts: None,
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
        owed: impl IntoIterator<Item = FaultId>,
        touched: bool,
        cause: Cause,
        now: Moment,
    ) -> (Self, Effects) {
        let mut machine = Self::new(drill, schedule, false);
        machine.owed.extend(owed);
        machine.touched = touched;
        let effects = machine.recover(cause, now);
        (machine, effects)
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
                self.deadman = true;
                self.arm(now)
            }
            Input::DeadmanLost => {
                self.deadman = false;
                Vec::new()
            }
            Input::RowsFinal(verdicts) => {
                self.verdicts = Some(verdicts);
                self.conclude(now)
            }
            Input::FaultIntended(fault) => {
                self.touched = true;
                self.owed.insert(fault);
                Vec::new()
            }
            Input::FaultGone(fault) => {
                let owed = self.owed.remove(&fault);
                owed.then_some(Effect::Emit(Body::FaultGone { fault }))
                    .into_iter()
                    .collect()
            }
            Input::FaultFailed(fault, why) => {
                let what = format!("{fault}: {why}");
                let mut effects = vec![Effect::Emit(Body::FaultFailed { fault, why })];
                effects.extend(self.recover(Cause::InjectFailed { what }, now));
                effects
            }
            Input::Guard(state, text) => self.guard(state, text, now),
            Input::PreflightDone { refused } => self.preflight_done(refused, now),
            Input::BaselineJudged { blockers } => self.baseline_judged(blockers, now),
            Input::Extend(by) => self.extend(by, now),
            Input::Unfit { why } => match self.state {
                State::Preflight | State::Baseline { .. } => self.refuse(vec![why]),
                _ => Vec::new(),
            },
            Input::Tick => self.tick(now),
            other => self.recovery_input(other, now),
        }
    }

    fn preflight_done(&mut self, refused: Vec<String>, now: Moment) -> Effects {
        if !matches!(self.state, State::Preflight) {
            return Vec::new();
        }
        if !refused.is_empty() {
            return self.refuse(refused);
        }
        let until = now + self.drill.baseline;
        self.state = State::Baseline {
            until,
            judging: false,
        };
        vec![phase(Phase::Baseline, Some(until)), Effect::RestartGuard]
    }

    fn refuse(&mut self, reasons: Vec<String>) -> Effects {
        self.state = State::Closed;
        vec![
            Effect::Emit(Body::Refused { reasons }),
            phase(Phase::Closed, None),
            Effect::Close(outcome::refused()),
        ]
    }

    fn extend(&mut self, by: Span, now: Moment) -> Effects {
        match &mut self.state {
            State::Baseline { until, judging } => {
                *until = (*until).max(now) + by;
                *judging = false;
                let until = *until;
                vec![Effect::Emit(Body::Extended { until })]
            }
            _ => Vec::new(),
        }
    }

    fn baseline_judged(&mut self, blockers: Vec<String>, now: Moment) -> Effects {
        if !matches!(self.state, State::Baseline { judging: true, .. }) {
            return Vec::new();
        }
        if !blockers.is_empty() {
            // A commander can extend the baseline; without one, the run ends here.
            return if self.attended {
                vec![Effect::Emit(Body::CannotArm { reasons: blockers })]
            } else {
                self.refuse(blockers)
            };
        }
        self.state = State::Armed { since: now };
        let mut effects = vec![Effect::FreezeBaseline, phase(Phase::Armed, None)];
        effects.extend(self.arm(now));
        effects
    }

    /// From armed to running, once the deadman stands by.
    fn arm(&mut self, now: Moment) -> Effects {
        if !(self.deadman && matches!(self.state, State::Armed { .. })) {
            return Vec::new();
        }
        let n = self.schedule.slots.len();
        self.state = State::Running {
            began: now,
            begun: vec![false; n],
            ended: vec![false; n],
        };
        let mut effects = vec![
            phase(Phase::Running, Some(now + self.schedule.total())),
            Effect::RestartGuard,
        ];
        effects.extend(self.tick(now));
        effects
    }

    fn tick(&mut self, now: Moment) -> Effects {
        let schedule = &self.schedule;
        match &mut self.state {
            State::Baseline { until, judging } if now >= *until && !*judging => {
                *judging = true;
                vec![Effect::JudgeBaseline]
            }
            State::Running { began, begun, ended } => {
                let mut effects = Vec::new();
                // Ends first: a step that follows another begins on a system without the earlier fault.
                for (i, slot) in schedule.slots.iter().enumerate() {
                    if begun[i] && !ended[i] && now >= *began + slot.end {
                        ended[i] = true;
                        effects.extend(slot.breaks.then_some(Effect::StopStep { step: i }));
                        effects.push(Effect::Emit(Body::StepEnded { step: i }));
                    }
                }
                for (i, slot) in schedule.slots.iter().enumerate() {
                    if !begun[i] && now >= *began + slot.start {
                        begun[i] = true;
                        // From here on a fault may exist, whatever becomes of the injection.
                        self.touched |= slot.breaks;
                        effects.push(Effect::Inject { step: i });
                    }
                }
                if ended.iter().all(|e| *e) {
                    effects.extend(self.recover(Cause::Finished, now));
                }
                effects
            }
            State::Verifying(_) => self.verify(now),
            State::Armed { since } if now.since(*since) >= DEADMAN_PATIENCE => {
                let why = format!(
                    "no deadman could be started within {DEADMAN_PATIENCE}: nothing is injected without one"
                );
                self.refuse(vec![why])
            }
            State::Baseline { until, judging: true } if now.since(*until) >= COMMANDER_PATIENCE => {
                let why = format!(
                    "the baseline was not fit to arm on, and nobody extended it within {COMMANDER_PATIENCE}"
                );
                self.refuse(vec![why])
            }
            _ => Vec::new(),
        }
    }

    fn guard(&mut self, state: GuardState, text: String, now: Moment) -> Effects {
        let health = state.health;
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
                let why = cause.describe(crate::model::text::Lang::En);
                effects.extend(self.refuse(vec![format!("the steady state does not hold by itself: {why}")]));
            }
            _ => {}
        }
        effects
    }

    /// Everything is to be put back. Idempotent: while it is being put back already, nothing changes.
    fn recover(&mut self, cause: Cause, now: Moment) -> Effects {
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
        self.state = State::Recovering(Recovering::new(cause.clone(), now, &self.drill.recovery));
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

    fn recovery_input(&mut self, input: Input, now: Moment) -> Effects {
        match (&mut self.state, input) {
            (State::Recovering(r), Input::StepOver(result)) => {
                let faults = result.step == StepId::Faults;
                r.step_over(result);
                let abort = r.cause.is_abort();
                let mut effects = if faults { self.faults_gone(now) } else { Vec::new() };
                effects.extend((faults && abort).then_some(Effect::Notify { left: Vec::new() }));
                effects.extend(self.advance(now));
                effects
            }
            (State::Recovering(r), Input::CommandOver(index, leftovers)) => {
                r.command_over(index, leftovers);
                self.advance(now)
            }
            (State::Recovering(r), Input::Assessed { needed }) => {
                r.assessed(needed);
                self.advance(now)
            }
            (State::Recovering(r), Input::Settling { users_ok, .. }) => r.users_ok(users_ok, now),
            (State::Verifying(v), Input::Settling { missing, users_ok }) => {
                let mut effects = v.recovering.users_ok(users_ok, now);
                v.settling(missing, now);
                effects.push(Effect::Emit(Body::Recovery(
                    v.report(now, self.drill.recovery.hold),
                )));
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
    fn faults_gone(&mut self, now: Moment) -> Effects {
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

    /// Held for long enough, or out of time: read everything a last time.
    fn verify(&mut self, now: Moment) -> Effects {
        let State::Verifying(v) = &mut self.state else {
            return Vec::new();
        };
        let playbook = &self.drill.recovery;
        if v.wants_final_read(now, playbook.hold, playbook.verify_within) {
            vec![Effect::ReadEverything]
        } else {
            Vec::new()
        }
    }

    fn final_read(&mut self, found: Vec<Leftover>, repaired: bool, now: Moment) -> Effects {
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

    /// Closes the run when it is known what remains and all rows are final.
    fn conclude(&mut self, now: Moment) -> Effects {
        let State::Verifying(v) = &mut self.state else {
            return Vec::new();
        };
        let (Some(left), Some(_)) = (v.left.clone(), &self.verdicts) else {
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
            ..v.report(now, self.drill.recovery.hold)
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

    fn close(&mut self, left: &[Leftover], cause: Cause) -> Effects {
        let verdicts = self.verdicts.clone().unwrap_or_default();
        self.state = State::Closed;
        let outcome = outcome::outcome(&verdicts, Some(cause), self.touched, outcome::recovered(left));
        vec![phase(Phase::Closed, None), Effect::Close(outcome)]
    }
}

fn phase(phase: Phase, until: Option<Moment>) -> Effect {
    Effect::Emit(Body::Phase { phase, until })
}

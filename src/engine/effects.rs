//! Carries out what the machine wants done, and hands back what came of it.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::sync::mpsc::UnboundedSender;

use super::{
    Done, Engine,
    recovery::{self, Repair, Scene, StepEnd},
};
use crate::{
    drill::{Effect, Input, StepResult},
    drivers::webhook,
    model::{
        event::{Body, Outcome, Period},
        phase::Phase,
        recovery::{Certainty, Leftover, Milestone, StepId, StepReport, StepState},
        text::{Lang, Word},
        time::Span,
        undo::FaultIntent,
    },
};

impl Engine {
    /// Carries out all queued effects, in order. What takes time is only begun here; the one wait is for the intent of
    /// a fault to be durable.
    pub(super) async fn carry_out(&mut self) {
        while let Some(effect) = self.effects.pop_front() {
            match effect {
                Effect::Emit(body) => self.emit(body),
                Effect::RunPreflight => self.run_preflight(),
                Effect::JudgeBaseline => self.judge_baseline(),
                Effect::FreezeBaseline => self.freeze_baseline(),
                Effect::RestartGuard => self.restart_guard(),
                Effect::Inject { step } => self.inject(step).await,
                Effect::StopStep { step } => self.stop_step(step),
                Effect::FinishRows => self.finish_rows(),
                Effect::Recover { step, needed } => self.recover(step, needed),
                Effect::RunCommand { index, needed } => self.run_command(index, needed),
                Effect::Assess => self.assess(),
                Effect::ReadEverything => self.read_everything(),
                Effect::Notify { left } => self.notify(&left),
                Effect::Close(outcome) => self.close(outcome).await,
            }
        }
    }

    fn emit(&mut self, body: Body) {
        match &body {
            Body::Phase {
                phase: Phase::Baseline,
                ..
            } => {
                let start = self.source_now();
                self.collected.begin(Period::Baseline, start);
            }
            Body::Reached {
                milestone: Milestone::FaultsGone,
                ..
            } => self.gone_at_source = Some(self.source_now()),
            _ => {}
        }
        self.ledger.emit(body);
    }

    fn recover(&mut self, step: StepId, needed: bool) {
        self.steps_began.insert(step, self.clock.now());
        let scene = self.scene();
        let done = self.done.clone();
        let intents = self.intents();
        self.spawn(async move {
            let is_needed = needed || matches!(step, StepId::Faults | StepId::Injector);
            let end = if is_needed {
                let work = carry_out_step(&scene, step, &intents);
                or_if_it_panics(work, || Some(defect(step))).await
            } else {
                None
            };
            let end = end.unwrap_or_else(nothing);
            // The engine outlives its tasks.
            let _ = done.send(Done::Step { step, end });
        });
    }

    /// A recovery step is over: say so, then tell the machine.
    pub(super) fn step_over(&mut self, step: StepId, end: StepEnd) {
        let StepEnd {
            state,
            detail,
            leftovers,
            gone,
        } = end;
        self.report(step, state, detail);
        for fault in gone {
            self.fault_gone(fault);
        }
        if !leftovers.is_empty() {
            self.ledger.emit(Body::MayRemain(leftovers.clone()));
        }
        self.feed(Input::StepOver(StepResult {
            step,
            state,
            leftovers,
        }));
    }

    /// Says how a step of recovery stands, and how long it has taken.
    pub(super) fn report(&mut self, step: StepId, state: StepState, detail: String) {
        let now = self.clock.now();
        let began = self.steps_began.get(&step);
        let took = began.map_or(Span::ZERO, |began| now.since(*began));
        self.ledger.emit(Body::Recovery(StepReport {
            step,
            state,
            detail,
            took,
        }));
    }

    fn run_command(&mut self, index: usize, needed: bool) {
        let scene = self.scene();
        let done = self.done.clone();
        self.spawn(async move {
            let end = match scene.plan.drill.recovery.commands.get(index) {
                Some(command) if needed || command.check.is_some() => {
                    let work = recovery::command(&scene, command);
                    or_if_it_panics(work, || defect(command.after)).await
                }
                _ => nothing(),
            };
            let _ = done.send(Done::Command { index, end });
        });
    }

    fn assess(&mut self) {
        let scene = self.scene();
        let done = self.done.clone();
        self.spawn(async move {
            let unknown = || Repair {
                unknown: vec![DEFECT.to_owned()],
                ..Repair::default()
            };
            let repair = or_if_it_panics(recovery::needs_repair(&scene), unknown).await;
            let _ = done.send(Done::Assessed(repair));
        });
    }

    /// The last read. What it finds is put back once more, by the step whose matter it is, and read again: an instance
    /// that was down may be up by now, a service may have set its flag again.
    fn read_everything(&mut self) {
        let (scene, intents, done) = (self.scene(), self.intents(), self.done.clone());
        let unknown = self.unknown.clone();
        self.spawn(async move {
            let work = last_read(&scene, &intents, &done);
            let (mut found, repaired) =
                or_if_it_panics(work, || (defect(StepId::Verify).leftovers, false)).await;
            found.extend(unknown);
            let _ = done.send(Done::FinalRead { found, repaired });
        });
    }

    /// A step was carried out once more while verifying.
    pub(super) fn again(&mut self, step: StepId, end: StepEnd) {
        let StepEnd {
            state, detail, gone, ..
        } = end;
        self.report(step, state, detail);
        for fault in gone {
            self.fault_gone(fault);
        }
    }

    /// Tells those who are to be told, beside everything else: a hook that hangs delays no recovery.
    fn notify(&mut self, left: &[Leftover]) {
        let plan = self.plan.clone();
        let remains = !left.is_empty();
        let left: Vec<&str> = left.iter().map(|l| l.what.as_str()).collect();
        let what = self
            .machine
            .cause()
            .map(|c| c.describe(Lang::En))
            .unwrap_or_default();
        for hook in plan.environment.notify.clone() {
            let (drivers, done) = (self.drivers.clone(), self.done.clone());
            let message = serde_json::json!({
                "event": if remains { "something may remain" } else { "aborted" },
                "run": plan.run,
                "drill": plan.drill.name,
                "environment": plan.environment.name,
                "cause": what,
                "faults": if self.machine.fault_may_be_live() { "not all seen to be gone" } else { "gone" },
                "may_remain": left,
            });
            self.notices.spawn(async move {
                let error = drivers.tell(&hook, &message).await.err().map(|e| e.to_string());
                let _ = done.send(Done::Notified {
                    whom: webhook::host(&hook),
                    error,
                });
            });
        }
    }

    async fn close(&mut self, outcome: Outcome) {
        // The last word must be on the disk before the process that has it ends.
        if let Err(error) = self.ledger.emit_durably(Body::Closed(outcome.clone())).await {
            tracing::error!(%error, state = Phase::Closed.word(Lang::En), "the last record is not durable");
        }
        self.ended = Some(outcome);
    }
}

/// Reads everything; what is found is put back once more and read again. Gives what is left, and whether it did so.
async fn last_read(
    scene: &Scene,
    intents: &[FaultIntent],
    done: &UnboundedSender<Done>,
) -> (Vec<Leftover>, bool) {
    let mut found = recovery::left_behind(scene).await;
    let mut again: Vec<StepId> = found.iter().map(|l| l.step).collect();
    // A fault that was never read back as gone may land still: one look that finds nothing proves nothing.
    again.extend((!intents.is_empty()).then_some(StepId::Faults));
    again.sort_unstable();
    again.dedup();
    for step in &again {
        if let Some(end) = carry_out_step(scene, *step, intents).await {
            let _ = done.send(Done::Again { step: *step, end });
        }
    }
    if !again.is_empty() {
        found = recovery::left_behind(scene).await;
    }
    (found, !again.is_empty())
}

const DEFECT: &str = "a defect of allclear itself: this step panicked";

/// A step that panicked has not said what it did: nobody may take it for done, and nobody waits for it for ever.
async fn or_if_it_panics<T>(work: impl Future<Output = T>, instead: impl FnOnce() -> T) -> T {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| instead())
}

fn defect(step: StepId) -> StepEnd {
    StepEnd {
        state: StepState::Failed,
        detail: DEFECT.to_owned(),
        leftovers: vec![Leftover {
            step,
            what: format!("whatever step {step:?} puts back"),
            why: DEFECT.to_owned(),
            by_hand: None,
            certainty: Certainty::Unknown,
        }],
        gone: Vec::new(),
    }
}

/// Carries out a step of recovery; `None` for the one that is no executor's.
async fn carry_out_step(scene: &Scene, step: StepId, intents: &[FaultIntent]) -> Option<StepEnd> {
    Some(match step {
        StepId::Faults => recovery::faults(scene, intents).await,
        StepId::Injector => recovery::injector(scene).await,
        StepId::Drain => recovery::drain(scene, true).await,
        StepId::Breakers => recovery::breakers_open(scene).await,
        StepId::Flags => recovery::flags(scene).await,
        StepId::Retry => recovery::hold_retry(scene).await,
        StepId::Pools => recovery::pools(scene).await,
        StepId::Traffic => recovery::traffic(scene).await,
        StepId::Release => recovery::release_retry(scene).await,
        StepId::Verify => return None,
    })
}

fn nothing() -> StepEnd {
    StepEnd {
        state: StepState::Nothing,
        detail: "read, and found as it was".into(),
        leftovers: Vec::new(),
        gone: Vec::new(),
    }
}

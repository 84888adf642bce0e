//! Carrying out recovery: its steps beside the engine, what they leave, and the last read.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::sync::mpsc::UnboundedSender;

use super::{
    Done, Engine,
    recovery::{self, Repair, Scene, StepEnd},
};
use crate::{
    drill::Input,
    model::{
        event::Body,
        recovery::{Certainty, Leftover, StepId, StepReport, StepState},
        said::{Said, said},
        text::{Lang, Word},
        time::Span,
        undo::FaultIntent,
    },
};

impl Engine {
    pub(super) fn recover(&mut self, step: StepId, needed: bool) {
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
            let silent = recovery::left_silent(&intents, &end);
            // The engine outlives its tasks.
            let _ = done.send(Done::Step { step, end });
            if step == StepId::Faults {
                let tell = |end| drop(done.send(Done::Step { step, end }));
                recovery::try_on(&scene, silent, tell).await;
            }
        });
    }

    /// A recovery step is over, for the first time or once more: say so, then tell the machine.
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
        self.may_remain(step, leftovers);
        self.feed(Input::StepOver(step));
    }

    /// A step waits only for targets that do not answer: what it could not read back is a leftover until it is.
    pub(super) fn go_on(&mut self, step: StepId, so_far: StepEnd) {
        self.report(step, so_far.state, so_far.detail);
        for fault in so_far.gone {
            self.fault_gone(fault);
        }
        self.may_remain(step, so_far.leftovers);
        self.feed(Input::GoOn(step));
    }

    /// Tells what may remain, of all steps, when a step's part of it changes.
    pub(super) fn may_remain(&mut self, step: StepId, leftovers: Vec<Leftover>) {
        let before = if leftovers.is_empty() {
            self.left.remove(&step)
        } else {
            self.left.insert(step, leftovers.clone())
        };
        if before.unwrap_or_default() != leftovers {
            let all = self.left.values().flatten().cloned().collect();
            self.ledger.emit(Body::MayRemain(all));
        }
    }

    /// Says how a step of recovery stands, and how long it has taken.
    pub(super) fn report(&mut self, step: StepId, state: StepState, detail: Said) {
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

    pub(super) fn run_command(&mut self, index: usize, needed: bool) {
        let scene = self.scene();
        let done = self.done.clone();
        // What a keeper before this one has put back is no longer needed; whether its commands ran is not known.
        let needed = needed || self.repaired_before;
        self.spawn(async move {
            let end = match scene.plan.drill.recovery.commands.get(index) {
                Some(command) if needed || command.has_check() => {
                    let work = recovery::command(&scene, command);
                    or_if_it_panics(work, || defect(command.after)).await
                }
                _ => nothing(),
            };
            let _ = done.send(Done::Command { index, end });
        });
    }

    pub(super) fn assess(&mut self) {
        let scene = self.scene();
        let done = self.done.clone();
        self.spawn(async move {
            let unknown = || Repair {
                unknown: vec![panicked().en().to_owned()],
                ..Repair::default()
            };
            let repair = or_if_it_panics(recovery::needs_repair(&scene), unknown).await;
            let _ = done.send(Done::Assessed(repair));
        });
    }

    /// The last read. What it finds is put back once more, by the step whose matter it is, and read again: an instance
    /// that was down may be up by now, a service may have set its flag again.
    pub(super) fn read_everything(&mut self) {
        let (scene, intents, done) = (self.scene(), self.intents(), self.done.clone());
        let unknown = self.unknown.clone();
        self.spawn(async move {
            let work = last_read(&scene, &intents, &done);
            let (mut found, repaired) =
                or_if_it_panics(work, || (defect(StepId::Injector).leftovers, false)).await;
            found.extend(unknown);
            let _ = done.send(Done::FinalRead { found, repaired });
        });
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
    // A pool is only looked at: with traffic back nothing is taken out or restarted for it any more.
    again.retain(|step| *step != StepId::Pools);
    again.sort_unstable();
    again.dedup();
    let mut may_land = Vec::new();
    for step in &again {
        if let Some(end) = carry_out_step(scene, *step, intents).await {
            if *step == StepId::Faults {
                may_land.clone_from(&end.leftovers);
                may_land.retain(|l| l.certainty == Certainty::Unknown);
            }
            let _ = done.send(Done::Step { step: *step, end });
        }
    }
    if !again.is_empty() {
        found = recovery::left_behind(scene).await;
        // A look that finds no fault is no proof where its own step could not say so.
        if !found
            .iter()
            .any(|l| matches!(l.step, StepId::Faults | StepId::Injector))
        {
            found.append(&mut may_land);
        }
    }
    (found, !again.is_empty())
}

fn panicked() -> Said {
    said!(
        "a defect of allclear itself: this step panicked",
        "allclear 自身缺陷：此步崩溃"
    )
}

/// A step that panicked has not said what it did: nobody may take it for done, and nobody waits for it for ever.
async fn or_if_it_panics<T>(work: impl Future<Output = T>, instead: impl FnOnce() -> T) -> T {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| instead())
}

fn defect(step: StepId) -> StepEnd {
    let what = said!(
        name = Said::new(step.word(Lang::En), step.word(Lang::Zh));
        "whatever the step '{name}' puts back",
        "步骤“{name}”应还原的一切"
    );
    StepEnd {
        state: StepState::Failed,
        detail: panicked(),
        leftovers: vec![Leftover::unknown(step, what, panicked(), None)],
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
        detail: said!("read, and found as it was", "已读取，与演练前一致"),
        leftovers: Vec::new(),
        gone: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_step_that_panics_has_done_nothing_that_anybody_knows() {
        async fn broken() -> StepEnd {
            panic!("a defect")
        }
        let end = or_if_it_panics(broken(), || defect(StepId::Flags)).await;
        let left = &end.leftovers[0];
        assert_eq!(end.state, StepState::Failed);
        assert_eq!((left.step, left.certainty), (StepId::Flags, Certainty::Unknown));
    }
}

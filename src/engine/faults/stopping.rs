//! Stopping faults: at once, and read back.

use crate::{
    drill::Input,
    engine::{
        Done, Engine,
        recovery::{self, StepEnd},
    },
    model::{ids::FaultId, phase::Cause, recovery::StepState, said::said, undo::FaultIntent},
};

impl Engine {
    /// The intents of every fault that was not read back as gone.
    pub(in crate::engine) fn intents(&self) -> Vec<FaultIntent> {
        self.faults
            .values()
            .filter(|t| t.gone.is_none())
            .map(|t| t.intent.clone())
            .collect()
    }

    /// A step is over: its faults end now, whatever else goes on.
    pub(in crate::engine) fn stop_step(&mut self, index: usize) {
        let name = &self.plan.drill.steps[index].name;
        let intents: Vec<_> = self
            .faults
            .values()
            .filter(|t| t.gone.is_none() && &t.intent.step == name)
            .map(|t| t.intent.clone())
            .collect();
        let (scene, done) = (self.scene(), self.done.clone());
        self.spawn(async move {
            let end = recovery::end_faults(&scene, &intents).await;
            let _ = done.send(Done::Stopped { step: index, end });
        });
    }

    pub(in crate::engine) fn stopped(&mut self, index: usize, end: StepEnd) {
        for fault in end.gone {
            self.fault_gone(fault);
        }
        if end.state == StepState::Failed {
            let name = &self.plan.drill.steps[index].name;
            let what = said!(
                detail = end.detail;
                "{name}: its fault could not be stopped: {detail}",
                "{name}：其故障未能停止：{detail}"
            );
            self.feed(Input::Recover(Cause::InjectFailed { what }));
        }
    }

    pub(in crate::engine) fn fault_gone(&mut self, fault: FaultId) {
        let now = self.clock.now();
        if let Some(track) = self.faults.get_mut(&fault) {
            track.gone.get_or_insert(now);
        }
        self.feed(Input::FaultGone(fault));
    }
}

//! Carries out what the machine wants done, and hands back what came of it.

use super::{Done, Engine};
use crate::{
    drill::Effect,
    drivers::webhook,
    model::{
        event::{Body, Period},
        phase::Phase,
        recovery::{Leftover, Milestone},
        text::Lang,
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
                Effect::ReadAgain { look } => self.read_again(look),
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
                // The loop says the last word, and beats until it is on the disk.
                Effect::Close(outcome) => self.ended = Some(outcome),
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

    /// Tells those who are to be told, beside everything else: a hook that hangs delays no recovery.
    fn notify(&mut self, left: &[Leftover]) {
        let plan = self.plan.clone();
        let remains = !left.is_empty();
        let left_in = |lang| -> Vec<&str> { left.iter().map(|l| l.what.get(lang)).collect() };
        let (left_en, left_zh) = (left_in(Lang::En), left_in(Lang::Zh));
        let cause_in = |lang| self.machine.cause().map(|c| c.describe(lang)).unwrap_or_default();
        let (cause_en, cause_zh) = (cause_in(Lang::En), cause_in(Lang::Zh));
        for hook in plan.environment.notify.clone() {
            let (drivers, done) = (self.drivers.clone(), self.done.clone());
            let message = serde_json::json!({
                "event": if remains { "something may remain" } else { "aborted" },
                "run": plan.run,
                "drill": plan.drill.name,
                "environment": plan.environment.name,
                "cause": cause_en,
                "cause_zh": cause_zh,
                "faults": if self.machine.fault_may_be_live() { "not all seen to be gone" } else { "gone" },
                "may_remain": left_en,
                "may_remain_zh": left_zh,
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
}

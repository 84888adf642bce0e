//! The engine's loop: asks first, then its clock, then what has come back.

use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use super::{Done, Engine, TICK, setup::Ask, sleep::slept};
use crate::{
    drill::Input,
    journal::JournalError,
    model::{
        event::{Body, Outcome},
        phase::{Cause, Phase},
        said::{Said, said},
    },
};

/// How long the end of a run waits for messages to people.
const LAST_NOTICES: std::time::Duration = std::time::Duration::from_secs(3);

impl Engine {
    pub(super) async fn go(
        mut self,
        mut asks: mpsc::UnboundedReceiver<Ask>,
        mut results: mpsc::UnboundedReceiver<Done>,
        mut heartbeat: Box<dyn FnMut() + Send>,
    ) -> Outcome {
        let mut tick = interval(TICK.into());
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if let Some(outcome) = self.ended.take() {
                // Whoever is to be told may take a moment; the deadman gives this process five seconds.
                let told = async { while self.notices.join_next().await.is_some() {} };
                let _ = tokio::time::timeout(LAST_NOTICES, told).await;
                self.tasks.shutdown().await;
                return outcome;
            }
            tokio::select! {
                biased;
                Some(ask) = asks.recv() => self.asked(ask),
                // Before results: a flood of them must not look like a keeper that hangs.
                _ = tick.tick() => {
                    heartbeat();
                    self.tick();
                }
                Some(done) = results.recv() => self.handle(done).await,
            }
            self.carry_out().await;
        }
    }

    fn asked(&mut self, ask: Ask) {
        match ask {
            Ask::Recover(cause) => self.feed(Input::Recover(cause)),
            Ask::Extend(by) => self.feed(Input::Extend(by)),
            Ask::Note { by, text } => self.ledger.emit(Body::Note { by, text }),
            Ask::Watching(consoles) => self.ledger.emit(Body::Watching { consoles }),
            Ask::DeadmanReady { pid } => {
                self.ledger.emit(Body::DeadmanReady { pid });
                self.feed(Input::DeadmanReady);
            }
            Ask::DeadmanLost { pid } => {
                self.ledger.emit(Body::DeadmanLost { pid });
                self.feed(Input::DeadmanLost);
            }
        }
    }

    pub(super) fn tick(&mut self) {
        let now = self.clock.now();
        let slept = slept(self.last_tick, now);
        self.last_tick = now;
        if let Some(gap) = slept {
            self.feed(Input::Slept);
            if self.machine.fault_may_be_live() {
                self.feed(Input::Recover(Cause::Slept { ms: gap.0 }));
            }
        }
        self.reap();
        if let Some(error) = self.ledger.failure() {
            if matches!(
                error,
                JournalError::TooLong { .. } | JournalError::NotReadable { .. }
            ) {
                // The journal itself is well: it can say what it lacks, and nobody has to miss it in vain.
                self.ledger.emit(Body::Warning(error.said()));
            }
            self.journal_failed(&error.said());
        }
        self.guard(now);
        self.poll_hits(now);
        self.finish_groups(now);
        if matches!(self.machine.phase(), Phase::Recovering | Phase::Verifying) {
            self.settle();
        }
        self.feed(Input::Tick);
    }

    /// No new fault without a journal; what is live is put back, from memory.
    fn journal_failed(&mut self, what: &Said) {
        match self.machine.phase() {
            Phase::Preflight | Phase::Baseline => {
                let why = said!(what; "the journal cannot be written: {what}", "日志无法写入：{what}");
                self.feed(Input::Unfit { why });
            }
            Phase::Armed | Phase::Running => {
                self.feed(Input::Recover(Cause::Journal { what: what.clone() }));
            }
            // What is being put back is put back from memory.
            Phase::Recovering | Phase::Verifying | Phase::Closed => {}
        }
    }

    /// Lets go of what has ended. Something that panicked is a defect of ours, and is told.
    fn reap(&mut self) {
        while let Some(ended) = self.tasks.try_join_next() {
            if let Err(error) = ended
                && error.is_panic()
            {
                let what = said!("a defect of allclear: {error}", "allclear 自身缺陷：{error}");
                self.ledger.emit(Body::Warning(what));
            }
        }
    }
}

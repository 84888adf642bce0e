//! The engine's loop: asks first, then its clock, then what has come back.

use std::time::Duration;

use tokio::{
    sync::mpsc,
    time::{Interval, MissedTickBehavior, interval, timeout},
};

use super::{
    Done, Engine, TICK,
    setup::{Ask, Ended},
    sleep::slept,
};
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
const LAST_NOTICES: Duration = Duration::from_secs(3);

/// How long the last word is tried to be brought to the disk.
const LAST_WORD: Duration = Duration::from_secs(5);

/// Under which name it is remembered that this was said: once is enough, however many records fail.
const NOT_RECORDED: &str = "not recorded";

impl Engine {
    pub(super) async fn go(
        mut self,
        mut asks: mpsc::UnboundedReceiver<Ask>,
        mut results: mpsc::UnboundedReceiver<Done>,
        mut heartbeat: Box<dyn FnMut() + Send>,
    ) -> Ended {
        let mut tick = interval(TICK.into());
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if let Some(outcome) = self.ended.take() {
                return self.end(outcome, tick, heartbeat).await;
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

    /// The last word must be on the disk before the process that has it ends, and whoever is to be told may take a moment: the
    /// heart beats meanwhile.
    async fn end(
        mut self,
        outcome: Outcome,
        mut tick: Interval,
        mut heartbeat: Box<dyn FnMut() + Send>,
    ) -> Ended {
        let last_word = self.ledger.emit_last(Body::Closed(outcome.clone()), LAST_WORD);
        let notices = &mut self.notices;
        let told = async move { while notices.join_next().await.is_some() {} };
        let last = async { tokio::join!(last_word, timeout(LAST_NOTICES, told)).0 };
        let recorded = beating(last, &mut tick, &mut heartbeat).await;
        if let Err(error) = &recorded {
            tracing::error!(%error, "the last record is not durable: the run stays open, and keeps its environment");
            self.not_recorded(&error.said());
        }
        // What would renew the lease ends before it is given back.
        self.tasks.shutdown().await;
        if recorded.is_ok() {
            beating(self.give_lease_back(), &mut tick, &mut heartbeat).await;
        }
        Ended {
            outcome,
            recorded: recorded.is_ok(),
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
            self.journal_failed(&error);
        }
        self.guard(now);
        self.guard_lease(now);
        self.poll_hits(now);
        self.finish_groups(now);
        if matches!(self.machine.phase(), Phase::Recovering | Phase::Verifying) {
            self.settle();
        }
        self.feed(Input::Tick);
    }

    /// No new fault without a journal; what is live is put back, from memory.
    fn journal_failed(&mut self, error: &JournalError) {
        let what = error.said();
        let lacks_one = matches!(
            error,
            JournalError::TooLong { .. } | JournalError::NotReadable { .. }
        );
        if lacks_one {
            // The journal itself is well: it can say what it lacks, and nobody has to miss it in vain.
            self.ledger.emit(Body::Warning(what.clone()));
        }
        match self.machine.phase() {
            Phase::Preflight | Phase::Baseline => {
                let why = said!(what; "the journal cannot be written: {what}", "日志无法写入：{what}");
                self.feed(Input::Unfit { why });
            }
            Phase::Armed | Phase::Running => {
                self.feed(Input::Recover(Cause::Journal { what }));
            }
            // What is being put back is put back from memory.
            Phase::Recovering | Phase::Verifying | Phase::Closed if lacks_one => {}
            Phase::Recovering | Phase::Verifying | Phase::Closed => self.not_recorded(&what),
        }
    }

    /// Says to whoever looks that the disk does not have what they see: the next keeper, or `show`, would not know of it.
    fn not_recorded(&mut self, what: &Said) {
        if self.warned.insert(NOT_RECORDED.to_owned()) {
            self.ledger.emit(Body::Warning(said!(
                what;
                "the record of this recovery is not safe on the disk: {what}",
                "本次恢复的记录未能可靠写入磁盘：{what}"
            )));
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

/// Waits for the last things of a run with a heart that beats.
async fn beating<T>(
    last: impl Future<Output = T>,
    tick: &mut Interval,
    heartbeat: &mut Box<dyn FnMut() + Send>,
) -> T {
    tokio::pin!(last);
    loop {
        tokio::select! {
            biased;
            done = &mut last => return done,
            _ = tick.tick() => heartbeat(),
        }
    }
}

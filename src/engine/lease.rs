//! The environment's lease while a run goes on: renewed beside the engine, and given back when the run is over. It
//! keeps a second run from beginning, and this one from going on beside a second; whatever is being put back is put
//! back with it or without.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::{Done, Engine};
use crate::{
    drill::{
        Input,
        tenure::{Look, Lost, Tenure},
    },
    drivers::{error::DriverError, lease::Hold},
    model::{
        event::Body,
        lease::LASTS,
        phase::{Cause, Phase},
        said::{Said, said},
        time::{Moment, Span},
    },
};

/// How often it is renewed.
const EVERY: Duration = Duration::from_secs(10);

/// How soon it is tried again where that failed.
const AGAIN: Duration = Duration::from_secs(2);

/// How long the end of a run waits for it to be given back.
const GIVING_BACK: Span = Span::seconds(3);

impl Engine {
    /// Renews it until the run is over.
    pub(super) fn keep_lease(&mut self) {
        let lease = match self.drivers.lease() {
            Ok(Some(lease)) => lease,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "the lease is not renewed");
                return;
            }
        };
        let (done, clock) = (self.done.clone(), self.clock);
        self.spawn(async move {
            loop {
                let asked = clock.now();
                let hold = lease.hold().await;
                let pause = if hold.is_ok() { EVERY } else { AGAIN };
                if done.send(Done::Lease { asked, hold }).is_err() {
                    return;
                }
                sleep(pause).await;
            }
        });
    }

    /// Preflight has taken it.
    pub(super) fn lease_taken(&mut self, asked: Moment) {
        self.tenure = Some(Tenure::since(asked));
    }

    /// What became of renewing it. While everything is put back that is only noted.
    pub(super) fn lease_looked_at(&mut self, asked: Moment, hold: Result<Hold, DriverError>) {
        let matters = matches!(
            self.machine.phase(),
            Phase::Preflight | Phase::Baseline | Phase::Armed | Phase::Running
        );
        let Some(tenure) = self.tenure.as_mut().filter(|_| matters) else {
            match hold {
                Ok(Hold::Renewed) => {}
                Ok(hold) => tracing::warn!(?hold, "the lease while everything is put back"),
                Err(error) => tracing::warn!(%error, "the lease is not renewed"),
            }
            return;
        };
        let look = match hold {
            Ok(Hold::Renewed) => Look::Renewed,
            Ok(Hold::Taken) => Look::TakenAgain,
            Ok(Hold::Other(held)) => Look::Other(held),
            Err(error) => Look::Failed(error.said()),
        };
        if let Some(told) = tenure.look(asked, look) {
            self.ledger.emit(Body::Warning(told));
        }
        self.guard_lease(self.clock.now());
    }

    /// Where another run is on the environment, or may be, nothing is broken and nothing stays broken.
    pub(super) fn guard_lease(&mut self, now: Moment) {
        let Some(lost) = self.tenure.as_ref().and_then(|tenure| tenure.lost(now)) else {
            return;
        };
        match (self.machine.phase(), lost) {
            (Phase::Preflight | Phase::Baseline, Lost::ToAnother(who)) => {
                let why = said!(who; "the environment's lease is {who}", "环境租约{who}");
                self.feed(Input::Unfit { why });
            }
            // It may be back when the baseline is over: until then nothing is armed.
            (Phase::Preflight | Phase::Baseline, Lost::Ended(_)) => {}
            (Phase::Armed | Phase::Running, Lost::ToAnother(what) | Lost::Ended(what)) => {
                self.feed(Input::Recover(Cause::Lease { what }));
            }
            (Phase::Recovering | Phase::Verifying | Phase::Closed, _) => {}
        }
    }

    /// Why nothing may be armed, if the lease is why.
    pub(super) fn lease_forbids(&self) -> Option<Said> {
        let lost = self.tenure.as_ref()?.lost(self.clock.now())?;
        let (Lost::ToAnother(why) | Lost::Ended(why)) = lost;
        Some(said!(why; "the environment's lease: {why}", "环境租约：{why}"))
    }

    /// Gives it back if it may be this run's, and says why it could not be. Nobody renews it any more.
    pub(super) async fn give_lease_back(&mut self) {
        let lease = match self.drivers.lease() {
            Ok(Some(lease)) if lease.may_be_ours() => lease,
            _ => return,
        };
        let why = match timeout(GIVING_BACK.into(), lease.give_back()).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.said(),
            Err(_) => said!("no answer within {GIVING_BACK}", "{GIVING_BACK} 内无应答"),
        };
        tracing::warn!(why = why.en(), "the lease is not given back");
        let told = said!(
            why;
            "the environment's lease could not be given back, and ends by itself in {LASTS}: {why}",
            "环境租约未能归还，{LASTS} 后自行到期：{why}"
        );
        // The run is over and on the disk: a warning that does not last as well takes nothing from it.
        let _ = self.ledger.emit_durably(Body::Warning(told)).await;
    }
}

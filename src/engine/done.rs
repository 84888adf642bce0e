//! What runs beside the engine reports back, and what the engine makes of it.

use std::collections::BTreeSet;

use tokio::sync::oneshot;

use super::{
    Engine, preflight,
    recovery::{Again, Repair, StepEnd},
};
use crate::{
    drill::Input,
    drivers::{error::DriverError, lease::Hold, point::RuleSeen},
    metrics::Fetch,
    model::{
        event::{BaselineRow, Body, Check, Hits},
        ids::FaultId,
        phase::Phase,
        recovery::{Leftover, StepId, StepState},
        said::Said,
        sample::Peer,
        sheet::{Moved, RowState},
        snapshot::BaselineLevels,
        time::{Moment, Span},
        undo::ChangeIntent,
    },
};

/// What something that ran beside the engine has to say.
pub(super) enum Done {
    Check(Check),
    Preflight(Box<preflight::Found>),
    ReadAgain {
        look: u32,
        again: Box<Again>,
    },
    Fetched(Box<Fetch>),
    Tripped {
        meter: usize,
        fetch: Box<Fetch>,
    },
    Hits {
        base: String,
        asked: Moment,
        rules: Result<Vec<RuleSeen>, String>,
    },
    Peers(BTreeSet<Peer>),
    Lease {
        asked: Moment,
        hold: Result<Hold, DriverError>,
    },
    LoadHits {
        fault: FaultId,
        hits: Hits,
    },
    Injected {
        fault: FaultId,
        result: Result<Option<Span>, DriverError>,
    },
    Stopped {
        step: usize,
        end: StepEnd,
    },
    Step {
        step: StepId,
        end: StepEnd,
    },
    GoOn {
        step: StepId,
        so_far: StepEnd,
    },
    Command {
        index: usize,
        end: StepEnd,
    },
    Assessed(Repair),
    FinalRead {
        found: Vec<Leftover>,
        repaired: bool,
    },
    Intended {
        change: ChangeIntent,
        written: oneshot::Sender<()>,
    },
    Progress {
        step: StepId,
        state: StepState,
        detail: Said,
    },
    Notified {
        whom: String,
        error: Option<String>,
    },
    Judged {
        group: usize,
        rows: Vec<RowState>,
        last: bool,
    },
    Moved(Vec<Moved>),
    Baseline {
        rows: Vec<(BaselineRow, Option<Said>)>,
        levels: Option<BaselineLevels>,
    },
}

impl Engine {
    /// Takes what something that ran beside has to say.
    pub(super) async fn handle(&mut self, done: Done) {
        match done {
            Done::Check(check) => self.ledger.emit(Body::Check(check)),
            Done::Preflight(found) => self.preflighted(*found).await,
            Done::ReadAgain { look, again } => self.was_read_again(look, *again).await,
            Done::Fetched(fetch) => self.fetched(*fetch),
            Done::Tripped { meter, fetch } => self.tripped(meter, *fetch),
            Done::Hits { base, asked, rules } => match rules {
                Ok(rules) => self.rules(&base, asked, &rules),
                Err(error) => tracing::debug!(%base, %error, "counters not read"),
            },
            Done::Peers(peers) => self.peers(peers),
            Done::Lease { asked, hold } => self.lease_looked_at(asked, hold),
            Done::LoadHits { fault, hits } => self.hits(fault, hits),
            Done::Injected { fault, result } => self.injected(fault, result),
            Done::Stopped { step, end } => self.stopped(step, end),
            Done::Step { step, end } => self.step_over(step, end),
            Done::GoOn { step, so_far } => self.go_on(step, so_far),
            Done::Command { index, end } => self.feed(Input::CommandOver(index, end.leftovers)),
            Done::Assessed(repair) => self.assessed(repair),
            Done::FinalRead { found, repaired } => self.feed(Input::FinalRead { found, repaired }),
            Done::Intended { change, written } => self.intended(change, written),
            Done::Progress { step, state, detail } => self.progress(step, state, detail),
            Done::Judged { group, rows, last } => self.judged(group, rows, last),
            Done::Moved(moved) => self.ledger.emit(Body::Moved(moved)),
            Done::Baseline { rows, levels } => self.baseline_judged(rows, levels),
            Done::Notified { whom, error } => self.ledger.emit(Body::Notified { whom, error }),
        }
    }

    /// Whether anything has to be put back: what could not be read counts as that.
    fn assessed(&mut self, repair: Repair) {
        let needed = repair.is_needed();
        self.feed(Input::Assessed { needed });
    }

    /// A change by recovery itself: written down before it is made. With a broken journal recovery goes on.
    /// The engine does not wait for the disk here: a thousand breakers would keep it from its heartbeat.
    fn intended(&mut self, change: ChangeIntent, written: oneshot::Sender<()>) {
        let durable = self.ledger.emit_pending(Body::ChangeIntended(change));
        self.spawn(async move {
            if let Err(error) = durable.await {
                tracing::error!(%error, "a change of recovery is not in the journal");
            }
            let _ = written.send(());
        });
    }

    /// How far a recovery step is. A step of the drill that ends its fault uses the same code, and is none.
    fn progress(&mut self, step: StepId, state: StepState, detail: Said) {
        if matches!(self.machine.phase(), Phase::Recovering | Phase::Verifying) {
            self.report(step, state, detail);
        }
    }
}

//! The executors of recovery's steps. Each reads first, does only the difference from the snapshot, within its own
//! time, and reads back: what was not seen to be as before is never called done.
//!
//! The leftovers of a step say what it could not finish, at that moment. [`left_behind`] reads everything again; what
//! it says at the end replaces them for all that it can see: rules, weights, breakers, flags, retry queues.

mod breakers;
mod by_hand;
mod commands;
mod doubts;
mod faults;
mod flags;
mod gateway;
mod left;
mod pods;
mod pools;
mod queues;
mod repair;
mod restore;
mod snapshot;
#[cfg(test)]
mod tests;

use std::{future::Future, sync::Arc};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use tokio::time::Instant;

use crate::{
    drivers::{Drivers, error::DriverError},
    model::{
        ids::{FaultId, InstanceName},
        plan::Plan,
        playbook::SentinelRules,
        recovery::{Leftover, StepId, StepState},
        said::{Said, said},
        sample::{Query, Reading},
        snapshot::Snapshot,
        time::Span,
        undo::ChangeIntent,
    },
};

pub use breakers::steps::breakers_open;
pub use commands::command;
pub(super) use doubts::in_doubt;
pub use faults::{end_faults, faults, injector::injector, left_silent, try_on};
pub use flags::flags;
pub use gateway::{drain, traffic};
pub use left::left_behind;
pub use pools::pools;
pub(super) use pools::restart::restart_by_hand;
pub use queues::{hold_retry, release_retry};
pub use repair::{Repair, needs_repair};
pub use restore::{Change, Restoring, read_restoring, unproved};
pub use snapshot::{Again, read_again, read_snapshot, read_snapshot_telling};

/// Instances that are talked to at the same time. Each holds a socket meanwhile; where the system gives fewer, those
/// that got none try again.
const TOGETHER: usize = 1024;

/// Instances that preflight asks at the same time.
const GENTLY: usize = 32;

/// What every step works with.
#[derive(Clone)]
pub struct Scene {
    /// The run's plan.
    pub plan: Arc<Plan>,
    /// The clients.
    pub drivers: Arc<Drivers>,
    /// What was there before the drill.
    pub snapshot: Arc<Snapshot>,
    /// The keeper.
    pub bus: Arc<dyn Bus>,
}

/// What a step asks of the keeper.
pub trait Bus: Send + Sync {
    /// Writes a change down before it is made; resolves when that is durable. Never fails: with a broken journal
    /// recovery goes on, and what that means is the keeper's matter.
    fn intend(&self, change: ChangeIntent) -> BoxFuture<'_, ()>;
    /// Tells how far a step is.
    fn progress(&self, step: StepId, state: StepState, detail: Said);
    /// A step waits only for targets that do not answer: later steps may begin. Tells how it stands so far.
    fn go_on(&self, step: StepId, so_far: StepEnd);
    /// The newest sample of a query.
    fn reading(&self, query: &Query) -> Option<Reading>;
    /// A guard hypothesis that is bad now, if one is.
    fn bad_guard(&self) -> Option<Said>;
    /// Whether a restart of the instance was already intended in this run, by whatever keeper.
    fn restarted(&self, instance: &InstanceName) -> bool;
    /// Whether a list of rules was set in this run, by whatever keeper, and no set of it was answered with success since.
    fn rules_unproved(&self, _instance: &InstanceName, _rules: SentinelRules) -> bool {
        false
    }
    /// A set of the list was answered with success.
    fn rules_proved(&self, _instance: &InstanceName, _rules: SentinelRules) {}
    /// Whether the step has given this pool up, and it was not seen idle since.
    fn is_stuck(&self, _pool: &Query) -> bool {
        false
    }
    /// The pool was given up, or seen idle.
    fn stuck(&self, _pool: &Query, _stuck: bool) {}
    /// Whether the creation of the fault was answered, well or not. One without an answer may still land, so that its
    /// absence is believed only after a while.
    fn answered(&self, _fault: &FaultId) -> bool {
        false
    }
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEnd {
    /// Done, nothing, held, absent or failed.
    pub state: StepState,
    /// What was done, in one line.
    pub detail: Said,
    /// What could not be finished.
    pub leftovers: Vec<Leftover>,
    /// Faults that were read back as gone.
    pub gone: Vec<FaultId>,
}

impl StepEnd {
    fn new(state: StepState, detail: Said) -> Self {
        Self {
            state,
            detail,
            leftovers: Vec::new(),
            gone: Vec::new(),
        }
    }

    fn absent() -> Self {
        Self::new(StepState::Absent, said!("not in the playbook", "预案中没有此步"))
    }

    /// Failed, with what is not known because of it.
    fn failed(error: &DriverError, left: Leftover) -> Self {
        Self::of(StepState::Failed, error.said(), vec![left])
    }

    /// `well` if nothing is left over, else failed.
    fn of(well: StepState, detail: Said, leftovers: Vec<Leftover>) -> Self {
        let state = if leftovers.is_empty() {
            well
        } else {
            StepState::Failed
        };
        Self {
            state,
            detail,
            leftovers,
            gone: Vec::new(),
        }
    }

    /// Two parts of one step: the worse state, both details.
    fn and(mut self, other: StepEnd) -> Self {
        let worst = |state: StepState| match state {
            StepState::Failed => 4,
            StepState::Held => 3,
            StepState::Done => 2,
            StepState::Nothing => 1,
            _ => 0,
        };
        match (self.state, other.state) {
            (_, StepState::Absent) => return self,
            (StepState::Absent, _) => return other,
            (mine, theirs) if worst(theirs) > worst(mine) => self.state = theirs,
            _ => {}
        }
        self.detail = self.detail.and(&other.detail);
        self.leftovers.extend(other.leftovers);
        self.gone.extend(other.gone);
        self
    }
}

impl Scene {
    fn deadline(&self) -> Instant {
        Instant::now() + self.drivers.patience().step.into()
    }

    async fn pause(&self) {
        tokio::time::sleep(self.drivers.patience().poll.into()).await;
    }

    fn working(&self, step: StepId, detail: Said) {
        self.bus.progress(step, StepState::Working, detail);
    }

    fn waiting(&self, step: StepId, detail: Said) {
        self.bus.progress(step, StepState::Waiting, detail);
    }

    /// Does something that may be done twice, until it works, fails for good, or `deadline` has passed.
    async fn persist<T, F>(&self, deadline: Instant, mut attempt: impl FnMut() -> F) -> Result<T, DriverError>
    where
        F: Future<Output = Result<T, DriverError>>,
    {
        loop {
            match attempt().await {
                Err(error) if error.may_pass() && Instant::now() < deadline => self.pause().await,
                ended => return ended,
            }
        }
    }
}

/// All of them at the same time, their results in order. One that hangs keeps its own place, and no other's.
fn together<F: Future>(all: impl IntoIterator<Item = F>) -> impl Future<Output = Vec<F::Output>> {
    at_most(TOGETHER, all, None)
}

/// As [`together`], for preflight: nothing is on fire yet, and a system under load is asked gently. Counted, where that is
/// watched.
fn gently<F: Future>(all: impl IntoIterator<Item = F>) -> impl Future<Output = Vec<F::Output>> {
    at_most(GENTLY, all, snapshot::progress::count())
}

fn at_most<F: Future>(
    most: usize,
    all: impl IntoIterator<Item = F>,
    count: Option<Arc<snapshot::progress::Count>>,
) -> impl Future<Output = Vec<F::Output>> {
    let numbered = |(n, one): (usize, F)| {
        let count = count.clone();
        one.map(move |ended| {
            count.iter().for_each(|count| count.ended());
            (n, ended)
        })
    };
    let all: Vec<_> = all.into_iter().enumerate().map(numbered).collect();
    count.iter().for_each(|count| count.asked(all.len()));
    async move {
        let mut ended: Vec<_> = stream::iter(all).buffer_unordered(most).collect().await;
        ended.sort_unstable_by_key(|(n, _)| *n);
        ended.into_iter().map(|(_, one)| one).collect()
    }
}

/// What could not be read: it may be there or not.
fn unread(step: StepId, what: Said, error: &DriverError, by_hand: Option<String>) -> Leftover {
    Leftover::unknown(step, what, error.said(), by_hand)
}

fn elapsed(since: Instant) -> Span {
    since.elapsed().into()
}

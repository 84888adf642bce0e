//! Runs a drill: carries out the effects that the machine asks for, and tells it what happened.
//!
//! One task owns everything and takes one thing at a time, asks first. Whatever takes time runs beside it and reports
//! back as [`Done`].

mod baseline;
mod bus;
mod done;
mod effects;
mod event_loop;
mod faults;
mod guarding;
pub mod header;
mod lease;
mod ledger;
mod meters;
mod preflight;
mod recovering;
pub mod recovery;
mod remains;
mod setup;
mod sheet;
mod sleep;
mod takeover;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use tokio::sync::mpsc;

use self::{
    baseline::Ranges,
    bus::{EngineBus, Shared},
    done::Done,
    faults::track::Track,
    meters::{Meters, collected::Collected},
    recovery::Scene,
    sheet::groups::Groups,
    sleep::slept,
};
use crate::{
    drill::{Effect, Input, Machine, guard::Watch, pinned::Pinned, schedule::Schedule, tenure::Tenure},
    drivers::Drivers,
    journal::Clock,
    model::{
        event::{Body, GuardState, Outcome},
        ids::FaultId,
        plan::Plan,
        recovery::{Leftover, StepId},
        secret::Secrets,
        snapshot::{BaselineLevels, Snapshot},
        time::{Moment, Span},
    },
};

pub use ledger::{Ledger, NotDurable};
pub use setup::{Ask, Begin, Ended, Setup};
pub use sheet::rejudge::{Rejudged, rejudge};

/// How often the engine looks at the clock. The deadman hears from it as often.
pub const TICK: Span = Span::millis(100);

/// Runs one drill to its end.
pub struct Engine {
    plan: Arc<Plan>,
    schedule: Schedule,
    machine: Machine,
    drivers: Arc<Drivers>,
    secrets: Secrets,
    clock: Clock,
    ledger: Ledger,
    effects: VecDeque<Effect>,
    done: mpsc::UnboundedSender<Done>,
    meters: Option<Meters>,
    watches: Vec<Watch>,
    collected: Collected,
    ranges: Ranges,
    baseline: BaselineLevels,
    snapshot: Arc<Snapshot>,
    /// Whether the last snapshot in the journal may be another one: its record failed, and may have been written all the same.
    another_snapshot: bool,
    groups: Groups,
    faults: BTreeMap<FaultId, Track>,
    shared: Shared,
    bus: Arc<EngineBus>,
    steps_began: BTreeMap<StepId, Moment>,
    gone_at_source: Option<i64>,
    guard_states: BTreeMap<usize, GuardState>,
    limits: Vec<(String, u32)>,
    warned: BTreeSet<String>,
    last_baseline: Moment,
    judging_baseline: bool,
    last_guard: Moment,
    last_hits: Moment,
    last_tick: Moment,
    ended: Option<Outcome>,
    tasks: tokio::task::JoinSet<()>,
    /// Messages to people: what is under way at the end is waited for.
    notices: tokio::task::JoinSet<()>,
    /// What a takeover could not learn: it stands against ALL CLEAR to the end.
    unknown: Vec<Leftover>,
    /// Whether a keeper before this one has begun to put something back.
    repaired_before: bool,
    /// What each step of recovery could not put back, as it stands.
    left: BTreeMap<StepId, Vec<Leftover>>,
    pinned: Pinned,
    /// The environment's lease, once a run that may break something has taken it.
    tenure: Option<Tenure>,
}

impl Engine {
    pub(super) async fn begin(&mut self, begin: Begin) {
        self.watches = guarding::watches(&self.plan);
        match begin {
            Begin::Fresh => {
                let header = header::header(&self.plan, std::process::id());
                self.ledger.emit(Body::Opened(Box::new(header)));
                let effects = self.machine.start();
                self.effects.extend(effects);
            }
            Begin::TakeOver {
                facts,
                damage,
                cause,
                pause,
            } => {
                self.take_over(*facts, damage, cause);
                if pause > Span::ZERO {
                    self.machine.pause_after_faults(self.clock.now() + pause);
                }
            }
        }
        self.carry_out().await;
    }

    /// Tells the machine what happened and queues what it wants done.
    fn feed(&mut self, input: Input) {
        let now = self.clock.now();
        if slept(self.last_tick, now).is_some() {
            // What ran beside the engine may report before the first tick after a sleep.
            let effects = self.machine.step(Input::Slept, now);
            self.effects.extend(effects);
        }
        let effects = self.machine.step(input, now);
        self.effects.extend(effects);
    }

    fn scene(&self) -> Scene {
        Scene {
            plan: self.plan.clone(),
            drivers: self.drivers.clone(),
            snapshot: self.snapshot.clone(),
            bus: self.bus.clone(),
        }
    }

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }
}

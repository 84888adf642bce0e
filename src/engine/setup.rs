//! How a run is set up, and what people ask of it.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use tokio::sync::mpsc;

use super::{
    Done, Engine, baseline,
    bus::{EngineBus, Shared},
    guarding,
    ledger::Ledger,
    meters::collected::Collected,
    sheet::groups::Groups,
};
use crate::{
    drill::{Machine, pinned::Pinned, schedule::Schedule},
    drivers::Drivers,
    journal::{Clock, Facts},
    model::{
        event::Outcome,
        phase::Cause,
        plan::Plan,
        secret::Secrets,
        snapshot::{BaselineLevels, Snapshot},
        time::Span,
    },
};

/// What people and the keeper ask of a run.
#[derive(Debug)]
pub enum Ask {
    /// Put everything back.
    Recover(Cause),
    /// Watch in silence for longer.
    Extend(Span),
    /// Write a note down.
    Note {
        /// Who.
        by: String,
        /// What.
        text: String,
    },
    /// That many consoles look.
    Watching(usize),
    /// A deadman stands by.
    DeadmanReady {
        /// Its process id.
        pid: u32,
    },
    /// The deadman is gone.
    DeadmanLost {
        /// Its process id.
        pid: u32,
    },
}

/// How the engine begins.
#[derive(Debug)]
pub enum Begin {
    /// A fresh run.
    Fresh,
    /// A run that another keeper left.
    TakeOver {
        /// What its journal says.
        facts: Box<Facts>,
        /// What of its journal cannot be read.
        damage: Vec<String>,
        /// Why.
        cause: Cause,
        /// How long nothing follows once the faults are stopped: keepers before this one have died one after another.
        pause: Span,
    },
}

/// What an engine is made from.
pub struct Setup {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Its timeline.
    pub schedule: Schedule,
    /// The clients.
    pub drivers: Arc<Drivers>,
    /// What the plan's references to secrets stand for.
    pub secrets: Secrets,
    /// The clock.
    pub clock: Clock,
    /// Where events go.
    pub ledger: Ledger,
    /// What people ask.
    pub asks: mpsc::UnboundedReceiver<Ask>,
    /// Called at every tick: the heartbeat.
    pub heartbeat: Box<dyn FnMut() + Send>,
}

/// How a run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// Whether its journal says so too. If not, the run is still open for whoever reads that.
    pub recorded: bool,
}

impl Setup {
    /// Runs to the end and says how it ended.
    pub async fn run(self, begin: Begin) -> Ended {
        let (done, results) = mpsc::unbounded_channel();
        let (mut engine, asks, heartbeat) = self.engine(done);
        engine.begin(begin).await;
        engine.go(asks, results, heartbeat).await
    }

    /// The engine before its first step, with who asks it and who hears its beat. What runs beside it reports to `done`.
    pub(super) fn engine(
        self,
        done: mpsc::UnboundedSender<Done>,
    ) -> (Engine, mpsc::UnboundedReceiver<Ask>, Box<dyn FnMut() + Send>) {
        let Setup {
            plan,
            schedule,
            drivers,
            secrets,
            clock,
            ledger,
            asks,
            heartbeat,
        } = self;
        let shared = Shared::default();
        let bus = Arc::new(EngineBus::new(done.clone(), shared.clone()));
        let now = clock.now();
        let limits = guarding::limits(&plan);
        let pinned = Pinned::of(&plan);
        let engine = Engine {
            machine: Machine::new(plan.drill.clone(), schedule.clone(), plan.purpose, plan.attended),
            groups: Groups::new(&schedule),
            plan,
            schedule,
            drivers,
            secrets,
            clock,
            ledger,
            effects: VecDeque::new(),
            done,
            meters: None,
            watches: Vec::new(),
            collected: Collected::default(),
            ranges: baseline::Ranges::default(),
            baseline: BaselineLevels::default(),
            snapshot: Arc::new(Snapshot::default()),
            another_snapshot: false,
            faults: BTreeMap::new(),
            shared,
            bus,
            steps_began: BTreeMap::new(),
            gone_at_source: None,
            guard_states: BTreeMap::new(),
            limits,
            warned: BTreeSet::new(),
            last_baseline: now,
            judging_baseline: false,
            last_guard: now,
            last_hits: now,
            last_tick: now,
            ended: None,
            tasks: tokio::task::JoinSet::new(),
            notices: tokio::task::JoinSet::new(),
            unknown: Vec::new(),
            repaired_before: false,
            left: BTreeMap::new(),
            pinned,
            tenure: None,
        };
        (engine, asks, heartbeat)
    }
}

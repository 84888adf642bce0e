//! Runs a drill: carries out the effects that the machine asks for, and tells it what happened.
//!
//! One task owns everything and takes one thing at a time, asks first. Whatever takes time runs beside it and reports
//! back as [`Done`].

mod baseline;
mod bus;
pub mod clock;
mod collected;
mod effects;
mod groups;
pub mod header;
mod injecting;
mod ledger;
mod measuring;
mod preflight;
pub mod recovery;
mod rejudge;
mod rows;
mod settling;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use tokio::{
    sync::{mpsc, oneshot},
    time::{MissedTickBehavior, interval},
};

use self::{
    bus::{EngineBus, Shared},
    clock::Clock,
    collected::Collected,
    groups::Groups,
    injecting::Track,
    measuring::Meters,
    recovery::{Repair, Scene, StepEnd},
};
use crate::{
    drill::{Effect, Input, Machine, guard::Watch, schedule::Schedule},
    drivers::{Drivers, error::DriverError, point::RuleSeen},
    journal::Facts,
    metrics::Fetch,
    model::{
        event::{BaselineRow, Body, Check, GuardState, Hits, Outcome},
        ids::FaultId,
        phase::{Cause, Phase},
        plan::Plan,
        recovery::{Certainty, Leftover, StepId, StepReport, StepState},
        sheet::{Moved, RowState},
        snapshot::{BaselineLevels, Snapshot},
        time::{Moment, Span},
        undo::ChangeIntent,
    },
};

pub use ledger::{Ledger, NotDurable};
pub use rejudge::{Rejudged, rejudge};

/// How often the engine looks at the clock. The deadman hears from it as often.
pub const TICK: Span = Span::millis(100);

/// How long the end of a run waits for messages to people.
const LAST_NOTICES: std::time::Duration = std::time::Duration::from_secs(3);

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
    /// Where metrics come from.
    pub secrets: crate::model::secret::Secrets,
    /// The clock.
    pub clock: Clock,
    /// Where events go.
    pub ledger: Ledger,
    /// What people ask.
    pub asks: mpsc::UnboundedReceiver<Ask>,
    /// Called at every tick: the heartbeat.
    pub heartbeat: Box<dyn FnMut() + Send>,
}

/// What something that ran beside the engine has to say.
enum Done {
    Check(Check),
    Preflight(Box<preflight::Found>),
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
        detail: String,
    },
    Notified {
        whom: String,
        error: Option<String>,
    },
    Again {
        step: StepId,
        end: StepEnd,
    },
    Judged {
        group: usize,
        rows: Vec<RowState>,
        last: bool,
    },
    Moved(Vec<Moved>),
    Baseline {
        rows: Vec<(BaselineRow, Option<String>)>,
        levels: Option<BaselineLevels>,
    },
}

/// Runs one drill to its end.
pub struct Engine {
    plan: Arc<Plan>,
    schedule: Schedule,
    machine: Machine,
    drivers: Arc<Drivers>,
    secrets: crate::model::secret::Secrets,
    clock: Clock,
    ledger: Ledger,
    effects: VecDeque<Effect>,
    done: mpsc::UnboundedSender<Done>,
    meters: Option<Meters>,
    watches: Vec<Watch>,
    collected: Collected,
    ranges: baseline::Ranges,
    baseline: BaselineLevels,
    snapshot: Arc<Snapshot>,
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
}

/// What a takeover cannot put back or compare with, because the record does not say what was there before.
fn unknown_before(facts: &Facts, damage: &[String]) -> Vec<Leftover> {
    let unknown = |what: String, why: &str| Leftover {
        step: StepId::Verify,
        what,
        why: why.to_owned(),
        by_hand: None,
        certainty: Certainty::Unknown,
    };
    let damaged = damage.iter().map(|d| {
        unknown(
            format!("journal damaged: {d}"),
            "what the record said is not known",
        )
    });
    let snapshot = facts.snapshot.is_none().then(|| {
        unknown(
            "the snapshot is not in the journal".into(),
            "weights, breakers, flags and queues have nothing to be compared with",
        )
    });
    let baseline = facts.baseline.is_none().then(|| {
        unknown(
            "the baseline is not in the journal".into(),
            "the sheet's metrics have nothing to come back to",
        )
    });
    damaged.chain(snapshot).chain(baseline).collect()
}

impl Setup {
    /// Runs to the end and says how it ended.
    pub async fn run(self, begin: Begin) -> Outcome {
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
        let (done, results) = mpsc::unbounded_channel();
        let shared = Shared::default();
        let bus = Arc::new(EngineBus::new(done.clone(), shared.clone()));
        let now = clock.now();
        let limits = measuring::limits(&plan);
        let mut engine = Engine {
            machine: Machine::new(plan.drill.clone(), schedule.clone(), plan.attended),
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
        };
        engine.begin(begin).await;
        engine.go(asks, results, heartbeat).await
    }
}

impl Engine {
    async fn begin(&mut self, begin: Begin) {
        self.watches = measuring::watches(&self.plan);
        match begin {
            Begin::Fresh => {
                let header = header::header(&self.plan, std::process::id());
                self.ledger.emit(Body::Opened(Box::new(header)));
                let effects = self.machine.start();
                self.effects.extend(effects);
            }
            Begin::TakeOver { facts, damage, cause } => self.take_over(*facts, damage, cause),
        }
        self.carry_out().await;
    }

    /// Goes on with what another keeper left: its intents are ours, its snapshot is the original.
    fn take_over(&mut self, facts: Facts, damage: Vec<String>, cause: Cause) {
        self.ledger.emit(Body::TakenOver {
            pid: std::process::id(),
            cause: cause.clone(),
        });
        let owed: Vec<FaultId> = facts.not_gone().map(|f| f.intent.id.clone()).collect();
        // A record that cannot be read may have been any: what is not known is never taken for nothing.
        let touched = facts.touched() || !damage.is_empty();
        if touched {
            self.unknown = unknown_before(&facts, &damage);
        }
        self.shared.restarted(facts.restarted().cloned());
        for fault in &facts.faults {
            self.faults
                .insert(fault.intent.id.clone(), Track::inherited(fault));
        }
        self.snapshot = Arc::new(facts.snapshot.clone().unwrap_or_default());
        self.baseline = facts.baseline.clone().unwrap_or_default();
        self.groups.inherit(&facts);
        if touched {
            self.meters = measuring::Meters::open(&self.plan, &self.secrets)
                .inspect_err(|error| self.ledger.emit(Body::Warning(error.to_string())))
                .ok();
            self.start_meters();
        }
        let (machine, effects) = Machine::resume(
            self.plan.drill.clone(),
            self.schedule.clone(),
            owed,
            touched,
            facts
                .recovering
                .as_ref()
                .map_or(cause, |(first, _)| first.clone()),
            self.clock.now(),
        );
        self.machine = machine;
        self.effects.extend(effects);
    }

    async fn go(
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

    /// Tells the machine what happened and queues what it wants done.
    fn feed(&mut self, input: Input) {
        let now = self.clock.now();
        let effects = self.machine.step(input, now);
        self.effects.extend(effects);
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

    fn tick(&mut self) {
        let now = self.clock.now();
        let slept = clock::slept(self.last_tick, now);
        self.last_tick = now;
        if let Some(gap) = slept
            && self.machine.fault_may_be_live()
        {
            self.feed(Input::Recover(Cause::Slept { ms: gap.0 }));
        }
        self.reap();
        if let Some(error) = self.ledger.failure() {
            self.journal_failed(&error.to_string());
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
    fn journal_failed(&mut self, what: &str) {
        match self.machine.phase() {
            Phase::Preflight | Phase::Baseline => {
                let why = format!("the journal cannot be written: {what}");
                self.feed(Input::Unfit { why });
            }
            Phase::Armed | Phase::Running => {
                self.feed(Input::Recover(Cause::Journal {
                    what: what.to_owned(),
                }));
            }
            // What is being put back is put back from memory.
            Phase::Recovering | Phase::Verifying | Phase::Closed => {}
        }
    }

    fn scene(&self) -> Scene {
        Scene {
            plan: self.plan.clone(),
            drivers: self.drivers.clone(),
            snapshot: self.snapshot.clone(),
            bus: self.bus.clone(),
        }
    }

    /// Lets go of what has ended. Something that panicked is a defect of ours, and is told.
    fn reap(&mut self) {
        while let Some(ended) = self.tasks.try_join_next() {
            if let Err(error) = ended
                && error.is_panic()
            {
                self.ledger
                    .emit(Body::Warning(format!("a defect of allclear: {error}")));
            }
        }
    }

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }
}

impl Engine {
    /// Takes what something that ran beside has to say.
    async fn handle(&mut self, done: Done) {
        match done {
            Done::Check(check) => self.ledger.emit(Body::Check(check)),
            Done::Preflight(found) => self.preflighted(*found).await,
            Done::Fetched(fetch) => self.fetched(*fetch),
            Done::Tripped { meter, fetch } => self.tripped(meter, *fetch),
            Done::Hits { base, asked, rules } => match rules {
                Ok(rules) => self.rules(&base, asked, &rules),
                Err(error) => tracing::debug!(%base, %error, "counters not read"),
            },
            Done::LoadHits { fault, hits } => self.hits(fault, hits),
            Done::Injected { fault, result } => self.injected(fault, result),
            Done::Stopped { step, end } => self.stopped(step, end),
            Done::Step { step, end } => self.step_over(step, end),
            Done::Command { index, end } => self.feed(Input::CommandOver(index, end.leftovers)),
            Done::Assessed(repair) => self.assessed(repair),
            Done::FinalRead { found, repaired } => self.feed(Input::FinalRead { found, repaired }),
            Done::Intended { change, written } => self.intended(change, written),
            Done::Progress { step, state, detail } => self.progress(step, state, detail),
            Done::Again { step, end } => self.again(step, end),
            Done::Judged { group, rows, last } => self.judged(group, rows, last),
            Done::Moved(moved) => self.ledger.emit(Body::Moved(moved)),
            Done::Baseline { rows, levels } => self.baseline_judged(rows, levels),
            Done::Notified { whom, error } => self.ledger.emit(Body::Notified { whom, error }),
        }
    }

    /// What has to be put back, in one line for people; what could not be read counts as "has to".
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
    fn progress(&mut self, step: StepId, state: StepState, detail: String) {
        if matches!(self.machine.phase(), Phase::Recovering | Phase::Verifying) {
            let took = self.took(step);
            self.ledger.emit(Body::Recovery(StepReport {
                step,
                state,
                detail,
                took,
            }));
        }
    }
}

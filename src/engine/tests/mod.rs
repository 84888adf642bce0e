//! An engine that has not begun: what it keeps, and what a keeper before it may have left half done.

mod arming;
mod last_read;
mod lease;
mod record;
mod rowless;
mod takeover;

use std::path::Path;

use tempfile::TempDir;

use super::{recovery::Again, *};
use crate::{
    drivers::{
        Patience,
        testing::{environment, nothing_to_do, plan},
        unanswered::LANDS_WITHIN,
    },
    journal::{self, Facts, FaultFact, FaultState, Journal, MAX_LINE, RunDir, StateDir},
    model::{
        amount::Level,
        environment::Kubernetes,
        event::{Event, Hits},
        ids::{ClusterName, CommandName, InstanceName, MetricId, Namespace, ServerName},
        kubernetes::PodId,
        phase::{Cause, Phase},
        plan::Purpose,
        playbook::{Command, How, Playbook, PoolDrain, Restart, RetryQueue, SentinelRules},
        quota::{Payer, QuotaSeen},
        recovery::{Certainty, StepState},
        sample::{Query, Reading},
        snapshot::Changed,
        undo::{ChangeIntent, FaultIntent, UndoFault},
    },
};

/// An engine that has not begun, and what it writes.
struct Stage {
    engine: Engine,
    done: mpsc::UnboundedReceiver<Done>,
    run: RunDir,
    events: mpsc::UnboundedReceiver<Event>,
    _state: TempDir,
}

fn stage(plan: Plan) -> Stage {
    stage_on(plan, || {})
}

/// The same, on a disk that takes nothing before `first` is over.
fn stage_on(plan: Plan, first: impl FnOnce() + Send + 'static) -> Stage {
    stage_in(plan, first, |_| {})
}

/// The same, in a directory that is prepared.
fn stage_in(plan: Plan, first: impl FnOnce() + Send + 'static, prepare: impl FnOnce(&RunDir)) -> Stage {
    let temp = TempDir::new().unwrap();
    let state = StateDir::open(temp.path().join("state")).unwrap();
    let run = state.create_run(&plan, &Secrets::none()).unwrap();
    prepare(&run);
    let (journal, _) = Journal::open(&run).unwrap();
    let (watchers, events) = mpsc::unbounded_channel();
    let (done, results) = mpsc::unbounded_channel();
    let setup = Setup {
        schedule: Schedule::of(&plan.drill).unwrap(),
        drivers: Arc::new(Drivers::new(&plan, Secrets::none()).unwrap()),
        plan: Arc::new(plan),
        secrets: Secrets::none(),
        clock: Clock,
        ledger: Ledger::begun_by(first, Clock, 0, journal, watchers),
        asks: mpsc::unbounded_channel().1,
        heartbeat: Box::new(|| {}),
    };
    let (engine, ..) = setup.engine(done);
    Stage {
        engine,
        done: results,
        run,
        events,
        _state: temp,
    }
}

/// At the end of its baseline, when what recovery may change is read again: the first look.
fn before_arming() -> Stage {
    before_arming_on(|| {})
}

fn before_arming_on(first: impl FnOnce() + Send + 'static) -> Stage {
    let plan = plan(environment(&[]), nothing_to_do());
    at_its_end(plan, first)
}

/// The same with this plan.
fn before_arming_of(plan: Plan) -> Stage {
    at_its_end(plan, || {})
}

fn at_its_end(mut plan: Plan, first: impl FnOnce() + Send + 'static) -> Stage {
    plan.drill.baseline = Span::ZERO;
    let mut stage = stage_on(plan, first);
    stage.engine.machine.start();
    stage.engine.feed(Input::PreflightDone { refused: vec![] });
    stage.engine.feed(Input::Tick);
    stage.engine.feed(Input::BaselineJudged { blockers: vec![] });
    assert!(stage.engine.machine.awaits(1));
    stage
}

/// Why it takes over.
fn lost() -> Cause {
    Cause::KeeperLost { what: "EOF".into() }
}

/// What the last read has found, and the steps that were carried out once more for it.
async fn last_read(done: &mut mpsc::UnboundedReceiver<Done>) -> (Vec<Leftover>, Vec<StepId>) {
    let mut again = Vec::new();
    loop {
        match done.recv().await.unwrap() {
            Done::FinalRead { found, .. } => return (found, again),
            Done::Step { step, .. } => again.push(step),
            Done::Intended { written, .. } => written.send(()).unwrap(),
            _ => {}
        }
    }
}

/// A command that leaves a file behind.
fn touches(file: &Path) -> Vec<String> {
    vec!["touch".to_owned(), file.display().to_string()]
}

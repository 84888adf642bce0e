//! What a keeper must hold before it touches anything: the run, its journal, and the environment.

use super::{Entry, KeeperError, ending::tidy_closed};
use crate::{
    journal::{self, EnvironmentLock, Facts, Journal, KeeperLock, RunDir, StateDir},
    model::{
        event::{Body, Event},
        plan::Plan,
        time::{Moment, Span},
    },
    view::RunView,
};

/// How long a keeper that takes over waits for the lock of the one before it, which is dead or about to be.
const LOCK_PATIENCE: Span = Span::seconds(10);

/// The locks of an open run. The run's own ends with the process, or with this.
pub(super) struct Locks {
    pub environment: EnvironmentLock,
    _run: KeeperLock,
}

/// The run so far, as its journal tells it.
pub(super) struct SoFar {
    pub journal: Journal,
    pub facts: Facts,
    /// What of the journal cannot be read.
    pub damage: Vec<String>,
    /// When other keepers have taken the run over, oldest first.
    pub takeovers: Vec<Moment>,
    pub view: RunView,
}

/// Takes both locks and opens the journal. `None`: the run was over already, and is tidied up.
pub(super) async fn take_locks(
    state: &StateDir,
    run: &RunDir,
    plan: &Plan,
    entry: &Entry,
) -> Result<Option<(Locks, SoFar)>, KeeperError> {
    let pid = std::process::id();
    let patience = match entry {
        Entry::Fresh => Span::ZERO,
        Entry::TakeOver(_) => LOCK_PATIENCE,
    };
    let lock = KeeperLock::take_within(run, &plan.run, pid, patience)?;
    let (journal, history) = Journal::open(run)?;
    let facts = journal::facts_of(&history);
    if facts.closed.is_some() {
        tidy_closed(state, run, plan, pid).await?;
        return Ok(None);
    }
    let environment = state.lock_environment_within(&plan.environment.name, &plan.run, pid, patience)?;
    let locks = Locks {
        environment,
        _run: lock,
    };
    let so_far = SoFar {
        journal,
        facts,
        damage: history.damage.iter().map(ToString::to_string).collect(),
        takeovers: takeovers(&history.events),
        view: RunView::of(&history.events),
    };
    Ok(Some((locks, so_far)))
}

fn takeovers(events: &[Event]) -> Vec<Moment> {
    let taken = events.iter().filter(|e| matches!(e.body, Body::TakenOver { .. }));
    taken.map(|e| e.at).collect()
}

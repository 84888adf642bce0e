//! What earlier runs still owe: the first thing that any command says, in red.

use crate::model::{
    event::Body,
    ids::{DrillName, EnvironmentName, RunId},
    phase::Phase,
    undo::{ChangeIntent, FaultIntent},
};

use super::{
    error::StateError, facts::facts, lock::KeeperLock, read, run_dir::RunDir, state_dir::StateDir, tail,
};

/// Where the last event of a journal is looked for, in bytes from its end.
const ENDING: u64 = 16 * 1024;

/// A run that never ended and has no keeper.
#[derive(Debug, Clone, PartialEq)]
pub struct Owed {
    /// The run: `allclear recover RUN` pays.
    pub run: RunId,
    /// Its drill, if the files can still say.
    pub drill: Option<DrillName>,
    /// Its environment, if the files can still say.
    pub environment: Option<EnvironmentName>,
    /// The phase in which it was left.
    pub phase: Option<Phase>,
    /// Faults that may still be there.
    pub faults: Vec<FaultIntent>,
    /// Changes of a recovery that did not come to its end.
    pub changes: Vec<ChangeIntent>,
    /// Whether it has, or may have, changed anything outside, put back since or not.
    pub touched: bool,
    /// What of its files cannot be read. More may be owed than the lists say.
    pub unreadable: Vec<String>,
}

impl Owed {
    /// Whether nothing outside can have been changed: the run ended before its first fault, and its files are sound.
    pub fn harmless(&self) -> bool {
        !self.touched && self.unreadable.is_empty()
    }
}

/// The runs whose journal is not closed and whose keeper is gone, by id.
///
/// # Errors
/// If the runs cannot be listed. A run that cannot be read is in the list.
pub fn owed(state: &StateDir) -> Result<Vec<Owed>, StateError> {
    let mut ids = state.ids()?;
    ids.sort();
    Ok(ids.into_iter().filter_map(|id| of_run(state, id)).collect())
}

fn of_run(state: &StateDir, run: RunId) -> Option<Owed> {
    let dir = state.run_dir(&run);
    if matches!(KeeperLock::holder(&dir), Ok(Some(_))) || ended(&dir) || never_began(&dir) {
        return None;
    }
    let history = match read::without_readings(&dir) {
        Ok(history) => history,
        Err(e) => {
            return Some(Owed {
                run,
                drill: None,
                environment: None,
                phase: None,
                faults: Vec::new(),
                changes: Vec::new(),
                touched: true,
                unreadable: vec![e.to_string()],
            });
        }
    };
    let facts = facts(&history.events);
    Some(Owed {
        run,
        drill: Some(history.plan.drill.name),
        environment: Some(history.plan.environment.name),
        phase: facts.phase,
        faults: facts.not_gone().map(|f| f.intent.clone()).collect(),
        touched: facts.touched(),
        changes: facts.changes,
        unreadable: history.damage.iter().map(ToString::to_string).collect(),
    })
}

/// Read from the journal's end alone: old runs must not make each command slower.
fn ended(dir: &RunDir) -> bool {
    let end = tail::last_events(&dir.journal_file(), ENDING);
    end.is_ok_and(|events| events.iter().any(|e| matches!(e.body, Body::Closed(_))))
}

/// The plan is on the disk before anything else happens: without one, the making of the directory was cut.
fn never_began(dir: &RunDir) -> bool {
    !dir.plan_file().exists() && !dir.journal_file().exists()
}

//! From a drill and an environment to a run with a keeper.

use std::path::Path;

use super::{
    context::{self, Context, Loaded},
    error::Failure,
    identity::who,
    range_environment,
};
use crate::{
    journal::{RunDir, StateDir},
    keeper,
    model::{
        environment::Environment,
        ids::RunId,
        plan::{Plan, Purpose},
        secret::Secrets,
    },
    spec,
};

/// A run that has begun.
pub struct Started {
    pub run: RunId,
}

/// What a run is begun with.
pub struct Wanted {
    pub purpose: Purpose,
    /// Whether a commander sits at the TUI.
    pub attended: bool,
}

/// A run that could begin.
pub struct Ready {
    state: StateDir,
    /// What its keeper will be given.
    pub plan: Plan,
    /// The environment's secrets.
    pub secrets: Secrets,
}

/// Checks the drill against the environment, makes the run, and starts its keeper.
pub fn start(
    context: &Context,
    loaded: Loaded,
    environment: Environment,
    wanted: Wanted,
) -> Result<Started, Failure> {
    ready(context, loaded, environment, wanted)?.begin()
}

/// Checks the drill against the environment and plans the run. Nothing is begun.
pub fn ready(
    context: &Context,
    loaded: Loaded,
    environment: Environment,
    wanted: Wanted,
) -> Result<Ready, Failure> {
    let state = context.state()?;
    state.probe()?;
    let problems = spec::check_against(&loaded.drill, &environment);
    let problems = problems.into_iter().map(|p| p.located(&loaded.source)).collect();
    let problems = spec::Diagnostics {
        path: loaded.source.path.clone(),
        all: problems,
    };
    if problems.errors() > 0 {
        return Err(Failure::Files(Box::new(problems)));
    }
    range_environment::is_open(&environment)?;
    let environment = context.pinned(environment)?;
    let secrets = context::secrets(&environment)?;
    let plan = Plan {
        run: new_id(&state)?,
        drill: loaded.drill,
        drill_source: loaded.source.text,
        drill_folder: loaded.folder.display().to_string(),
        environment,
        started_by: who(),
        purpose: wanted.purpose,
        attended: wanted.attended,
        lang: context.lang,
        allclear_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(Ready { state, plan, secrets })
}

impl Ready {
    /// Makes the run and starts its keeper.
    pub fn begin(self) -> Result<Started, Failure> {
        let dir = self.state.create_run(&self.plan, &self.secrets)?;
        if let Err(refused) = launch(&self.state, &dir, false) {
            // Nothing was begun: the run leaves no trace that could be taken for one.
            let _ = std::fs::remove_dir_all(dir.path());
            return Err(refused);
        }
        Ok(Started { run: self.plan.run })
    }
}

/// Starts the keeper of a run, fresh or to recover it.
pub fn launch(state: &StateDir, dir: &RunDir, recover: bool) -> Result<(), Failure> {
    // A keeper may live in another folder than we do.
    let absolute = std::path::absolute(state.path()).unwrap_or_else(|_| state.path().to_owned());
    let run = RunDir::at(std::path::absolute(dir.path()).unwrap_or_else(|_| dir.path().to_owned()));
    keeper::launch(Path::new(&absolute), &run, recover).map_err(|e| Failure::Refused(e.to_string()))
}

/// A fresh id: six hexadecimal digits.
fn new_id(state: &StateDir) -> Result<RunId, Failure> {
    let mut bytes = [0u8; 3];
    for _ in 0..64 {
        let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        filled.map_err(|e| Failure::Usage(format!("no random numbers for the run's id: {e}; try again")))?;
        let text = format!("{:02x}{:02x}{:02x}", bytes[0], bytes[1], bytes[2]);
        let id = RunId::new(&text).map_err(Failure::usage)?;
        if !state.run_dir(&id).path().exists() {
            return Ok(id);
        }
    }
    Err(Failure::Refused(
        "the state directory is full of runs: remove old ones".into(),
    ))
}

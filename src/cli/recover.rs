//! `recover`: put everything back, from any terminal. Needs nothing but the run's own record.

use super::{
    context,
    error::Failure,
    options::{Common, Recover},
    start,
    watch::{self, Look, Seen},
};
use crate::{
    drill::outcome::exit,
    journal::{self, KeeperLock, RunDir, StateDir},
    keeper,
    model::{event::Outcome, ids::RunId, recovery::Recovered},
    wire,
};

pub fn recover(common: &Common, args: &Recover) -> Result<u8, Failure> {
    // No configuration is read: a broken one must not stand between a person and the recovery.
    let state = context::state(common.state_dir.clone())?;
    let runs = match &args.run {
        Some(asked) => vec![state.find(asked)?],
        None => open_runs(&state)?,
    };
    if runs.is_empty() {
        println!("nothing to recover: every run is over");
        return Ok(exit::HELD);
    }
    let mut worst = exit::HELD;
    for (run, dir) in runs {
        let code = recover_one(common, &state, &run, &dir)?;
        worst = if code == exit::HELD {
            worst
        } else {
            worst.max(code)
        };
    }
    Ok(worst)
}

/// Runs that are not over: owed by a keeper that died, or still kept.
fn open_runs(state: &StateDir) -> Result<Vec<(RunId, RunDir)>, Failure> {
    let mut open = Vec::new();
    for run in state.runs()? {
        let owed = run.outcome.is_none() && (run.keeper.is_some() || run.phase.is_some());
        if owed {
            let dir = state.run_dir(&run.run);
            open.push((run.run, dir));
        }
    }
    Ok(open)
}

fn recover_one(common: &Common, state: &StateDir, run: &RunId, dir: &RunDir) -> Result<u8, Failure> {
    let history = journal::without_readings(dir)?;
    if let Some(outcome) = journal::facts(&history.events).closed {
        println!("run {run} is over: {}; nothing was changed", said(&outcome));
        return Ok(if outcome.recovered == Recovered::Recovered {
            exit::HELD
        } else {
            exit::REMAINS
        });
    }
    match KeeperLock::holder(dir)? {
        Some(holder) => {
            let pid = holder.pid.map(|p| p.to_string()).unwrap_or_else(|| "?".into());
            println!("run {run}: its keeper (pid {pid}) is told to put everything back");
            tell(run, dir)?;
        }
        None => {
            println!("run {run}: no keeper is alive; a new one puts everything back");
            start::launch(state, dir, true)?;
        }
    }
    let look = Look {
        plain: true,
        read_only: false,
        owns: false,
        coach: false,
        lang: common.lang(),
        coloured: false,
    };
    match watch::watch(dir, run, look)? {
        Seen::Over(outcome) if outcome.recovered == Recovered::Recovered => Ok(exit::HELD),
        Seen::Over(_) => Ok(exit::REMAINS),
        Seen::Left => Ok(exit::INTERRUPTED),
    }
}

/// The plain word, which every version of a keeper understands.
fn tell(run: &RunId, dir: &RunDir) -> Result<(), Failure> {
    let socket = dir.socket().unwrap_or_else(|| keeper::socket_of(run));
    super::runtime()?
        .block_on(wire::stop(&socket))
        .map(|_| ())
        .map_err(|e| Failure::Lost(format!("the keeper of run {run} does not answer: {e}")))
}

fn said(outcome: &Outcome) -> &'static str {
    match outcome.recovered {
        Recovered::Recovered if outcome.refused => "it was refused before it touched anything",
        Recovered::Recovered => "ALL CLEAR",
        Recovered::Leftover => "it ended with something left; `allclear show` lists it",
        Recovered::Unknown => "it ended without knowing what is left; `allclear show` lists it",
    }
}

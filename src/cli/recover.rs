//! `recover`: put everything back, from any terminal. Needs nothing but the run's own record.

use futures::future::join_all;

use super::{
    context,
    error::Failure,
    options::{Common, Recover},
    say, start,
    watch::{self, Look, Seen},
};
use crate::{
    journal::{self, Holder, KeeperLock, RunDir, StateDir},
    keeper::{self, NEXT_KEEPER, TRY_AGAIN},
    model::{event::Outcome, exit::Exit, ids::RunId, recovery::Recovered, time::Span},
    wire,
};

pub fn recover(common: &Common, args: &Recover) -> Result<Exit, Failure> {
    let state = context::state(context::state_dir_of(common))?;
    let runs = match &args.run {
        Some(asked) => vec![state.find(asked)?],
        None => open_runs(&state)?,
    };
    if runs.is_empty() {
        say::out(format_args!(
            "nothing to recover in {}: every run there is over (--state-dir names another place)",
            state.path().display()
        ));
        return Ok(Exit::Held);
    }
    let look = Look {
        plain: true,
        read_only: false,
        owns: false,
        coach: false,
        lang: common.lang(),
        coloured: false,
    };
    // All are put back at once, and looked at one after another: a run that cannot be recovered, or whose lines nobody reads,
    // keeps no other from it.
    let begun = super::runtime()?.block_on(join_all(runs.iter().map(|(run, dir)| begin(&state, run, dir))));
    let exits = runs
        .iter()
        .zip(begun)
        .map(|((run, dir), begun)| end(begun, run, dir, look));
    Ok(Exit::worst(exits))
}

/// Runs that are not over: those with a keeper, and those that a keeper has left.
fn open_runs(state: &StateDir) -> Result<Vec<(RunId, RunDir)>, Failure> {
    let kept = state
        .runs()?
        .into_iter()
        .filter(|r| r.outcome.is_none() && r.keeper.is_some())
        .map(|r| r.run);
    let owed = journal::owed(state)?.into_iter().map(|o| o.run);
    Ok(kept
        .chain(owed)
        .map(|run| (run.clone(), state.run_dir(&run)))
        .collect())
}

/// Where a run's recovery is after it was asked for.
enum Begun {
    /// It was over before.
    Over(Exit),
    /// A keeper puts everything back.
    Going,
}

async fn begin(state: &StateDir, run: &RunId, dir: &RunDir) -> Result<Begun, Failure> {
    let history = journal::without_readings(dir)?;
    if let Some(outcome) = journal::facts(&history.events).closed {
        say::out(format_args!(
            "run {run} is over: {}; nothing was changed",
            said(&outcome)
        ));
        return Ok(Begun::Over(is_put_back(&outcome)));
    }
    set_going(state, run, dir).await?;
    Ok(Begun::Going)
}

/// Looks at a run until it is over.
fn end(begun: Result<Begun, Failure>, run: &RunId, dir: &RunDir, look: Look) -> Exit {
    let seen = match begun {
        Ok(Begun::Over(exit)) => return exit,
        Ok(Begun::Going) => watch::watch(dir, run, look),
        Err(failure) => Err(failure),
    };
    match seen {
        Ok(Seen::Over(outcome)) => is_put_back(&outcome),
        // Its keeper goes on, and nobody here has seen it end.
        Ok(Seen::Left | Seen::TornAway) => {
            watch::is_not_over(run);
            Exit::Remains
        }
        Err(failure) => {
            failure.report();
            Exit::Remains
        }
    }
}

/// Tells the run's keeper to put everything back, or starts one that does. A keeper that has just been lost does not
/// hear it: its deadman is the next one, or nobody is, and then a new one is started.
async fn set_going(state: &StateDir, run: &RunId, dir: &RunDir) -> Result<(), Failure> {
    let begin = tokio::time::Instant::now();
    let mut last = String::new();
    loop {
        let holder = KeeperLock::holder(dir)?;
        let doing = match &holder {
            Some(holder) => format!(
                "its keeper (pid {}) is told to put everything back",
                pid_of(holder)
            ),
            None => "no keeper is alive; a new one puts everything back".to_owned(),
        };
        if doing != last {
            say::out(format_args!("run {run}: {doing}"));
            last = doing;
        }
        let failure = match &holder {
            Some(holder) => match tell(run, dir, holder).await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            },
            None => match start::launch(state, dir, true) {
                Ok(()) => return Ok(()),
                // The deadman was quicker: it is the one to be told.
                Err(failure) if KeeperLock::holder(dir)?.is_some() => failure,
                Err(failure) => return Err(failure),
            },
        };
        if journal::facts(&journal::without_readings(dir)?.events)
            .closed
            .is_some()
        {
            return Ok(());
        }
        if Span::from(begin.elapsed()) > NEXT_KEEPER {
            return Err(failure);
        }
        tokio::time::sleep(TRY_AGAIN.into()).await;
    }
}

/// Whether all is back is what counts here, however the drill went.
fn is_put_back(outcome: &Outcome) -> Exit {
    match outcome.recovered {
        Recovered::Recovered => Exit::Held,
        Recovered::Leftover | Recovered::Unknown => Exit::Remains,
    }
}

fn pid_of(holder: &Holder) -> String {
    holder.pid.map_or_else(|| "?".into(), |pid| pid.to_string())
}

/// The plain word, which every version of a keeper understands.
async fn tell(run: &RunId, dir: &RunDir, holder: &Holder) -> Result<(), Failure> {
    let socket = dir.socket().unwrap_or_else(|| keeper::socket_of(run));
    let told = wire::stop(&socket).await;
    told.map(|_| ()).map_err(|error| {
        let pid = pid_of(holder);
        Failure::Lost(format!(
            "the keeper of run {run} does not answer: {error}; if it hangs, end it (kill -9 {pid}) and type \
             `allclear recover {run}` again"
        ))
    })
}

fn said(outcome: &Outcome) -> &'static str {
    match outcome.recovered {
        Recovered::Recovered if outcome.refused => "it was refused before it touched anything",
        Recovered::Recovered if stopped_early(outcome) => "it was stopped before it injected anything",
        Recovered::Recovered => "it ended recovered",
        Recovered::Leftover => "it ended with something left; `allclear show` lists it",
        Recovered::Unknown => "it ended without knowing what is left; `allclear show` lists it",
    }
}

/// Whether it was a drill that never got as far as its faults. Rehearsals and restores have none.
fn stopped_early(outcome: &Outcome) -> bool {
    outcome.hypothesis.is_none() && outcome.exit != Exit::Held
}

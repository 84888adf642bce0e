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
    journal::{self, Holder, KeeperLock, RunDir, StateDir},
    keeper,
    model::{event::Outcome, ids::RunId, recovery::Recovered, time::Span},
    wire,
};

/// How long a keeper that does not answer, or the next one, is waited for.
const NEXT_KEEPER: Span = Span::seconds(20);

/// How often it is told again.
const AGAIN: std::time::Duration = std::time::Duration::from_millis(200);

pub fn recover(common: &Common, args: &Recover) -> Result<u8, Failure> {
    let state = context::state(context::state_dir_of(common))?;
    let runs = match &args.run {
        Some(asked) => vec![state.find(asked)?],
        None => open_runs(&state)?,
    };
    if runs.is_empty() {
        println!(
            "nothing to recover in {}: every run there is over (--state-dir names another place)",
            state.path().display()
        );
        return Ok(exit::HELD);
    }
    // One run that cannot be recovered must not keep the others from it.
    let codes: Vec<u8> = runs
        .into_iter()
        .map(|(run, dir)| match recover_one(common, &state, &run, &dir) {
            Ok(code) => code,
            Err(failure) => {
                failure.report();
                exit::REMAINS
            }
        })
        .collect();
    Ok(exit::worst(&codes))
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
    super::runtime()?.block_on(set_going(state, run, dir))?;
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
            println!("run {run}: {doing}");
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
        tokio::time::sleep(AGAIN).await;
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
    outcome.hypothesis.is_none() && outcome.exit != exit::HELD
}

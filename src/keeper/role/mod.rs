//! The keeper's role: lock, journal, socket, deadman, engine, and a clean end.

mod error;
mod listening;
mod signals;
#[cfg(test)]
mod tests;

pub use error::KeeperError;

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{mpsc, watch};

use self::{
    listening::{count, listen, listen_at, publish},
    signals::on_signals,
};
use super::{guardian, pace};
use crate::{
    drill::schedule::Schedule,
    drivers::Drivers,
    engine::{Begin, Ledger, Setup},
    journal::{self, Clock, Journal, KeeperLock, RunDir, StateDir, StateError},
    model::{
        event::{Body, Event, Outcome},
        phase::Cause,
        said::said,
        time::{Moment, Span},
    },
    view::RunView,
    wire::{self, Hub, Server, StateAt},
};

/// How long a keeper that takes over waits for the lock of the one before it, which is dead or about to be.
const LOCK_PATIENCE: Span = Span::seconds(10);

/// How long the locks of a process that was just killed may outlive each other.
const LAST_LOCKS: Span = Span::seconds(1);

/// How long a fresh run waits for its deadman before it begins. Without one it is never armed.
const DEADMAN_PATIENCE: Span = Span::seconds(5);

/// How the role is entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// With a fresh run.
    Fresh,
    /// With a run that another keeper left.
    TakeOver(Cause),
}

/// Keeps a run to its end. `ready` is called once consoles can attach.
///
/// # Errors
/// [`KeeperError`] if it could not begin; nothing was touched then. `Ok(None)`: the run was over already.
pub async fn keep(
    state: &StateDir,
    run: &RunDir,
    entry: Entry,
    ready: impl FnOnce(),
) -> Result<Option<Outcome>, KeeperError> {
    let plan = Arc::new(run.plan()?);
    let pid = std::process::id();
    let patience = if entry == Entry::Fresh {
        Span::ZERO
    } else {
        LOCK_PATIENCE
    };
    let _lock = KeeperLock::take_within(run, &plan.run, pid, patience)?;
    let (journal, history) = Journal::open(run)?;
    let facts = journal::facts_of(&history);
    let takeovers = takeovers(&history.events);
    let damage: Vec<String> = history.damage.iter().map(ToString::to_string).collect();
    if facts.closed.is_some() {
        // The keeper before has said its last word, and may have died before it could tidy up. That takes no right to the
        // environment: the next run may be on it by now, and then the signature there is its own.
        if let Some(socket) = run.socket()
            && let Err(error) = wire::remove_stale(&socket).await
        {
            tracing::warn!(%error, "the socket of the keeper before may be there still");
        }
        tidy_up(run)?;
        let environment = &plan.environment.name;
        if let Ok(environment) = state.lock_environment_within(environment, &plan.run, pid, LAST_LOCKS) {
            environment.release();
        }
        return Ok(None);
    }
    let environment = state.lock_environment_within(&plan.environment.name, &plan.run, pid, patience)?;
    let schedule = Schedule::of(&plan.drill)?;
    let secrets = run.secrets()?;
    let drivers = Arc::new(Drivers::new(&plan, secrets.clone())?);

    let view = Arc::new(RwLock::new(RunView::of(&history.events)));
    let hub = Hub::default();
    let hello = wire::Hello {
        version: plan.allclear_version.clone(),
        run: plan.run.clone(),
        pid,
    };
    let looked_at = view.clone();
    let now = move || {
        let view = looked_at.read().unwrap_or_else(PoisonError::into_inner);
        StateAt {
            seq: view.seq,
            state: view.clone(),
        }
    };
    let (server, asks, deaf) = match listen_at(run, &plan.run, hello, hub.clone(), now).await {
        Ok((server, asks)) => (Some(server), Some(asks), None),
        // A run begins with a console. Recovery needs none.
        Err(error) if entry != Entry::Fresh => (None, None, Some(error)),
        Err(error) => return Err(error.into()),
    };

    let (to_engine, engine_asks) = mpsc::unbounded_channel();
    let signalled = on_signals(to_engine.clone())?;
    let (events, event_feed) = mpsc::unbounded_channel();
    let mut ledger = Ledger::new(Clock, journal.last_seq(), journal, events);
    let publishing = tokio::spawn(publish(event_feed, view, hub.clone()));
    let (beat, beats) = watch::channel(0u64);
    let (end, ended) = watch::channel(false);
    let (up, mut guarded) = watch::channel(false);
    let guarding = tokio::spawn(guardian::guard(
        state.path().to_owned(),
        run.path().to_owned(),
        beats,
        ended,
        to_engine.clone(),
        up,
    ));
    let listening = tokio::spawn(listen(asks, to_engine.clone()));
    let counting = tokio::spawn(count(hub, to_engine));
    if let Some(error) = deaf {
        ledger.emit(Body::Warning(said!(
            "no console can attach to this keeper: {error}; everything is put back all the same",
            "终端无法连接本守护进程：{error}；一切照常恢复"
        )));
    }
    ready();
    let (before, after) = match &entry {
        Entry::Fresh => (Span::ZERO, Span::ZERO),
        Entry::TakeOver(_) => pauses(&mut ledger, &takeovers),
    };
    match &entry {
        // From the first record on there is someone to take over.
        Entry::Fresh => {
            let _ = tokio::time::timeout(DEADMAN_PATIENCE.into(), guarded.wait_for(|up| *up)).await;
        }
        // A recovery waits for nobody, unless those before it have died one after another.
        Entry::TakeOver(_) => pace::wait(before, || beat.send_modify(|n| *n += 1)).await,
    }

    let setup = Setup {
        plan,
        schedule,
        drivers,
        secrets,
        clock: Clock,
        ledger,
        asks: engine_asks,
        heartbeat: Box::new(move || beat.send_modify(|n| *n += 1)),
    };
    let begin = match entry {
        Entry::Fresh => Begin::Fresh,
        Entry::TakeOver(cause) => Begin::TakeOver {
            facts: Box::new(facts),
            damage,
            cause,
            pause: after,
        },
    };
    let outcome = setup.run(begin).await;

    // The engine and its ledger are gone: the feed ends when the last event has been published.
    let _ = publishing.await;
    environment.release();
    let dismiss = move || {
        end.send_replace(true);
    };
    leave(run, server, dismiss).await;
    let _ = guarding.await;
    for task in [listening, counting, signalled] {
        task.abort();
    }
    Ok(Some(outcome))
}

/// When other keepers have taken the run over, oldest first.
fn takeovers(events: &[Event]) -> Vec<Moment> {
    let taken = events.iter().filter(|e| matches!(e.body, Body::TakenOver { .. }));
    taken.map(|e| e.at).collect()
}

/// How long to wait before the faults are stopped and after it, if the keepers before died one after another; says so in the
/// journal.
fn pauses(ledger: &mut Ledger, takeovers: &[Moment]) -> (Span, Span) {
    let pause = pace::pause_before(takeovers, Clock.now());
    let (before, after) = pace::around_the_faults(pause);
    if pause > Span::ZERO {
        let first = match before {
            Span::ZERO => said!("at once", "立即"),
            before => said!("after {before}", "在 {before} 后"),
        };
        let keepers = takeovers.len();
        let what = said!(
            first;
            "{keepers} keepers of this run have died one after another: this one stops the faults {first}, and waits {after} before it puts back anything else; keeper.log says why they died",
            "本演练已有 {keepers} 个守护进程相继死亡：这一个{first}停止故障，再等 {after} 才恢复其他；死因见 keeper.log"
        );
        ledger.emit(Body::Warning(what));
    }
    (before, after)
}

/// Takes leave of the consoles, tidies up, and then dismisses the deadman, which leaves last: until here it ends a keeper that
/// hangs, and tidies up in its place.
async fn leave(run: &RunDir, server: Option<Server>, dismiss: impl FnOnce()) {
    if let Some(server) = server {
        server.close().await;
    }
    if let Err(error) = tidy_up(run) {
        tracing::error!(%error, "the run is over, and something of it is still in its directory");
    }
    dismiss();
}

/// Removes what only an open run needs: its secrets, and where its socket was.
fn tidy_up(run: &RunDir) -> Result<(), StateError> {
    run.remove_secrets()?;
    run.forget_socket()
}

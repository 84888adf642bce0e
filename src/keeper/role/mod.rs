//! The keeper's role: lock, journal, socket, deadman, engine, and a clean end.

mod ending;
mod error;
mod held;
mod listening;
mod signals;
mod tasks;
#[cfg(test)]
mod tests;

pub use error::KeeperError;

use std::sync::Arc;

use self::{
    ending::give_back,
    held::{SoFar, take_locks},
    listening::Listening,
    tasks::Tasks,
};
use super::pace;
use crate::{
    drill::schedule::Schedule,
    drivers::Drivers,
    engine::{Begin, Ledger, Setup},
    journal::{Clock, RunDir, StateDir},
    model::{
        event::{Body, Outcome},
        phase::Cause,
        said::said,
        time::{Moment, Span},
    },
};

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
    let Some((locks, so_far)) = take_locks(state, run, &plan, &entry).await? else {
        return Ok(None);
    };
    let schedule = Schedule::of(&plan.drill)?;
    let secrets = run.secrets()?;
    let drivers = Arc::new(Drivers::new(&plan, secrets.clone())?);
    let SoFar {
        journal,
        facts,
        damage,
        takeovers,
        view,
    } = so_far;
    let Listening {
        server,
        deaf,
        consoles,
    } = Listening::open(run, &plan, view, &entry).await?;
    let (mut tasks, side) = Tasks::spawn(state, run, consoles)?;
    let mut ledger = Ledger::new(Clock, journal.last_seq(), journal, side.events);
    if let Some(error) = deaf {
        ledger.emit(Body::Warning(said!(
            "no console can attach to this keeper: {error}; everything is put back all the same",
            "终端无法连接本守护进程：{error}；一切照常恢复"
        )));
    }
    ready();
    let beat = move || side.beat.send_modify(|n| *n += 1);
    let begin = match entry {
        Entry::Fresh => {
            tasks.deadman_stands_by().await;
            Begin::Fresh
        }
        // A recovery waits for nobody, unless those before it have died one after another.
        Entry::TakeOver(cause) => {
            let (before, pause) = pauses(&mut ledger, &takeovers);
            pace::wait(before, &beat).await;
            Begin::TakeOver {
                facts: Box::new(facts),
                damage,
                cause,
                pause,
            }
        }
    };
    let setup = Setup {
        plan,
        schedule,
        drivers,
        secrets,
        clock: Clock,
        ledger,
        asks: side.asks,
        heartbeat: Box::new(beat),
    };
    let ended = setup.run(begin).await;
    tasks.all_is_published().await;
    give_back(locks.environment, &ended);
    tasks.end(run, server, &ended).await;
    Ok(Some(ended.outcome))
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

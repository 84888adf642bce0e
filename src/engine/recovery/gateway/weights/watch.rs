//! A stage of the way back, held: the guard is watched, and that the weights stay what was set.

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, haproxy::Server},
    engine::recovery::{Scene, elapsed, seen, together, unread},
    model::{
        amount::Share,
        recovery::StepId,
        said::{Said, said},
        time::Span,
    },
};

use super::{
    ramp::{Climb, Rising},
    target::Target,
};

/// More often than that is a weight not put right: someone else is setting it.
const CORRECTIONS: u32 = 3;

/// How a stage went.
pub(super) enum Watched {
    /// The guard held for the whole time, with the weights of the stage.
    Held,
    /// Which guard is bad.
    Bad(Said),
}

/// Holds a stage; tells which guard is bad for more than one of its samples. A stage never ends on a bad one, nor on
/// weights that are not its own or cannot be read.
pub(super) async fn hold(
    scene: &Scene,
    hold: Span,
    share: Share,
    climb: &mut Climb,
    rising: &mut Vec<Rising<'_>>,
) -> Watched {
    let mut begin = Instant::now();
    let mut bad_since = None;
    let mut blind_since = None;
    loop {
        let in_place = are_in_place(scene, climb, rising, &mut blind_since).await;
        if rising.is_empty() {
            return Watched::Held;
        }
        if !in_place {
            begin = Instant::now();
        }
        match scene.bus.guard_holds() {
            Some(which) => {
                let since = *bad_since.get_or_insert_with(Instant::now);
                if elapsed(since) > scene.plan.drill.guard.every {
                    return Watched::Bad(which);
                }
            }
            None => {
                bad_since = None;
                if in_place && elapsed(begin) >= hold {
                    return Watched::Held;
                }
            }
        }
        let so_far = Span::seconds(elapsed(begin).0 / 1000);
        scene.waiting(
            StepId::Traffic,
            said!(
                "{share} held {so_far} of {hold}",
                "{share} 已保持 {so_far}/{hold}"
            ),
        );
        scene.pause().await;
    }
}

/// Reads the weights, puts right what is not as set, and tells whether all were as set. A load balancer that cannot be
/// read for the time of a step is given up; the others go on.
async fn are_in_place(
    scene: &Scene,
    climb: &mut Climb,
    rising: &mut Vec<Rising<'_>>,
    blind_since: &mut Option<Instant>,
) -> bool {
    let look = rising
        .iter()
        .map(async |r| (r.clone(), r.target.balancer.balancing.servers().await));
    let (mut all, mut blind) = (true, false);
    for (Rising { target, at }, servers) in together(look).await {
        match servers {
            Err(error) => {
                (all, blind) = (false, true);
                let since = *blind_since.get_or_insert_with(Instant::now);
                if !error.may_pass() || elapsed(since) > scene.drivers.patience().step {
                    lose(climb, rising, &target, &error);
                }
            }
            Ok(servers) if target.is(&servers, at) => {}
            Ok(servers) => {
                all = false;
                climb.corrections += 1;
                let found = match target.now(&servers) {
                    Some(Server { weight, state, .. }) => said!(
                        name = target.name();
                        "{name} had weight {weight}, {state:?} and not {at}",
                        "{name} 曾为权重 {weight}，{state:?}，应为 {at}"
                    ),
                    None => said!(
                        name = target.name();
                        "{name} was no longer in its backend",
                        "{name} 已不在其 backend 中"
                    ),
                };
                if climb.corrections > CORRECTIONS || target.now(&servers).is_none() {
                    let what = target.without_all_traffic();
                    let why = said!(found; "{found}: something else changes it", "{found}：有别处在改");
                    climb.give_up(
                        rising,
                        &target,
                        seen(StepId::Traffic, what, why, Some(target.by_hand())),
                    );
                } else if let Err(error) = target.admit(scene, at).await {
                    lose(climb, rising, &target, &error);
                } else {
                    climb.notes.push(said!(
                        found;
                        "{found} (reloaded?): put right",
                        "{found}（重载过？）：已改正"
                    ));
                }
            }
        }
    }
    if !blind {
        *blind_since = None;
    }
    all
}

fn lose(climb: &mut Climb, rising: &mut Vec<Rising<'_>>, target: &Target<'_>, error: &DriverError) {
    let what = target.without_all_traffic();
    climb.give_up(
        rising,
        target,
        unread(StepId::Traffic, what, error, Some(target.by_hand())),
    );
}

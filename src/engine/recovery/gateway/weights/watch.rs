//! A stage of the way back, held: the guard is watched, and that the weights stay what was set.

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, haproxy::Server},
    engine::recovery::{Scene, elapsed, gateway::held::Held, together, unread},
    model::{
        amount::Share,
        recovery::{Leftover, StepId},
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
    let mut held = Held::starting(hold, scene.drivers.patience().step);
    let mut bad_since = None;
    loop {
        let in_place = are_in_place(scene, climb, rising, &mut held).await;
        if rising.is_empty() {
            return Watched::Held;
        }
        match scene.bus.bad_guard() {
            Some(which) => {
                let since = *bad_since.get_or_insert_with(Instant::now);
                if elapsed(since) > scene.plan.drill.guard.every || held.is_overdue() {
                    return Watched::Bad(which);
                }
            }
            None => {
                bad_since = None;
                if in_place && held.is_over() {
                    return Watched::Held;
                }
            }
        }
        let so_far = held.so_far();
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

/// Reads the weights, puts right what is not as set, and tells whether all were seen as set. A load balancer that cannot be
/// read for the time of a step, or whose stage is overdue, is given up; the others go on.
async fn are_in_place(
    scene: &Scene,
    climb: &mut Climb,
    rising: &mut Vec<Rising<'_>>,
    held: &mut Held,
) -> bool {
    let look = rising
        .iter()
        .map(async |r| (r.clone(), r.target.balancer.balancing.servers().await));
    let mut all = true;
    for (Rising { target, at }, servers) in together(look).await {
        match servers {
            Err(error) => {
                all = false;
                if held.is_lost(target.name().en()) || !error.may_pass() {
                    lose(climb, rising, &target, &error);
                }
            }
            Ok(servers) if target.is(&servers, at) => held.seen(target.name().en()),
            Ok(servers) => {
                all = false;
                held.seen(target.name().en());
                climb.corrections += 1;
                let found = match target.now(&servers) {
                    Some(Server { weight, state, .. }) => {
                        let state = state.as_str();
                        said!(
                            name = target.name();
                            "{name} had weight {weight}, {state} and not {at}",
                            "{name} 曾为权重 {weight}，{state}，应为 {at}"
                        )
                    }
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
                        Leftover::seen(StepId::Traffic, what, why, Some(target.by_hand())),
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
                held.begin_anew();
            }
        }
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

//! A stage of the way back, held: the guard is watched, and that the weights stay what was set.

use crate::{
    drivers::{error::DriverError, haproxy::Server},
    engine::recovery::{
        Scene,
        gateway::held::{CORRECTIONS, Held, InPlace, Watched},
        together, unread,
    },
    model::{
        amount::Share,
        recovery::{Leftover, StepId},
        said::said,
        time::Span,
    },
};

use super::{
    ramp::{Climb, Rising},
    target::Target,
};

/// Holds a stage with the weights that it has set.
pub(super) async fn hold(
    scene: &Scene,
    hold: Span,
    share: Share,
    climb: &mut Climb,
    rising: &mut Vec<Rising<'_>>,
) -> Watched {
    let mut held = Held::starting(hold, scene.drivers.patience().step);
    loop {
        let in_place = are_in_place(scene, climb, rising, &mut held).await;
        if let Some(watched) = held.outcome(scene, in_place) {
            return watched;
        }
        held.wait(scene, share).await;
    }
}

/// Reads the weights, puts right what is not as set, and tells whether all were seen as set. A load balancer that cannot be
/// read for the time of a step, or whose stage is overdue, is given up; the others go on.
async fn are_in_place(
    scene: &Scene,
    climb: &mut Climb,
    rising: &mut Vec<Rising<'_>>,
    held: &mut Held,
) -> InPlace {
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
    InPlace::of(rising, all)
}

fn lose(climb: &mut Climb, rising: &mut Vec<Rising<'_>>, target: &Target<'_>, error: &DriverError) {
    let what = target.without_all_traffic();
    climb.give_up(
        rising,
        target,
        unread(StepId::Traffic, what, error, Some(target.by_hand())),
    );
}

//! Step 6: traffic back in stages, each held and watched, until weights and states are those of the snapshot.

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, haproxy::Server},
    model::{
        amount::Share,
        recovery::{Leftover, StepId, StepState},
        snapshot::{GatewayServer, GatewayState},
        time::Span,
    },
};

use super::{
    Scene, StepEnd, breaker_steps, elapsed,
    gateway::{Door, admit, door, is_as_before, now, set_by_hand, unreadable, weigh},
    seen, unread,
};

/// Tries of one stage before the way back ends there.
const TRIES: u32 = 2;

/// Brings traffic back in stages, each held and watched, until weights and states are the snapshot's; then sees the
/// breakers closed by real calls.
pub async fn traffic(scene: &Scene) -> StepEnd {
    let back = match door(scene) {
        None => StepEnd::absent(),
        Some(Err(error)) => unreadable(scene, StepId::Traffic, &error, None),
        Some(Ok(door)) => ramp(scene, &door).await,
    };
    back.and(breaker_steps::confirm(scene).await)
}

async fn ramp(scene: &Scene, door: &Door<'_>) -> StepEnd {
    let begin = Instant::now();
    let servers = match scene.persist(scene.deadline(), || door.haproxy.servers()).await {
        Ok(servers) => servers,
        Err(error) => return unreadable(scene, StepId::Traffic, &error, Some(door)),
    };
    let before = &scene.snapshot.gateway;
    let differing: Vec<&GatewayServer> = before.iter().filter(|b| !is_as_before(&servers, b)).collect();
    if differing.is_empty() {
        return StepEnd::new(StepState::Nothing, "weights and states are as before");
    }
    let climb = climb(scene, door, &differing, &servers).await;
    let mut detail = climb.notes.join("; ");
    let leftovers = match climb.stopped {
        Some(why) => differing.iter().map(|b| partly(door, b, &why)).collect(),
        None => restore(scene, door, &differing).await,
    };
    if leftovers.is_empty() {
        let weights: Vec<String> = differing
            .iter()
            .map(|b| format!("{} weight {}", b.instance, b.weight))
            .collect();
        let took = Span::seconds(elapsed(begin).0 / 1000);
        detail = format!(
            "{} in {took}{}{detail}",
            weights.join(", "),
            if detail.is_empty() { "" } else { "; " }
        );
    }
    StepEnd::of(StepState::Done, detail, leftovers)
}

/// Why the way up ended before its last stage.
enum Stop {
    /// Users were hurt by what was back.
    Guard(String),
    /// The gateway did not do as asked.
    Gateway(DriverError),
}

struct Climb {
    notes: Vec<String>,
    /// Why the way up ended before its last stage.
    stopped: Option<Stop>,
}

async fn climb(scene: &Scene, door: &Door<'_>, differing: &[&GatewayServer], servers: &[Server]) -> Climb {
    let mut climb = Climb {
        notes: Vec::new(),
        stopped: None,
    };
    // Servers that took no traffic before the drill are only put back as they were, at the end.
    let mut rising: Vec<(&GatewayServer, u32)> = differing
        .iter()
        .filter(|b| b.state == GatewayState::Ready)
        .map(|b| (*b, now(servers, b).map_or(0, takes)))
        .filter(|(b, at)| *at < b.weight)
        .collect();
    if rising.is_empty() {
        return climb;
    }
    let gated = calm(scene, "guard before traffic returns").await;
    if let Err(which) = &gated {
        // Waiting longer would only keep capacity away from a system that may be short of it.
        climb.notes.push(format!(
            "the guard did not hold before traffic came back: {which}"
        ));
    }
    for share in stages(door.ramp) {
        let mut tries = 0;
        loop {
            tries += 1;
            let lower: Vec<(&GatewayServer, u32)> = rising.clone();
            let mut moved = false;
            for (server, at) in &mut rising {
                let to = stage_weight(server.weight, share);
                if to <= *at {
                    continue;
                }
                if let Err(error) = admit(scene, door, server, to).await {
                    climb.stopped = Some(Stop::Gateway(error));
                    return climb;
                }
                (*at, moved) = (to, true);
            }
            if !moved {
                break;
            }
            let watched = hold(scene, door.hold, share).await;
            let Some(which) = watched.filter(|_| gated.is_ok()) else {
                break;
            };
            climb.notes.push(format!("at {share} the guard was bad: {which}"));
            for (server, at) in &lower {
                // The weight below is safer than none: if it cannot be set, the final read shows it.
                if weigh(scene, door, server, *at, scene.deadline()).await.is_err() {
                    climb
                        .notes
                        .push(format!("{} could not be lowered", server.instance));
                }
            }
            rising = lower;
            if tries == TRIES || calm(scene, "guard after stepping back").await.is_err() {
                climb.stopped = Some(Stop::Guard(format!("the guard is bad at {share}: {which}")));
                return climb;
            }
        }
    }
    climb
}

/// The weight that takes traffic now.
fn takes(server: &Server) -> u32 {
    match server.state {
        GatewayState::Ready => server.weight,
        GatewayState::Drain | GatewayState::Maint => 0,
    }
}

/// The stages of the ramp; the last is always everything.
fn stages(ramp: &[Share]) -> impl Iterator<Item = Share> {
    let below = ramp.iter().copied().filter(|s| s.0 < 1.0);
    below.chain([Share::ALL])
}

/// Never 0 for a server that had a weight: 10 % of 1 is 1.
fn stage_weight(weight: u32, share: Share) -> u32 {
    let scaled = (f64::from(weight) * share.0).round() as u32;
    scaled.clamp(1.min(weight), weight)
}

/// Holds a stage; tells which guard is bad for more than one of its samples. A stage never ends on a bad one.
async fn hold(scene: &Scene, hold: Span, share: Share) -> Option<String> {
    let begin = Instant::now();
    let mut bad_since = None;
    loop {
        match scene.bus.guard_holds() {
            Some(which) => {
                let since = *bad_since.get_or_insert_with(Instant::now);
                if elapsed(since) > scene.plan.drill.guard.every {
                    return Some(which);
                }
            }
            None => {
                bad_since = None;
                if elapsed(begin) >= hold {
                    return None;
                }
            }
        }
        let so_far = Span::seconds(elapsed(begin).0 / 1000);
        scene.waiting(StepId::Traffic, format!("{share} held {so_far} of {hold}"));
        scene.pause().await;
    }
}

/// Waits for every guard to hold; tells which one does not if the patience ends.
async fn calm(scene: &Scene, what: &str) -> Result<(), String> {
    let deadline = Instant::now() + scene.drivers.patience().guard.into();
    loop {
        match scene.bus.guard_holds() {
            None => return Ok(()),
            Some(which) if Instant::now() >= deadline => return Err(which),
            Some(which) => scene.waiting(StepId::Traffic, format!("{what}: {which}")),
        }
        scene.pause().await;
    }
}

/// The snapshot's weights and states exactly.
async fn restore(scene: &Scene, door: &Door<'_>, differing: &[&GatewayServer]) -> Vec<Leftover> {
    let mut leftovers = Vec::new();
    for server in differing {
        if let Err(error) = admit(scene, door, server, server.weight).await {
            let what = format!("weight and state of {} at the gateway", server.instance);
            leftovers.push(unread(
                StepId::Traffic,
                what,
                &error,
                Some(set_by_hand(door, server)),
            ));
        }
    }
    leftovers
}

fn partly(door: &Door<'_>, before: &GatewayServer, stop: &Stop) -> Leftover {
    let what = format!("{} has not all of its traffic back", before.instance);
    let by_hand = Some(set_by_hand(door, before));
    match stop {
        Stop::Guard(why) => seen(StepId::Traffic, what, why, by_hand),
        Stop::Gateway(error) => unread(StepId::Traffic, what, error, by_hand),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_never_rounds_a_weight_down_to_nothing() {
        assert_eq!(stage_weight(1, Share(0.1)), 1);
        assert_eq!(stage_weight(0, Share(0.5)), 0);
        assert_eq!(
            [0.1, 0.3, 1.0].map(|s| stage_weight(100, Share(s))),
            [10, 30, 100]
        );
    }
}

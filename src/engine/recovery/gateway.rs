//! Steps 3 and 6: the targets out of the gateway, and back in stages until weights and states are those of the
//! snapshot.

use tokio::time::Instant;

use crate::{
    drivers::{
        error::DriverError,
        haproxy::{Haproxy, Server},
    },
    model::{
        amount::Share,
        playbook::Gateway,
        recovery::{Leftover, StepId, StepState},
        snapshot::{GatewayServer, GatewayState},
        time::Span,
        undo::ChangeIntent,
    },
};

use super::{Scene, StepEnd, breakers, by_hand, elapsed, seen, unread};

/// Tries of one stage of the ramp before the way back ends there.
const TRIES: u32 = 2;

/// The gateway of the playbook, and what it was before.
pub(super) struct Door<'a> {
    pub(super) haproxy: Haproxy,
    ramp: &'a [Share],
    hold: Span,
}

/// The gateway, if the playbook has one.
pub(super) fn door(scene: &Scene) -> Option<Result<Door<'_>, DriverError>> {
    let Gateway::Haproxy {
        socket,
        backend,
        ramp,
        hold,
    } = scene.plan.drill.recovery.gateway.as_ref()?;
    Some(scene.drivers.haproxy(socket, backend).map(|haproxy| Door {
        haproxy,
        ramp,
        hold: *hold,
    }))
}

/// Takes the targets out of traffic, if the system needs it and the rest can carry the load.
pub async fn drain(scene: &Scene, needed: bool) -> StepEnd {
    let door = match door(scene) {
        None => return StepEnd::absent(),
        Some(_) if !needed => return StepEnd::new(StepState::Nothing, "nothing to repair: stays in traffic"),
        Some(Err(error)) => return unreadable(scene, StepId::Drain, &error, None),
        Some(Ok(door)) => door,
    };
    let before = &scene.snapshot.gateway;
    let deadline = scene.deadline();
    let servers = match scene.persist(deadline, || door.haproxy.servers()).await {
        Ok(servers) => servers,
        Err(error) => return unreadable(scene, StepId::Drain, &error, Some(&door)),
    };
    if let Err(why) = can_carry(before, &servers) {
        return StepEnd::new(StepState::Nothing, format!("not drained: {why}"));
    }
    let out: Vec<&GatewayServer> = before
        .iter()
        .filter(|b| now(&servers, b).is_some_and(|s| s.weight > 0 && s.state == GatewayState::Ready))
        .collect();
    if out.is_empty() {
        return StepEnd::new(StepState::Nothing, "the targets take no traffic already");
    }
    let (mut lines, mut leftovers) = (Vec::new(), Vec::new());
    for server in out {
        let at = now(&servers, server).map_or(server.weight, |s| s.weight);
        lines.push(format!("{} weight {at} → 0", server.instance));
        if let Err(error) = weigh(scene, &door, server, 0, deadline).await {
            let what = format!("{} still takes traffic", server.instance);
            let command = set_by_hand(&door, &with_weight(server, 0));
            leftovers.push(unread(StepId::Drain, what, &error, Some(command)));
        }
    }
    let rest = servers
        .iter()
        .filter(|s| s.serves() && !is_target(before, s))
        .count();
    StepEnd::of(
        StepState::Done,
        format!("{}; {rest} serve", lines.join(", ")),
        leftovers,
    )
}

/// The rest can carry the load if at least one other server takes traffic, and the rest holds at least half of the
/// weight that serves: no server gets more than twice its share.
fn can_carry(before: &[GatewayServer], servers: &[Server]) -> Result<(), String> {
    let weight = |targets: bool| -> u32 {
        let serving = servers
            .iter()
            .filter(|s| s.serves() && is_target(before, s) == targets);
        serving.map(|s| s.weight).sum()
    };
    let (rest, targets) = (weight(false), weight(true));
    match rest {
        _ if before.is_empty() => Err("the snapshot has no server of the gateway".into()),
        0 => Err("no other server takes traffic".into()),
        _ if rest < targets => Err(format!(
            "the rest has weight {rest}, the targets {targets}: it cannot carry the load"
        )),
        _ => Ok(()),
    }
}

fn is_target(before: &[GatewayServer], server: &Server) -> bool {
    before.iter().any(|b| b.instance.as_str() == server.name)
}

fn now<'s>(servers: &'s [Server], before: &GatewayServer) -> Option<&'s Server> {
    servers.iter().find(|s| s.name == before.instance.as_str())
}

fn with_weight(server: &GatewayServer, weight: u32) -> GatewayServer {
    GatewayServer {
        weight,
        ..server.clone()
    }
}

/// Brings traffic back in stages, each held and watched, until weights and states are the snapshot's; then sees the
/// breakers closed by real calls.
pub async fn traffic(scene: &Scene) -> StepEnd {
    let back = match door(scene) {
        None => StepEnd::absent(),
        Some(Err(error)) => unreadable(scene, StepId::Traffic, &error, None),
        Some(Ok(door)) => ramp(scene, &door).await,
    };
    back.and(breakers::confirm(scene).await)
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

fn is_as_before(servers: &[Server], before: &GatewayServer) -> bool {
    now(servers, before).is_some_and(|s| s.weight == before.weight && s.state == before.state)
}

struct Climb {
    notes: Vec<String>,
    /// Why the way up ended before its last stage.
    stopped: Option<String>,
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
                    climb.stopped = Some(error.to_string());
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
                climb.stopped = Some(format!("the guard is bad at {share}: {which}"));
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

/// Holds a stage; tells which guard is bad as soon as one is.
async fn hold(scene: &Scene, hold: Span, share: Share) -> Option<String> {
    let begin = Instant::now();
    while elapsed(begin) < hold {
        if let Some(which) = scene.bus.guard_holds() {
            return Some(which);
        }
        let so_far = Span::seconds(elapsed(begin).0 / 1000);
        scene.waiting(StepId::Traffic, format!("{share} held {so_far} of {hold}"));
        scene.pause().await;
    }
    scene.bus.guard_holds()
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

/// Sets a weight and makes the server ready: the weight first, so that it never comes back with more than meant.
async fn admit(
    scene: &Scene,
    door: &Door<'_>,
    server: &GatewayServer,
    weight: u32,
) -> Result<(), DriverError> {
    let deadline = scene.deadline();
    weigh(scene, door, server, weight, deadline).await?;
    place(scene, door, server, deadline).await
}

async fn weigh(
    scene: &Scene,
    door: &Door<'_>,
    server: &GatewayServer,
    weight: u32,
    deadline: Instant,
) -> Result<(), DriverError> {
    let wanted = |s: &Server| s.weight == weight;
    if seen_so(scene, door, server, deadline, wanted).await? {
        return Ok(());
    }
    intend(scene, server, format!("weight {weight}")).await;
    scene
        .persist(deadline, || door.haproxy.set_weight(&server.instance, weight))
        .await?;
    confirmed(scene, door, server, deadline, wanted, "weight").await
}

/// Sets the snapshot's state, if it is another.
async fn place(
    scene: &Scene,
    door: &Door<'_>,
    server: &GatewayServer,
    deadline: Instant,
) -> Result<(), DriverError> {
    let wanted = |s: &Server| s.state == server.state;
    if seen_so(scene, door, server, deadline, wanted).await? {
        return Ok(());
    }
    intend(scene, server, format!("{:?}", server.state).to_lowercase()).await;
    scene
        .persist(deadline, || {
            door.haproxy.set_state(&server.instance, server.state)
        })
        .await?;
    confirmed(scene, door, server, deadline, wanted, "state").await
}

async fn intend(scene: &Scene, before: &GatewayServer, to: String) {
    let change = ChangeIntent::Gateway {
        instance: before.instance.clone(),
        weight: before.weight,
        state: before.state,
        to,
    };
    scene.bus.intend(change).await;
}

async fn seen_so(
    scene: &Scene,
    door: &Door<'_>,
    server: &GatewayServer,
    deadline: Instant,
    wanted: impl Fn(&Server) -> bool,
) -> Result<bool, DriverError> {
    let servers = scene.persist(deadline, || door.haproxy.servers()).await?;
    Ok(now(&servers, server).is_some_and(wanted))
}

async fn confirmed(
    scene: &Scene,
    door: &Door<'_>,
    server: &GatewayServer,
    deadline: Instant,
    wanted: impl Fn(&Server) -> bool,
    what: &str,
) -> Result<(), DriverError> {
    if seen_so(scene, door, server, deadline, wanted).await? {
        return Ok(());
    }
    Err(DriverError::Conflict {
        what: format!("{what} of {}/{}", door.haproxy.backend(), server.instance),
        answer: "accepted, and not so when read back".into(),
    })
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

fn partly(door: &Door<'_>, before: &GatewayServer, why: &str) -> Leftover {
    let what = format!("{} has not all of its traffic back", before.instance);
    seen(StepId::Traffic, what, why, Some(set_by_hand(door, before)))
}

fn set_by_hand(door: &Door<'_>, server: &GatewayServer) -> String {
    by_hand::set_server(
        door.haproxy.socket(),
        door.haproxy.backend(),
        &server.instance,
        server.weight,
        server.state,
    )
}

fn unreadable(scene: &Scene, step: StepId, error: &DriverError, door: Option<&Door<'_>>) -> StepEnd {
    let before = scene.snapshot.gateway.iter();
    let leftovers = before
        .map(|b| {
            let what = format!("weight and state of {} at the gateway", b.instance);
            unread(step, what, error, door.map(|d| set_by_hand(d, b)))
        })
        .collect();
    let mut end = StepEnd::of(StepState::Nothing, error.to_string(), leftovers);
    end.state = StepState::Failed;
    end
}

/// What differs from the snapshot now.
pub(super) async fn differences(scene: &Scene, step: StepId) -> Vec<Leftover> {
    let door = match door(scene) {
        None => return Vec::new(),
        Some(Err(error)) => return unreadable(scene, step, &error, None).leftovers,
        Some(Ok(door)) => door,
    };
    let servers = match scene.persist(scene.deadline(), || door.haproxy.servers()).await {
        Ok(servers) => servers,
        Err(error) => return unreadable(scene, step, &error, Some(&door)).leftovers,
    };
    let differing = scene
        .snapshot
        .gateway
        .iter()
        .filter(|b| !is_as_before(&servers, b));
    differing
        .map(|before| {
            let (what, why) = match now(&servers, before) {
                Some(s) => (
                    format!(
                        "{} at the gateway: weight {}, {:?}",
                        before.instance, s.weight, s.state
                    ),
                    format!("before the drill: weight {}, {:?}", before.weight, before.state),
                ),
                None => (
                    format!(
                        "{} is no longer in backend {}",
                        before.instance,
                        door.haproxy.backend()
                    ),
                    "it was there before the drill".to_owned(),
                ),
            };
            seen(step, what, why, Some(set_by_hand(&door, before)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::InstanceName;

    fn server(name: &str, weight: u32) -> Server {
        Server {
            name: name.into(),
            weight,
            initial_weight: 100,
            state: GatewayState::Ready,
            running: true,
        }
    }

    #[test]
    fn a_stage_never_rounds_a_weight_down_to_nothing() {
        assert_eq!(stage_weight(1, Share(0.1)), 1);
        assert_eq!(stage_weight(0, Share(0.5)), 0);
        assert_eq!(
            [0.1, 0.3, 1.0].map(|s| stage_weight(100, Share(s))),
            [10, 30, 100]
        );
    }

    #[test]
    fn the_rest_must_carry_the_load() {
        let before = [GatewayServer {
            instance: InstanceName::new("a").unwrap(),
            weight: 100,
            initial_weight: 100,
            state: GatewayState::Ready,
        }];
        assert!(can_carry(&before, &[server("a", 100), server("b", 100)]).is_ok());
        assert!(can_carry(&before, &[server("a", 100), server("b", 0)]).is_err());
        assert!(can_carry(&before, &[server("a", 100), server("b", 40)]).is_err());
        let down = Server {
            running: false,
            ..server("b", 100)
        };
        assert!(can_carry(&before, &[server("a", 100), down]).is_err());
    }
}

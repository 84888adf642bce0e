//! The gateway: its difference from the snapshot, how a server is changed, and step 3, the targets taken out.

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

use super::{Scene, StepEnd, by_hand, seen, unread};

/// The gateway of the playbook, and what it was before.
pub(super) struct Door<'a> {
    pub(super) haproxy: Haproxy,
    pub(super) ramp: &'a [Share],
    pub(super) hold: Span,
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

pub(super) fn now<'s>(servers: &'s [Server], before: &GatewayServer) -> Option<&'s Server> {
    servers.iter().find(|s| s.name == before.instance.as_str())
}

fn with_weight(server: &GatewayServer, weight: u32) -> GatewayServer {
    GatewayServer {
        weight,
        ..server.clone()
    }
}

pub(super) fn is_as_before(servers: &[Server], before: &GatewayServer) -> bool {
    now(servers, before).is_some_and(|s| s.weight == before.weight && s.state == before.state)
}

/// Sets a weight and makes the server ready: the weight first, so that it never comes back with more than meant.
pub(super) async fn admit(
    scene: &Scene,
    door: &Door<'_>,
    server: &GatewayServer,
    weight: u32,
) -> Result<(), DriverError> {
    let deadline = scene.deadline();
    weigh(scene, door, server, weight, deadline).await?;
    place(scene, door, server, deadline).await
}

pub(super) async fn weigh(
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

pub(super) fn set_by_hand(door: &Door<'_>, server: &GatewayServer) -> String {
    by_hand::set_server(
        door.haproxy.socket(),
        door.haproxy.backend(),
        &server.instance,
        server.weight,
        server.state,
    )
}

pub(super) fn unreadable(
    scene: &Scene,
    step: StepId,
    error: &DriverError,
    door: Option<&Door<'_>>,
) -> StepEnd {
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

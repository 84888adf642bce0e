//! A gateway that spreads traffic by weights, HAProxies or an HTTPRoute: its difference from the snapshot, and step 3, the targets taken out.
//!
//! Each load balancer has servers and states of its own, and can fail on its own: what one does not do is a leftover and
//! keeps no other from being put back.

mod balancing;
mod before;
mod load;
mod ramp;
mod route;
mod target;
mod watch;

pub(in crate::engine::recovery) use self::before::{read_gateway, read_route};
pub(super) use self::ramp::back;

use std::convert::Infallible;

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, haproxy::Server},
    engine::recovery::{Scene, StepEnd, together, unread},
    model::{
        amount::Share,
        playbook::{Gateway, RouteGateway},
        recovery::{Leftover, StepId, StepState},
        said::{Said, said},
        snapshot::{GatewayServer, GatewayState},
        time::Span,
    },
};

use self::{balancing::Balancing, route::Route, target::Target};

/// The load balancers of the playbook.
pub(super) struct Door<'a> {
    balancers: Vec<Balancer<'a>>,
    ramp: &'a [Share],
    hold: Span,
}

/// One of its load balancers, and what the targets were there before.
struct Balancer<'a> {
    balancing: Balancing<'a>,
    before: Vec<&'a GatewayServer>,
    /// Its name in the drill, where there are several.
    name: Option<&'a str>,
}

/// What was read of one load balancer.
type Look<'d> = (&'d Balancer<'d>, Result<Vec<Server>, DriverError>);

/// The load balancers of the playbook, if those are its gateway.
pub(super) fn door<'a>(scene: &'a Scene, gateway: &'a Gateway) -> Option<Result<Door<'a>, DriverError>> {
    let (sockets, backend, ramp, hold) = match gateway {
        Gateway::Haproxy {
            sockets,
            backend,
            ramp,
            hold,
        } => (sockets, backend, ramp, hold),
        Gateway::Route(gateway) => return Some(route(scene, gateway)),
        Gateway::Pods(_) => return None,
    };
    let balancers = sockets.iter().enumerate().map(|(i, socket)| {
        // A snapshot of one load balancer alone may not name it.
        let is_here = |b: &&GatewayServer| b.at == *socket || (i == 0 && b.at.is_empty());
        Ok(Balancer {
            balancing: Balancing::Haproxy(scene.drivers.haproxy(socket, backend)?),
            before: scene.snapshot.gateway.iter().filter(is_here).collect(),
            name: (sockets.len() > 1).then_some(socket),
        })
    });
    Some(balancers.collect::<Result<_, _>>().map(|balancers| Door {
        balancers,
        ramp,
        hold: *hold,
    }))
}

fn route<'a>(scene: &'a Scene, gateway: &'a RouteGateway) -> Result<Door<'a>, DriverError> {
    let before = scene.snapshot.kubernetes.route.as_ref();
    let targets = &scene.plan.drill.targets.instances;
    let route = Route::of(&scene.drivers, gateway, targets, before)?;
    Ok(Door {
        balancers: vec![Balancer {
            balancing: Balancing::Route(route),
            before: scene.snapshot.gateway.iter().collect(),
            name: None,
        }],
        ramp: &gateway.ramp,
        hold: gateway.hold,
    })
}

impl Door<'_> {
    /// Reads all load balancers, at the same time.
    async fn look(&self, scene: &Scene, deadline: Instant) -> Vec<Look<'_>> {
        let look = self.balancers.iter().map(async |balancer| {
            let servers = scene.persist(deadline, || balancer.balancing.servers()).await;
            (balancer, servers)
        });
        together(look).await
    }
}

impl<'a> Balancer<'a> {
    /// The targets at this load balancer.
    fn targets(&self) -> impl Iterator<Item = Target<'_>> {
        self.before.iter().map(|before| Target {
            balancer: self,
            before,
        })
    }

    /// A sentence about it, with its name where there are several.
    fn about(&self, said: Said) -> Said {
        match self.name {
            Some(name) => said!(said; "{name}: {said}", "{name}：{said}"),
            None => said,
        }
    }

    /// All of its targets, when it cannot be read.
    fn unread(&self, step: StepId, error: &DriverError) -> Vec<Leftover> {
        let left = |t: Target<'_>| {
            let what = said!(place = t.place(); "weight and state of {place}", "{place} 的权重与状态");
            unread(step, what, error, Some(t.by_hand()))
        };
        self.targets().map(left).collect()
    }
}

/// Takes the targets out of traffic, if the rest can carry the load.
pub(super) async fn drain(scene: &Scene, door: &Door<'_>) -> StepEnd {
    if scene.snapshot.gateway.is_empty() {
        let why = said!(
            "not drained: the snapshot has no server of the gateway",
            "未摘流：快照中没有网关节点"
        );
        return StepEnd::new(StepState::Nothing, why);
    }
    let deadline = scene.deadline();
    let (mut lines, mut leftovers) = (Vec::new(), Vec::new());
    let mut readable = Vec::new();
    for (balancer, look) in door.look(scene, deadline).await {
        match look {
            Ok(servers) => readable.push((balancer, servers)),
            Err(error) => {
                lines.push(error.said());
                leftovers.extend(balancer.unread(StepId::Drain, &error));
            }
        }
    }
    let mut rests = Vec::new();
    for (balancer, servers) in &readable {
        let rest = balancer
            .balancing
            .rest(scene, deadline, &balancer.before, servers);
        match rest.await {
            Ok(rest) => rests.push(balancer.about(rest)),
            Err(why) => {
                lines.push(said!(why = balancer.about(why); "not drained: {why}", "未摘流：{why}"));
                return StepEnd::of(StepState::Nothing, Said::sentences(&lines), leftovers);
            }
        }
    }
    let out = readable
        .iter()
        .flat_map(|(balancer, servers)| taking(balancer, servers));
    let set =
        together(out.map(async |(target, at)| (target, at, target.weigh(scene, 0, deadline).await))).await;
    if set.is_empty() && leftovers.is_empty() {
        let out = said!("the targets take no traffic already", "目标已不接流量");
        return StepEnd::new(StepState::Nothing, out);
    }
    let mut weights = Vec::new();
    for (target, at, ended) in set {
        let name = target.name();
        weights.push(said!(name; "{name} weight {at} → 0", "{name} 权重 {at} → 0"));
        if let Err(error) = ended {
            let what = said!(name; "{name} still takes traffic", "{name} 仍在接流量");
            leftovers.push(unread(StepId::Drain, what, &error, Some(target.set_by_hand(0))));
        }
    }
    lines.extend((!weights.is_empty()).then(|| Said::list(&weights)));
    lines.extend(rests);
    StepEnd::of(StepState::Done, Said::sentences(&lines), leftovers)
}

/// The targets that take traffic, and their weights.
fn taking<'d>(balancer: &'d Balancer<'d>, servers: &[Server]) -> Vec<(Target<'d>, u32)> {
    let weight = |t: &Target<'_>| t.now(servers).filter(|s| takes(s)).map(|s| s.weight);
    balancer
        .targets()
        .filter_map(|t| Some((t, weight(&t)?)))
        .collect()
}

fn takes(server: &Server) -> bool {
    server.weight > 0 && server.state == GatewayState::Ready
}

/// While pools drain, no load balancer brings a target back by itself: one that was reloaded begins again with the
/// weights of its configuration. Those that are out when this begins are kept out. Never ends.
pub(super) async fn keep_out(scene: &Scene, door: &Door<'_>) -> Infallible {
    let mut out: Vec<Target<'_>> = Vec::new();
    for (balancer, look) in door.look(scene, scene.deadline()).await {
        let servers = look.unwrap_or_default();
        let is_out = |t: &Target<'_>| t.was_serving() && t.now(&servers).is_some_and(|s| !takes(s));
        out.extend(balancer.targets().filter(is_out));
    }
    loop {
        scene.pause().await;
        for target in &out {
            let Ok(servers) = target.balancer.balancing.servers().await else {
                continue;
            };
            if target.now(&servers).is_some_and(takes) {
                let detail = said!(
                    name = target.name();
                    "{name} came back by itself: taken out again",
                    "{name} 自行回到流量：已再次摘出"
                );
                scene.waiting(StepId::Pools, detail);
                // If it cannot be set now, the next round sees it again.
                let _ = target.weigh(scene, 0, scene.deadline()).await;
            }
        }
    }
}

/// What differs from the snapshot now.
pub(super) async fn differences(scene: &Scene, door: &Door<'_>, step: StepId) -> Vec<Leftover> {
    let mut left = Vec::new();
    for (balancer, look) in door.look(scene, scene.deadline()).await {
        match look {
            Err(error) => left.extend(balancer.unread(step, &error)),
            Ok(servers) => {
                let targets = balancer.targets();
                left.extend(targets.filter_map(|t| difference(step, t, &servers, door)));
                let look = || balancer.balancing.displaced();
                match scene.persist(scene.deadline(), look).await {
                    Err(error) => left.extend(balancer.unread(step, &error)),
                    Ok(displaced) => left.extend(displaced.into_iter().map(|why| {
                        let backend = balancer.balancing.backend();
                        let what = said!("traffic of {backend}", "{backend} 的流量");
                        Leftover::seen(step, what, why, None)
                    })),
                }
            }
        }
    }
    left
}

fn difference(step: StepId, target: Target<'_>, servers: &[Server], door: &Door<'_>) -> Option<Leftover> {
    let before = target.before;
    if target.is_as_before(servers) {
        return target.is_down(servers).then(|| {
            let what = said!(place = target.place(); "{place} is DOWN", "{place} 为 DOWN");
            let why = said!(
                "its health check fails; before, it was up",
                "健康检查不通过；演练前正常"
            );
            Leftover::seen(step, what, why, None)
        });
    }
    let (what, why) = match target.now(servers) {
        Some(s) => (
            stands(&target.place(), s.weight, s.state),
            stands(&said!("before the drill", "演练前"), before.weight, before.state),
        ),
        None => (
            said!(
                place = target.place();
                "{place} is no longer in its backend",
                "{place} 已不在其 backend 中"
            ),
            said!("it was there before the drill", "演练前还在"),
        ),
    };
    let hand = match target.now(servers) {
        Some(now) => target.up_by_hand(now, door),
        None => target.by_hand(),
    };
    Some(Leftover::seen(step, what, why, Some(hand)))
}

fn stands(who: &Said, weight: u32, state: GatewayState) -> Said {
    let state = state.as_str();
    said!(who; "{who}: weight {weight}, {state}", "{who}：权重 {weight}，{state}")
}

//! How the load balancers stand before the drill, and the right to change them.

use crate::{
    drivers::{Drivers, error::DriverError, haproxy},
    engine::recovery::{
        gently,
        snapshot::{Part, check},
    },
    model::{
        event::CheckOutcome,
        kubernetes::RouteSeen,
        plan::Plan,
        playbook::{Gateway, RouteGateway},
        said::{Said, said},
        snapshot::{GatewayServer, GatewayState},
    },
};

use super::{load::can_carry, route::Route};

pub(in crate::engine::recovery) async fn read_gateway(plan: &Plan, drivers: &Drivers) -> Part<GatewayServer> {
    let (sockets, backend) = match &plan.drill.recovery.gateway {
        Some(Gateway::Haproxy { sockets, backend, .. }) => (sockets, backend),
        Some(Gateway::Route(gateway)) => return read_weights(plan, drivers, gateway).await,
        // Pods have a reading of their own.
        Some(Gateway::Pods(_)) | None => return Part::join(Vec::new()),
    };
    let looks = sockets.iter().map(async |socket| {
        let what = said!(
            "gateway backend {backend} at {socket}",
            "网关 {socket} 的 backend {backend}"
        );
        match balancer(plan, drivers, socket, backend).await {
            Err(error) => Part::refused(what, &error),
            Ok((found, carries)) => balancer_part(what, found, carries),
        }
    });
    Part::join(gently(looks).await)
}

async fn balancer(
    plan: &Plan,
    drivers: &Drivers,
    socket: &str,
    backend: &str,
) -> Result<(Vec<GatewayServer>, Result<Said, Said>), DriverError> {
    let haproxy = drivers.haproxy(socket, backend)?;
    let servers = haproxy.servers().await?;
    let targets = plan.drill.targets.instances.iter().map(async |instance| {
        let server = haproxy::find(&servers, backend, instance)?;
        haproxy.proves_right(instance).await?;
        Ok(GatewayServer {
            at: socket.to_owned(),
            instance: instance.clone(),
            weight: server.weight,
            initial_weight: server.initial_weight,
            state: server.state,
            running: server.running,
        })
    });
    let found = gently(targets)
        .await
        .into_iter()
        .collect::<Result<Vec<_>, DriverError>>()?;
    let carries = haproxy.carries().await?;
    let rest = can_carry(&found.iter().collect::<Vec<_>>(), &servers, Some(&carries));
    Ok((found, rest))
}

async fn read_weights(plan: &Plan, drivers: &Drivers, gateway: &RouteGateway) -> Part<GatewayServer> {
    let what = route_named(gateway);
    let look = async {
        let route = Route::of(drivers, gateway, &plan.drill.targets.instances, None)?;
        let servers = route.servers().await?;
        let targets = plan.drill.targets.instances.iter().map(|instance| {
            let server = haproxy::find(&servers, &route.shown(), instance)?;
            Ok(GatewayServer {
                at: route.shown(),
                instance: instance.clone(),
                weight: server.weight,
                initial_weight: server.initial_weight,
                state: server.state,
                running: server.running,
            })
        });
        let found = targets.collect::<Result<Vec<_>, DriverError>>()?;
        route.proves_right().await?;
        let rest = route.rest(&found.iter().collect::<Vec<_>>()).await?;
        Ok::<_, DriverError>((found, rest))
    };
    match look.await {
        Err(error) => Part::refused(what, &error),
        Ok((found, rest)) => balancer_part(what, found, rest),
    }
}

/// The HTTPRoute of the playbook, if it has one: what makes it known again.
pub(in crate::engine::recovery) async fn read_route(plan: &Plan, drivers: &Drivers) -> Part<RouteSeen> {
    let Some(Gateway::Route(gateway)) = &plan.drill.recovery.gateway else {
        return Part::join(Vec::new());
    };
    let look = async {
        let route = Route::of(drivers, gateway, &plan.drill.targets.instances, None)?;
        route.seen().await
    };
    match look.await {
        Err(error) => Part::refused(route_named(gateway), &error),
        Ok(seen) => Part {
            found: vec![seen],
            checks: Vec::new(),
        },
    }
}

fn route_named(gateway: &RouteGateway) -> Said {
    let route = &gateway.route;
    said!("HTTPRoute {route}", "路由 HTTPRoute {route}")
}

fn balancer_part(what: Said, found: Vec<GatewayServer>, carries: Result<Said, Said>) -> Part<GatewayServer> {
    let shown: Vec<Said> = found
        .iter()
        .map(|s| {
            let (instance, weight, state) = (&s.instance, s.weight, s.state.as_str());
            match s.state {
                GatewayState::Ready => said!("{instance} weight {weight}", "{instance} 权重 {weight}"),
                _ => said!(
                    "{instance} weight {weight}, {state}",
                    "{instance} 权重 {weight}，{state}"
                ),
            }
        })
        .collect();
    let without = |rest: Said| said!(rest; "without them {rest}", "摘除后{rest}");
    let is_out = |s: &GatewayServer| s.state != GatewayState::Ready || s.weight == 0;
    let (outcome, next, rest) = match carries {
        Err(why) => (
            CheckOutcome::Warned,
            Some(said!(
                "recovery will not take the targets out of traffic while this is so",
                "只要如此，恢复就不会摘除目标"
            )),
            why,
        ),
        Ok(rest) if found.iter().any(is_out) => (
            CheckOutcome::Warned,
            Some(said!(
                "a target takes no traffic already; recovery will leave it so",
                "有目标现已不接流量；恢复会保持原样"
            )),
            without(rest),
        ),
        Ok(rest) => (CheckOutcome::Passed, None, without(rest)),
    };
    let shown = Said::list(&shown).and(&rest);
    Part {
        found,
        checks: vec![check(what, outcome, shown, next)],
    }
}

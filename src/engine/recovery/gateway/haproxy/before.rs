//! How the load balancers stand before the drill, and the right to change them.

use crate::{
    drivers::{Drivers, error::DriverError, haproxy},
    engine::recovery::{
        gently,
        snapshot::{Part, check},
    },
    model::{
        event::CheckOutcome,
        plan::Plan,
        playbook::Gateway,
        snapshot::{GatewayServer, GatewayState},
    },
};

use super::load::can_carry;

pub(in crate::engine::recovery) async fn read_gateway(plan: &Plan, drivers: &Drivers) -> Part<GatewayServer> {
    // Pods have a reading of their own.
    let Some(Gateway::Haproxy { sockets, backend, .. }) = &plan.drill.recovery.gateway else {
        return Part::join(Vec::new());
    };
    let looks = sockets.iter().map(async |socket| {
        let what = format!("gateway backend {backend} at {socket}");
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
) -> Result<(Vec<GatewayServer>, Result<String, String>), DriverError> {
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

fn balancer_part(
    what: String,
    found: Vec<GatewayServer>,
    carries: Result<String, String>,
) -> Part<GatewayServer> {
    let shown: Vec<String> = found
        .iter()
        .map(|s| match s.state {
            GatewayState::Ready => format!("{} weight {}", s.instance, s.weight),
            state => format!(
                "{} weight {}, {}",
                s.instance,
                s.weight,
                haproxy::state_word(state)
            ),
        })
        .collect();
    let is_out = |s: &GatewayServer| s.state != GatewayState::Ready || s.weight == 0;
    let (outcome, next, rest) = match carries {
        Err(why) => (
            CheckOutcome::Warned,
            Some("recovery will not take the targets out of traffic while this is so"),
            why,
        ),
        Ok(rest) if found.iter().any(is_out) => (
            CheckOutcome::Warned,
            Some("a target takes no traffic already; recovery will leave it so"),
            format!("without them {rest}"),
        ),
        Ok(rest) => (CheckOutcome::Passed, None, format!("without them {rest}")),
    };
    let shown = format!("{}; {rest}", shown.join(", "));
    Part {
        found,
        checks: vec![check(what, outcome, shown, next)],
    }
}

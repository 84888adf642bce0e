//! How gateway, flags and retry queues stand before the drill.

use crate::{
    drivers::{
        Drivers,
        error::DriverError,
        haproxy,
        place::Fill,
        redis::{Glob, Key},
    },
    model::{
        event::CheckOutcome,
        plan::Plan,
        playbook::{Flags, Gateway, RetryQueue},
        snapshot::{FlagsSeen, GatewayServer, GatewayState, RetryQueueSeen},
    },
};

use super::{
    before_kafka::{read_topic, shared},
    before_rocketmq::read_group,
    flags_kept,
    gateway_load::can_carry,
    gently,
    snapshot::{Part, check, refused},
};

pub(super) async fn read_gateway(plan: &Plan, drivers: &Drivers) -> Part<GatewayServer> {
    // Pods have a reading of their own: before_kubernetes.
    let Some(Gateway::Haproxy { sockets, backend, .. }) = &plan.drill.recovery.gateway else {
        return Part::join(Vec::new());
    };
    let looks = sockets.iter().map(async |socket| {
        let what = format!("gateway backend {backend} at {socket}");
        match balancer(plan, drivers, socket, backend).await {
            Err(error) => Part {
                found: Vec::new(),
                checks: vec![refused(what, &error)],
            },
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

/// Why some flags are not compared, and what to do about it.
const NOT_COMPARED: &str = "a change of the others is not seen: more than 1,000, too large, of a type that is not read, or no right to read them (docs/drivers/redis.md)";

pub(super) async fn read_flags(plan: &Plan, drivers: &Drivers) -> Part<FlagsSeen> {
    let entries = plan.drill.recovery.flags.iter().enumerate();
    let parts = entries.map(async |(entry, flags)| {
        let Flags::Redis {
            server,
            pattern,
            at_most,
        } = flags;
        let what = format!("flags {pattern} in Redis {server}");
        let look = async {
            let (redis, glob) = (drivers.redis(server)?, Glob::new(pattern)?);
            let keys = redis.matching(&glob, *at_most).await?.all()?;
            let removal = redis.can_remove(&glob).await?;
            let kept = match flags_kept::read(&redis, &keys, &plan.run, plan.drill.recovery.flags.len()).await
            {
                Err(DriverError::Unauthorized { .. }) => Vec::new(),
                kept => kept?,
            };
            Ok::<_, DriverError>((keys, kept, removal))
        };
        match look.await {
            Err(error) => Part {
                found: Vec::new(),
                checks: vec![refused(what, &error)],
            },
            Ok((keys, kept, removal)) => {
                let compared = kept.iter().filter(|flag| flag.digest.is_some()).count();
                let (outcome, next) = match compared < keys.len() {
                    true => (CheckOutcome::Warned, Some(NOT_COMPARED)),
                    false => (CheckOutcome::Passed, None),
                };
                let told = match keys.is_empty() {
                    true => String::new(),
                    false => format!(", {compared} of them compared by value at the end"),
                };
                let shown = format!(
                    "{} there already, to be kept{told}; may {}",
                    keys.len(),
                    removal.command()
                );
                Part {
                    found: vec![FlagsSeen {
                        entry,
                        keys: keys.iter().map(Key::to_string).collect(),
                        kept,
                        removal,
                    }],
                    checks: vec![check(what, outcome, shown, next)],
                }
            }
        }
    });
    Part::join(gently(parts).await)
}

pub(super) async fn read_queues(plan: &Plan, drivers: &Drivers) -> Part<RetryQueueSeen> {
    let entries = plan.drill.recovery.retry_queues.iter().enumerate();
    let parts = entries.map(async |(entry, queue)| match queue {
        RetryQueue::Http { url, .. } => read_switch(drivers, entry, url).await,
        RetryQueue::Kafka(queue) => read_topic(drivers, entry, queue).await,
        RetryQueue::Rocketmq(queue) => read_group(drivers, entry, queue).await,
    });
    let mut part = Part::join(gently(parts).await);
    part.checks
        .extend(shared(&plan.drill.recovery.retry_queues, &part.found));
    part
}

async fn read_switch(drivers: &Drivers, entry: usize, url: &str) -> Part<RetryQueueSeen> {
    let what = format!("retry queue {url}");
    let look = async {
        let url = drivers.places().fill(url, Fill::default())?;
        drivers.retry().read(&url).await
    };
    match look.await {
        Err(error) => Part {
            found: Vec::new(),
            checks: vec![refused(what, &error)],
        },
        Ok(now) => {
            let outcome = if now.held {
                CheckOutcome::Warned
            } else {
                CheckOutcome::Passed
            };
            let next = now
                .held
                .then_some("it is held already; recovery will leave it so");
            let flow = if now.held { "held" } else { "flowing" };
            let rate = now.rate.map(|r| format!(" at {r}/s")).unwrap_or_default();
            let shown = format!("{} waiting, {flow}{rate}", now.backlog);
            Part {
                found: vec![RetryQueueSeen {
                    entry,
                    backlog: now.backlog,
                    held: now.held,
                    rate: now.rate,
                    quotas: Vec::new(),
                    groups: Vec::new(),
                }],
                checks: vec![check(what, outcome, shown, next)],
            }
        }
    }
}

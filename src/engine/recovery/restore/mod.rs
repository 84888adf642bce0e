//! A restore has no snapshot from before an accident: what a healthy system looks like stands in for it.

mod changes;
mod kubernetes;
#[cfg(test)]
mod tests;
mod unproved;

pub use self::unproved::unproved;

use crate::{
    drivers::Drivers,
    model::{
        event::{Check, CheckOutcome},
        group::GroupSeen,
        ids::InstanceName,
        plan::Plan,
        playbook::{Breakers, Gateway},
        recovery::Leftover,
        said::{Said, said},
        snapshot::{
            BreakerSeen, BreakerState, FlagsSeen, GatewayServer, GatewayState, RetryQueueSeen, Snapshot,
        },
    },
};

use super::{breakers::state_word, snapshot::read_playbook};

/// How the system stands, and how it is to stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Restoring {
    /// As it was read.
    pub now: Snapshot,
    /// As it is when healthy: servers ready at the weight of their configuration, breakers closed, no flag, queues
    /// flowing and empty. What someone has decided by hand (a breaker forced open, a server in maintenance) stays, and so do
    /// lists of rules.
    pub healthy: Snapshot,
    /// What could not be read.
    pub checks: Vec<Check>,
    /// What somebody has decided by hand, one line each: left as it is.
    pub decided: Vec<Said>,
    /// What could not be read, and without that cannot be put back nor proved.
    pub unknown: Vec<Leftover>,
}

/// One thing that a restore would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What, and where.
    pub what: Said,
    /// How it stands.
    pub now: Said,
    /// What becomes of it.
    pub then: Said,
}

/// Reads everything that the playbook would put back. Changes nothing.
pub async fn read_restoring(plan: &Plan, drivers: &Drivers) -> Restoring {
    let (now, read) = read_playbook(plan, drivers).await;
    // An incident is no time to refuse: what cannot be read now is tried again by the step whose matter it is.
    let checks = read
        .into_iter()
        .filter(|check| check.outcome == CheckOutcome::Refused)
        .map(|check| Check {
            outcome: CheckOutcome::Warned,
            ..check
        })
        .collect();
    let healthy = Snapshot {
        gateway: now.gateway.iter().map(healthy_server).collect(),
        breakers: healthy_breakers(plan, &now.breakers),
        rules: now.rules.clone(),
        flags: (0..plan.drill.recovery.flags.len())
            .map(|entry| healthy_flags(entry, &now.flags))
            .collect(),
        retry_queues: now.retry_queues.iter().map(healthy_queue).collect(),
        kubernetes: kubernetes::healthy(&now.kubernetes),
        foreign: Vec::new(),
    };
    Restoring {
        decided: decided(plan, &now),
        unknown: unproved(plan, &healthy),
        now,
        healthy,
        checks,
    }
}

fn decided(plan: &Plan, now: &Snapshot) -> Vec<Said> {
    let servers = now.gateway.iter().filter(|s| s.state == GatewayState::Maint);
    let servers =
        servers.map(|s| said!(place = place(plan, s); "{place} is in maintenance", "{place} 在维护中"));
    let breakers = now.breakers.iter().filter(|b| is_decided(b.state)).map(|b| {
        let state = state_word(b.state);
        said!(breaker = breaker(b); "{breaker} is {state}", "{breaker} 为 {state}")
    });
    // No list of rules says of itself whether it is the one of before.
    let rules = now.rules.iter().map(|seen| {
        let (count, which) = (seen.list.len(), seen.rules);
        let places: Vec<&str> = seen.instances.iter().map(InstanceName::as_str).collect();
        let places = places.join(", ");
        said!(
            "{count} {which} rules on {places}",
            "{places} 的 {count} 条 {which} 规则"
        )
    });
    servers.chain(breakers).chain(rules).collect()
}

/// `order-0 at the gateway`, or `order-0 at lb-b` where there are several load balancers.
fn place(plan: &Plan, GatewayServer { instance, at, .. }: &GatewayServer) -> Said {
    match &plan.drill.recovery.gateway {
        Some(Gateway::Haproxy { sockets, .. }) if sockets.len() > 1 => {
            said!("{instance} at {at}", "{at} 上的 {instance}")
        }
        _ => said!("{instance} at the gateway", "网关上的 {instance}"),
    }
}

fn breaker(BreakerSeen { name, instance, .. }: &BreakerSeen) -> Said {
    said!("breaker {name} on {instance}", "{instance} 的熔断器 {name}")
}

/// No breaker comes into such a state by itself.
fn is_decided(state: BreakerState) -> bool {
    matches!(
        state,
        BreakerState::ForcedOpen | BreakerState::Disabled | BreakerState::MetricsOnly
    )
}

fn healthy_server(now: &GatewayServer) -> GatewayServer {
    match now.state {
        GatewayState::Maint => now.clone(),
        GatewayState::Ready | GatewayState::Drain => GatewayServer {
            weight: now.initial_weight,
            state: GatewayState::Ready,
            running: true,
            ..now.clone()
        },
    }
}

/// Breakers that could not be read are to be closed as well: the step reads them again.
fn healthy_breakers(plan: &Plan, now: &[BreakerSeen]) -> Vec<BreakerSeen> {
    let mut all = Vec::new();
    for (entry, breakers) in plan.drill.recovery.breakers.iter().enumerate() {
        let Breakers::Resilience4j { callers, names, .. } = breakers else {
            continue;
        };
        let instances = plan.environment.services.get(callers).into_iter().flatten();
        for ((instance, _), name) in instances.flat_map(|i| names.iter().map(move |n| (i, n))) {
            let seen = now
                .iter()
                .find(|b| b.entry == entry && &b.instance == instance && &b.name == name);
            let state = match seen.map(|b| b.state) {
                Some(state) if is_decided(state) => state,
                _ => BreakerState::Closed,
            };
            all.push(BreakerSeen {
                entry,
                instance: instance.clone(),
                name: name.clone(),
                state,
            });
        }
    }
    all
}

/// None at all; how they are removed stays as it was found.
fn healthy_flags(entry: usize, now: &[FlagsSeen]) -> FlagsSeen {
    let seen = now.iter().find(|f| f.entry == entry);
    FlagsSeen {
        entry,
        keys: Vec::new(),
        kept: Vec::new(),
        removal: seen.map(|f| f.removal).unwrap_or_default(),
    }
}

fn healthy_queue(now: &RetryQueueSeen) -> RetryQueueSeen {
    RetryQueueSeen {
        backlog: 0,
        held: false,
        groups: now.groups.iter().map(healthy_group).collect(),
        ..now.clone()
    }
}

/// Nothing waits in its other topics; its switch stays as it was found.
fn healthy_group(now: &GroupSeen) -> GroupSeen {
    GroupSeen {
        beside: 0,
        ..now.clone()
    }
}

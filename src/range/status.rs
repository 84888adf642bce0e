//! What `GET /range/status` shows: everything that a drill could leave behind.

use std::collections::BTreeMap;

use serde::Serialize;

use super::balancer::Admin;
use super::instance::Instance;
use super::retry::RetryState;
use super::shop::Shop;
use super::traffic::Rates;
use crate::point::RuleState;

/// The range at one moment.
#[derive(Serialize)]
pub(super) struct Status {
    /// ms since the start.
    uptime_ms: u128,
    /// Fault rules in force, by instance; instances without any are left out.
    rules: BTreeMap<&'static str, Vec<RuleState>>,
    /// Degrade flags that the order service has set and that stand; none if Redis does not answer.
    flags: Option<u64>,
    /// State of every breaker, by instance and name.
    breakers: BTreeMap<&'static str, BTreeMap<String, &'static str>>,
    retry: RetryState,
    /// Gateway servers, by `backend/server`.
    servers: BTreeMap<String, ServerStatus>,
    /// Pools, by instance and name.
    pools: BTreeMap<&'static str, BTreeMap<&'static str, PoolStatus>>,
    traffic: Rates,
    weaknesses: Vec<&'static str>,
}

#[derive(Serialize)]
struct ServerStatus {
    weight: u32,
    state: &'static str,
}

#[derive(Serialize)]
struct PoolStatus {
    busy: usize,
    size: usize,
    waiting: usize,
}

/// Reads it all.
pub(super) async fn of(shop: &Shop) -> Status {
    Status {
        uptime_ms: shop.started.elapsed().as_millis(),
        rules: by_instance(shop, |instance| {
            let rules = instance.points.rules();
            (!rules.is_empty()).then_some(rules)
        }),
        flags: flags(shop).await,
        breakers: by_instance(shop, |instance| {
            let all = instance.breakers.all();
            let states = all
                .into_iter()
                .map(|(name, breaker)| (name, breaker.state().name()))
                .collect();
            Some(states).filter(|states: &BTreeMap<_, _>| !states.is_empty())
        }),
        retry: shop.retry.state(),
        servers: servers(shop),
        pools: by_instance(shop, |instance| {
            let shown = |(name, pool): (_, super::pool::Pool)| {
                (
                    name,
                    PoolStatus {
                        busy: pool.busy(),
                        size: pool.size(),
                        waiting: pool.waiting(),
                    },
                )
            };
            let pools: BTreeMap<_, _> = instance.pools().into_iter().map(shown).collect();
            (!pools.is_empty()).then_some(pools)
        }),
        traffic: shop.generator.rates(),
        weaknesses: shop.weaknesses.iter().map(|weakness| weakness.name()).collect(),
    }
}

fn by_instance<T>(shop: &Shop, of: impl Fn(&Instance) -> Option<T>) -> BTreeMap<&'static str, T> {
    shop.instances
        .iter()
        .filter_map(|instance| Some((instance.name, of(instance)?)))
        .collect()
}

async fn flags(shop: &Shop) -> Option<u64> {
    let mut standing = 0;
    for order in &shop.gateway.orders {
        standing += order.flags.standing().await?;
    }
    Some(standing)
}

fn servers(shop: &Shop) -> BTreeMap<String, ServerStatus> {
    let mut servers = BTreeMap::new();
    for backend in shop.gateway.backends.iter() {
        for server in &backend.servers {
            let state = match server.admin() {
                Admin::Ready => "ready",
                Admin::Drain => "drain",
                Admin::Maint => "maint",
            };
            let name = format!("{}/{}", backend.name, server.name);
            servers.insert(
                name,
                ServerStatus {
                    weight: server.weight(),
                    state,
                },
            );
        }
    }
    servers
}

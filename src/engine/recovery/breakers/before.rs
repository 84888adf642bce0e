//! How breakers and lists of rules stand before the drill, and the proof that they can be brought back.

use std::collections::BTreeMap;

use futures::future::join_all;

use crate::{
    drivers::{Drivers, error::DriverError, place::Fill, resilience4j, sentinel},
    engine::recovery::{
        gently,
        snapshot::{Part, check, refused},
    },
    model::{
        event::{Check, CheckOutcome},
        ids::{InstanceName, ServiceName},
        plan::Plan,
        playbook::{Breakers, SentinelRules, Via},
        snapshot::{BreakerSeen, BreakerState, RulesSeen},
    },
};

use super::state_word;

/// All lists of rules together. The snapshot is one line of the journal.
const MAX_RULES: usize = 256 * 1024;

pub(in crate::engine::recovery) async fn read_breakers(plan: &Plan, drivers: &Drivers) -> Part<BreakerSeen> {
    let entries = plan.drill.recovery.breakers.iter().enumerate();
    let parts = entries.map(async |(entry, breakers)| {
        let Breakers::Resilience4j {
            actuator,
            callers,
            names,
            via,
        } = breakers
        else {
            return Part::join(Vec::new());
        };
        let what = format!("breakers {} on {callers}", names.join(", "));
        let instances = match instances(plan, callers, &what) {
            Ok(instances) => instances,
            Err(refused) => return nothing_but(refused),
        };
        let look = instances.into_iter().map(async |instance| {
            let base = drivers.places().fill(actuator, at(instance))?;
            let listed = drivers.resilience4j().list(&base).await?;
            let seen = names.iter().map(|name| {
                Ok(BreakerSeen {
                    entry,
                    instance: instance.clone(),
                    name: name.clone(),
                    state: resilience4j::find(&listed, &base, name)?,
                })
            });
            let seen = seen.collect::<Result<Vec<_>, DriverError>>()?;
            proves_via(drivers, via, &base, &seen).await?;
            Ok(seen)
        });
        breaker_part(what, via, gently(look).await)
    });
    Part::join(join_all(parts).await)
}

/// Proves that each breaker can be brought back in the playbook's way. Moves none: a breaker that is not closed is sent no
/// call either.
async fn proves_via(
    drivers: &Drivers,
    via: &Via,
    base: &str,
    seen: &[BreakerSeen],
) -> Result<(), DriverError> {
    let resilience4j = drivers.resilience4j();
    let proofs = seen.iter().map(async |breaker| {
        let fill = Fill {
            name: Some(&breaker.name),
            ..at(&breaker.instance)
        };
        match via {
            Via::App { url } => {
                let url = drivers.places().fill(url, fill)?;
                resilience4j.proves_half_open(&url).await?;
            }
            Via::Close => resilience4j.proves_close(base, &breaker.name).await?,
            Via::Probe { url, .. } => {
                let url = drivers.places().fill(url, fill)?;
                if breaker.state == BreakerState::Closed {
                    resilience4j.probe(&url).await?;
                }
            }
            Via::Wait => {}
        }
        Ok(())
    });
    gently(proofs).await.into_iter().collect()
}

fn breaker_part(
    what: String,
    via: &Via,
    looks: Vec<Result<Vec<BreakerSeen>, DriverError>>,
) -> Part<BreakerSeen> {
    let (mut found, mut checks) = (Vec::new(), Vec::new());
    for look in looks {
        match look {
            Ok(seen) => found.extend(seen),
            Err(error) => checks.push(refused(what.clone(), &error)),
        }
    }
    let held: Vec<String> = found
        .iter()
        .filter(|b| !matches!(b.state, BreakerState::Closed | BreakerState::HalfOpen))
        .map(|b| format!("{} on {} is {}", b.name, b.instance, state_word(b.state)))
        .collect();
    if checks.is_empty() {
        checks.push(match held.first() {
            Some(first) => check(
                what.clone(),
                CheckOutcome::Warned,
                format!("{} of {} are not closed: {first}", held.len(), found.len()),
                Some("recovery leaves them so; close them first if the drill is about them"),
            ),
            None => check(
                what.clone(),
                CheckOutcome::Passed,
                format!("{} closed", found.len()),
                None,
            ),
        });
        if *via == Via::Close {
            let found = "closing by the actuator gives up a breaker's window of calls, and its trial: all calls go through at once, and it opens again only after its minimum number of calls";
            let next = Some("`via: app` half-opens it instead: a few calls try first");
            checks.push(check(what, CheckOutcome::Warned, found.to_owned(), next));
        }
    }
    Part { found, checks }
}

pub(in crate::engine::recovery) async fn read_rules(plan: &Plan, drivers: &Drivers) -> Part<RulesSeen> {
    let entries = plan.drill.recovery.breakers.iter().enumerate();
    let lists = entries.flat_map(|(entry, breakers)| match breakers {
        Breakers::Sentinel { api, callers, rules } => {
            rules.iter().map(|which| (entry, *which, api, callers)).collect()
        }
        Breakers::Resilience4j { .. } => Vec::new(),
    });
    let parts = lists.map(async |(entry, which, api, callers)| {
        let what = format!("Sentinel {which} rules on {callers}");
        match instances(plan, callers, &what) {
            Ok(instances) => read_list(drivers, (entry, which), api, instances, what).await,
            Err(refused) => nothing_but(refused),
        }
    });
    let mut part = Part::join(join_all(parts).await);
    let size: usize = part
        .found
        .iter()
        .map(|seen| sentinel::data(&seen.list).len())
        .sum();
    if size > MAX_RULES {
        let found = format!("{size} bytes of rules are more than the {MAX_RULES} that a run keeps");
        let next = Some("name fewer lists, or callers that have the same rules");
        part.checks.push(check(
            "Sentinel rules".to_owned(),
            CheckOutcome::Refused,
            found,
            next,
        ));
    }
    part
}

async fn read_list(
    drivers: &Drivers,
    (entry, which): (usize, SentinelRules),
    api: &str,
    instances: Vec<&InstanceName>,
    what: String,
) -> Part<RulesSeen> {
    let look = instances.into_iter().map(async |instance| {
        let base = drivers.places().fill(api, at(instance))?;
        drivers.sentinel().proves_set(&base).await?;
        let list = drivers.sentinel().rules(&base, which).await?;
        Ok::<_, DriverError>((instance, list))
    });
    let mut found: Vec<RulesSeen> = Vec::new();
    let mut checks = Vec::new();
    for looked in gently(look).await {
        match looked {
            Err(error) => checks.push(refused(what.clone(), &error)),
            Ok((instance, list)) => match found.iter_mut().find(|seen| sentinel::same(&seen.list, &list)) {
                Some(seen) => seen.instances.push(instance.clone()),
                None => found.push(RulesSeen {
                    entry,
                    rules: which,
                    instances: vec![instance.clone()],
                    list,
                }),
            },
        }
    }
    if checks.is_empty() {
        checks.push(check(what, CheckOutcome::Passed, lists(&found), None));
    }
    Part { found, checks }
}

/// `2 rules on order-0, 3 rules on 7 instances`.
fn lists(found: &[RulesSeen]) -> String {
    let mut by_count: BTreeMap<usize, Vec<&InstanceName>> = BTreeMap::new();
    for seen in found {
        by_count
            .entry(seen.list.len())
            .or_default()
            .extend(&seen.instances);
    }
    let shown = by_count
        .into_iter()
        .map(|(count, instances)| match instances.as_slice() {
            [one] => format!("{count} rules on {one}"),
            several => format!("{count} rules on {} instances", several.len()),
        });
    shown.collect::<Vec<_>>().join(", ")
}

fn at(instance: &InstanceName) -> Fill<'_> {
    Fill {
        instance: Some(instance),
        name: None,
    }
}

/// The instances of a service that the playbook names.
fn instances<'a>(plan: &'a Plan, callers: &ServiceName, what: &str) -> Result<Vec<&'a InstanceName>, Check> {
    let of_service = plan.environment.services.get(callers).filter(|i| !i.is_empty());
    of_service.map(|i| i.keys().collect()).ok_or_else(|| {
        let found = format!("the environment has no instance of {callers}");
        let next = Some("name a service of allclear.yaml as `callers`");
        check(what.to_owned(), CheckOutcome::Refused, found, next)
    })
}

fn nothing_but<T>(check: Check) -> Part<T> {
    Part {
        found: Vec::new(),
        checks: vec![check],
    }
}

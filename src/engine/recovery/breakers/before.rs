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
        said::{Said, said},
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
        let listed = names.join(", ");
        let what = said!("breakers {listed} on {callers}", "{callers} 的熔断器 {listed}");
        let instances = match instances(plan, callers, &what) {
            Ok(instances) => instances,
            Err(refused) => return nothing_but(*refused),
        };
        let look = instances.into_iter().map(async |instance| {
            let what = said!("breakers {listed} on {instance}", "{instance} 的熔断器 {listed}");
            let refuse = |error: DriverError| Box::new(refused(what.clone(), &error));
            let base = drivers.places().fill(actuator, at(instance));
            let base = base.map_err(|error| refuse(error.into()))?;
            let listed = drivers.resilience4j().list(&base).await;
            let listed = listed.map_err(|error| unlisted(what.clone(), &error))?;
            let seen = names.iter().map(|name| {
                Ok(BreakerSeen {
                    entry,
                    instance: instance.clone(),
                    name: name.clone(),
                    state: resilience4j::find(&listed, &base, name)?,
                })
            });
            let seen = seen.collect::<Result<Vec<_>, _>>().map_err(refuse)?;
            proves_via(drivers, via, &base, &seen).await.map_err(refuse)?;
            Ok(seen)
        });
        breaker_part(what, via, gently(look).await)
    });
    Part::join(join_all(parts).await)
}

/// The names of breakers are not wrong where there is no list of them.
fn unlisted(what: Said, error: &DriverError) -> Box<Check> {
    let mut check = refused(what, error);
    if matches!(error, DriverError::NotThere { .. }) {
        check.next = Some(said!(
            "expose it: `circuitbreakers` in management.endpoints.web.exposure.include of that service; or correct the actuator's URL in the drill file",
            "请在该服务的 management.endpoints.web.exposure.include 中加入 `circuitbreakers`；或改正演练文件中 actuator 的地址"
        ));
    }
    Box::new(check)
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
    what: Said,
    via: &Via,
    looks: Vec<Result<Vec<BreakerSeen>, Box<Check>>>,
) -> Part<BreakerSeen> {
    let (mut found, mut checks) = (Vec::new(), Vec::new());
    for look in looks {
        match look {
            Ok(seen) => found.extend(seen),
            Err(refused) => checks.push(*refused),
        }
    }
    let held: Vec<Said> = found
        .iter()
        .filter(|b| !matches!(b.state, BreakerState::Closed | BreakerState::HalfOpen))
        .map(|b| {
            let (name, instance, state) = (&b.name, &b.instance, state_word(b.state));
            said!(
                "{name} on {instance} is {state}",
                "{instance} 的 {name} 为 {state}"
            )
        })
        .collect();
    if checks.is_empty() {
        let (open, all) = (held.len(), found.len());
        checks.push(match held.first() {
            Some(first) => check(
                what.clone(),
                CheckOutcome::Warned,
                said!(
                    first;
                    "{open} of {all} are not closed: {first}",
                    "{open}/{all} 个未闭合：{first}"
                ),
                Some(said!(
                    "recovery leaves them so; close them first if the drill is about them",
                    "恢复会保持原样；若演练与其有关，请先闭合"
                )),
            ),
            None => check(
                what.clone(),
                CheckOutcome::Passed,
                said!("{all} closed", "{all} 个均闭合"),
                None,
            ),
        });
        if *via == Via::Close {
            let found = said!(
                "closing by the actuator gives up a breaker's window of calls, and its trial: all calls go through at once, and it opens again only after its minimum number of calls",
                "用 actuator 闭合会丢弃熔断器的调用窗口与试探：调用立即全部放行，达到最少调用数后才会再断开"
            );
            let next = Some(said!(
                "`via: app` half-opens it instead: a few calls try first",
                "`via: app` 则先半开：少量调用先试"
            ));
            checks.push(check(what, CheckOutcome::Warned, found, next));
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
        let what = said!(
            "Sentinel {which} rules on {callers}",
            "{callers} 的 Sentinel {which} 规则"
        );
        match instances(plan, callers, &what) {
            Ok(instances) => read_list(drivers, (entry, which), api, instances, what).await,
            Err(refused) => nothing_but(*refused),
        }
    });
    let mut part = Part::join(join_all(parts).await);
    let size: usize = part
        .found
        .iter()
        .map(|seen| sentinel::data(&seen.list).len())
        .sum();
    if size > MAX_RULES {
        let found = said!(
            "{size} bytes of rules are more than the {MAX_RULES} that a run keeps",
            "规则共 {size} 字节，超过一次演练可保存的 {MAX_RULES}"
        );
        let next = Some(said!(
            "name fewer lists, or callers that have the same rules",
            "请减少列表，或选规则相同的调用方"
        ));
        let what = said!("Sentinel rules", "Sentinel 规则");
        part.checks.push(check(what, CheckOutcome::Refused, found, next));
    }
    part
}

async fn read_list(
    drivers: &Drivers,
    (entry, which): (usize, SentinelRules),
    api: &str,
    instances: Vec<&InstanceName>,
    what: Said,
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
fn lists(found: &[RulesSeen]) -> Said {
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
            [one] => said!("{count} rules on {one}", "{one} 有 {count} 条"),
            several => {
                let places = several.len();
                said!(
                    "{count} rules on {places} instances",
                    "{places} 个实例各有 {count} 条"
                )
            }
        });
    Said::list(&shown.collect::<Vec<_>>())
}

fn at(instance: &InstanceName) -> Fill<'_> {
    Fill {
        instance: Some(instance),
        name: None,
    }
}

/// The instances of a service that the playbook names.
fn instances<'a>(
    plan: &'a Plan,
    callers: &ServiceName,
    what: &Said,
) -> Result<Vec<&'a InstanceName>, Box<Check>> {
    let of_service = plan.environment.services.get(callers).filter(|i| !i.is_empty());
    of_service.map(|i| i.keys().collect()).ok_or_else(|| {
        let found = said!(
            "the environment has no instance of {callers}",
            "环境中没有 {callers} 的实例"
        );
        let next = Some(said!(
            "name a service of allclear.yaml as `callers`",
            "`callers` 请写 allclear.yaml 中的服务"
        ));
        Box::new(check(what.clone(), CheckOutcome::Refused, found, next))
    })
}

fn nothing_but<T>(check: Check) -> Part<T> {
    Part {
        found: Vec::new(),
        checks: vec![check],
    }
}

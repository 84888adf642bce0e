//! What is there before the drill, read in preflight, and the rights to change it, proved where that is possible.

mod again;
mod changed;
pub(super) mod kubernetes;
pub(super) mod progress;
#[cfg(test)]
pub(super) mod testing;

pub use self::again::{Again, read_again};

use std::collections::BTreeSet;

use crate::{
    drill::faults,
    drivers::{
        Drivers,
        error::DriverError,
        place::{Fill, is_per_instance},
        point::RuleSeen,
    },
    model::{
        event::{Check, CheckOutcome},
        ids::InstanceName,
        plan::Plan,
        playbook::{How, Restart},
        snapshot::Snapshot,
    },
};

use self::kubernetes::read_kubernetes;
use super::{
    breakers::before::{read_breakers, read_rules},
    flags::before::read_flags,
    gateway::weights::read_gateway,
    gently,
    queues::before::read_queues,
};

/// One part of the snapshot: what was found, and how the checks went.
pub(super) struct Part<T> {
    pub(super) found: Vec<T>,
    pub(super) checks: Vec<Check>,
}

impl<T> Part<T> {
    /// Nothing was found, since it could not be read.
    pub(super) fn refused(what: String, error: &DriverError) -> Self {
        Part {
            found: Vec::new(),
            checks: vec![refused(what, error)],
        }
    }

    pub(super) fn join(parts: Vec<Part<T>>) -> Part<T> {
        let mut all = Part {
            found: Vec::new(),
            checks: Vec::new(),
        };
        for part in parts {
            all.found.extend(part.found);
            all.checks.extend(part.checks);
        }
        all
    }
}

/// How many calls one after another a part of preflight's reading may take, each at its longest.
const CALLS: u64 = 12;

/// A part of preflight's reading within its time: a hundred instances that each answer at the last moment are refused, not
/// waited for.
pub(super) async fn bounded<T>(
    drivers: &Drivers,
    what: &str,
    part: impl Future<Output = Part<T>>,
) -> Part<T> {
    let within = drivers.patience().call * CALLS;
    match tokio::time::timeout(within.into(), part).await {
        Ok(part) => part,
        Err(_) => Part {
            found: Vec::new(),
            checks: vec![check(
                what.to_owned(),
                CheckOutcome::Refused,
                format!("not read within {within}: too many of them answer too slowly"),
                Some("find what makes them slow: a recovery would be as slow"),
            )],
        },
    }
}

/// As [`read_snapshot`]; tells how many of the things to read have been, while it takes its time.
pub async fn read_snapshot_telling(
    plan: &Plan,
    drivers: &Drivers,
    tell: impl Fn(usize, usize),
) -> (Snapshot, Vec<Check>) {
    progress::told(read_snapshot(plan, drivers), tell).await
}

/// Reads everything that recovery may change. Changes nothing. Any refused check means that the run may not start.
pub async fn read_snapshot(plan: &Plan, drivers: &Drivers) -> (Snapshot, Vec<Check>) {
    let (injectors, (snapshot, checks)) = tokio::join!(
        bounded(drivers, "injection points", read_injectors(plan, drivers)),
        read_playbook(plan, drivers),
    );
    let checks = [injectors.checks, checks, read_programs(plan, drivers)].concat();
    let foreign = injectors.found;
    (Snapshot { foreign, ..snapshot }, checks)
}

/// Everything that the playbook puts back, as it stands.
pub(super) async fn read_playbook(plan: &Plan, drivers: &Drivers) -> (Snapshot, Vec<Check>) {
    let (gateway, breakers, rules, flags, queues, (kubernetes, in_kubernetes)) = tokio::join!(
        bounded(drivers, "gateway", read_gateway(plan, drivers)),
        bounded(drivers, "breakers", read_breakers(plan, drivers)),
        bounded(drivers, "lists of rules", read_rules(plan, drivers)),
        bounded(drivers, "flags", read_flags(plan, drivers)),
        bounded(drivers, "retry queues", read_queues(plan, drivers)),
        read_kubernetes(plan, drivers),
    );
    let checks = [
        gateway.checks,
        breakers.checks,
        rules.checks,
        flags.checks,
        queues.checks,
        in_kubernetes,
    ]
    .concat();
    let snapshot = Snapshot {
        gateway: gateway.found,
        breakers: breakers.found,
        rules: rules.found,
        flags: flags.found,
        retry_queues: queues.found,
        kubernetes,
        foreign: Vec::new(),
    };
    (snapshot, checks)
}

pub(super) fn check(what: String, outcome: CheckOutcome, found: String, next: Option<&str>) -> Check {
    Check {
        what,
        outcome,
        found,
        next: next.map(str::to_owned),
    }
}

pub(super) fn refused(what: String, error: &DriverError) -> Check {
    let next = match error {
        DriverError::Unreachable { .. } | DriverError::TimedOut { .. } | DriverError::Lost { .. } => {
            "start it, or correct its address in allclear.yaml or in the drill's recovery"
        }
        DriverError::Unauthorized { .. } | DriverError::NoSecret { .. } => {
            "give allclear's user this right: without it recovery could not put this back"
        }
        DriverError::NotThere { .. } | DriverError::Place(_) => "correct the name in the drill file",
        DriverError::Setup { .. } => "correct it where the environment is described, in allclear.yaml",
        DriverError::TooMany { .. } => "narrow the pattern, or raise at_most if all of them are meant",
        _ => "look at the system: it does not answer as this driver needs",
    };
    check(what, CheckOutcome::Refused, error.to_string(), Some(next))
}

async fn read_injectors(plan: &Plan, drivers: &Drivers) -> Part<String> {
    let pairs: BTreeSet<(&InstanceName, &str)> = faults::aims(plan)
        .map(|aim| (aim.instance, aim.point()))
        .collect();
    let parts = pairs.into_iter().map(async |(instance, point)| {
        let what = format!("injection point {point} on {instance}");
        let look = async {
            let base = drivers.point_base(instance)?;
            drivers.point().proves_point(&base, point).await?;
            drivers.point().rules(&base).await
        };
        match look.await {
            Err(error) => Part::refused(what, &error),
            Ok(rules) => foreign_rules(plan, what, instance.as_str(), &rules),
        }
    });
    let mut part = Part::join(gently(parts).await);
    part.found.sort();
    part.found.dedup();
    part
}

fn foreign_rules(plan: &Plan, what: String, instance: &str, rules: &[RuleSeen]) -> Part<String> {
    let others = rules.iter().filter(|r| r.run != plan.run.as_str());
    let found: Vec<String> = others
        .map(|r| format!("{} on {instance}", r.describe()))
        .collect();
    let check = match found.as_slice() {
        [] => check(what, CheckOutcome::Passed, "there; no rule on it".into(), None),
        [first, ..] => check(
            what,
            CheckOutcome::Warned,
            format!("{} rules of others, untouched: {first}", found.len()),
            Some("if a run forgot it: allclear recover, for the run it names"),
        ),
    };
    Part {
        found,
        checks: vec![check],
    }
}

/// A script that is not there is found now, not during the accident.
fn read_programs(plan: &Plan, drivers: &Drivers) -> Vec<Check> {
    let commands = plan.drill.recovery.commands.iter().map(|command| {
        let what = format!("command {}", command.name);
        let (found, shown) = match &command.how {
            How::Run { run, check } => {
                let mut programs = std::iter::once(run).chain(check);
                (
                    programs.try_for_each(|p| drivers.proves_program(p)),
                    "its program is there",
                )
            }
            How::Http { url, check, .. } => {
                let mut urls = std::iter::once(url).chain(check.iter().map(|c| &c.url));
                (
                    urls.try_for_each(|url| leads_somewhere(plan, drivers, url)),
                    "its addresses are known",
                )
            }
        };
        match found {
            Ok(()) if command.has_check() => check(what, CheckOutcome::Passed, shown.into(), None),
            Ok(()) => check(
                what,
                CheckOutcome::Warned,
                format!("{shown}; it has no check"),
                Some("give it a `check`: success alone does not prove that it worked"),
            ),
            Err(error) => refused(what, &error),
        }
    });
    let restarts = plan.drill.recovery.pools.iter().filter_map(|pool| {
        let found = match pool.if_stuck.as_ref()? {
            Restart::Http { url } => leads_somewhere(plan, drivers, url),
            Restart::Command { run, .. } => drivers.proves_program(run),
            Restart::Kubernetes(_) | Restart::Rollout(_) => Ok(()),
        };
        let ready = pool
            .ready
            .iter()
            .try_for_each(|url| leads_somewhere(plan, drivers, url));
        Some(refused(
            format!("restart of pool {}", pool.metric),
            &found.and(ready).err()?,
        ))
    });
    commands.chain(restarts).collect()
}

/// Whether a URL can be filled for every target.
fn leads_somewhere(plan: &Plan, drivers: &Drivers, url: &str) -> Result<(), DriverError> {
    let instances = plan.drill.targets.instances.iter().map(Some);
    let whom: Vec<Option<&InstanceName>> = match is_per_instance(url) {
        true => instances.collect(),
        false => vec![None],
    };
    for instance in whom {
        drivers.places().fill(url, Fill { instance, name: None })?;
    }
    Ok(())
}

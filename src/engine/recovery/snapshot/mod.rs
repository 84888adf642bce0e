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
        said::{Said, said},
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
    pub(super) fn refused(what: Said, error: &DriverError) -> Self {
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
    what: Said,
    part: impl Future<Output = Part<T>>,
) -> Part<T> {
    let within = drivers.patience().call * CALLS;
    match tokio::time::timeout(within.into(), part).await {
        Ok(part) => part,
        Err(_) => Part {
            found: Vec::new(),
            checks: vec![check(
                what,
                CheckOutcome::Refused,
                said!(
                    "not read within {within}: too many of them answer too slowly",
                    "{within} 内未读完：太多项应答过慢"
                ),
                Some(said!(
                    "find what makes them slow: a recovery would be as slow",
                    "请查明为何慢：恢复时也会同样慢"
                )),
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
        bounded(
            drivers,
            said!("injection points", "注入点"),
            read_injectors(plan, drivers)
        ),
        read_playbook(plan, drivers),
    );
    let checks = [injectors.checks, checks, read_programs(plan, drivers)].concat();
    let foreign = injectors.found;
    (Snapshot { foreign, ..snapshot }, checks)
}

/// Everything that the playbook puts back, as it stands.
pub(super) async fn read_playbook(plan: &Plan, drivers: &Drivers) -> (Snapshot, Vec<Check>) {
    let (gateway, breakers, rules, flags, queues, (kubernetes, in_kubernetes)) = tokio::join!(
        bounded(drivers, said!("gateway", "网关"), read_gateway(plan, drivers)),
        bounded(drivers, said!("breakers", "熔断器"), read_breakers(plan, drivers)),
        bounded(
            drivers,
            said!("lists of rules", "规则列表"),
            read_rules(plan, drivers)
        ),
        bounded(drivers, said!("flags", "降级开关"), read_flags(plan, drivers)),
        bounded(
            drivers,
            said!("retry queues", "重试队列"),
            read_queues(plan, drivers)
        ),
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

pub(super) fn check(what: Said, outcome: CheckOutcome, found: Said, next: Option<Said>) -> Check {
    Check {
        what,
        outcome,
        found,
        next,
    }
}

pub(super) fn refused(what: Said, error: &DriverError) -> Check {
    let next = match error {
        DriverError::Unreachable { .. } | DriverError::TimedOut { .. } | DriverError::Lost { .. } => {
            said!(
                "start it, or correct its address in allclear.yaml or in the drill's recovery",
                "请启动它，或改正 allclear.yaml 或演练 recovery 中的地址"
            )
        }
        DriverError::Unauthorized { .. } | DriverError::NoSecret { .. } => {
            said!(
                "give allclear's user this right: without it recovery could not put this back",
                "请授予 allclear 的用户此权限：否则恢复时无法还原"
            )
        }
        DriverError::NotThere { .. } | DriverError::Place(_) => {
            said!("correct the name in the drill file", "请改正演练文件中的名称")
        }
        DriverError::Setup { .. } => said!(
            "correct it where the environment is described, in allclear.yaml",
            "请在 allclear.yaml 的环境描述中改正"
        ),
        DriverError::TooMany { .. } => said!(
            "narrow the pattern, or raise at_most if all of them are meant",
            "请收窄模式；若确指全部，请调高 at_most"
        ),
        _ => said!(
            "look at the system: it does not answer as this driver needs",
            "请查看该系统：其应答不合本驱动所需"
        ),
    };
    check(what, CheckOutcome::Refused, error.said(), Some(next))
}

async fn read_injectors(plan: &Plan, drivers: &Drivers) -> Part<String> {
    let pairs: BTreeSet<(&InstanceName, &str)> = faults::aims(plan)
        .map(|aim| (aim.instance, aim.point()))
        .collect();
    let parts = pairs.into_iter().map(async |(instance, point)| {
        let what = said!(
            "injection point {point} on {instance}",
            "{instance} 的注入点 {point}"
        );
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

fn foreign_rules(plan: &Plan, what: Said, instance: &str, rules: &[RuleSeen]) -> Part<String> {
    let others = rules.iter().filter(|r| r.run != plan.run.as_str());
    let found: Vec<Said> = others
        .map(|r| said!(rule = r.said(); "{rule} on {instance}", "{instance}：{rule}"))
        .collect();
    let count = found.len();
    let check = match found.first() {
        None => check(
            what,
            CheckOutcome::Passed,
            said!("there; no rule on it", "存在；其上无规则"),
            None,
        ),
        Some(first) => check(
            what,
            CheckOutcome::Warned,
            said!(
                first;
                "{count} rules of others, untouched: {first}",
                "他人的规则 {count} 条，未动：{first}"
            ),
            Some(said!(
                "if a run forgot it: allclear recover, for the run it names",
                "若是某次演练遗留：对该演练执行 allclear recover"
            )),
        ),
    };
    Part {
        found: found.iter().map(|rule| rule.en().to_owned()).collect(),
        checks: vec![check],
    }
}

/// A script that is not there is found now, not during the accident.
fn read_programs(plan: &Plan, drivers: &Drivers) -> Vec<Check> {
    let commands = plan.drill.recovery.commands.iter().map(|command| {
        let name = &command.name;
        let what = said!("command {name}", "命令 {name}");
        let (found, shown) = match &command.how {
            How::Run { run, check } => {
                let mut programs = std::iter::once(run).chain(check);
                (
                    programs.try_for_each(|p| drivers.proves_program(p)),
                    said!("its program is there", "程序存在"),
                )
            }
            How::Http { url, check, .. } => {
                let mut urls = std::iter::once(url).chain(check.iter().map(|c| &c.url));
                (
                    urls.try_for_each(|url| leads_somewhere(plan, drivers, url)),
                    said!("its addresses are known", "地址已知"),
                )
            }
        };
        match found {
            Ok(()) if command.has_check() => check(what, CheckOutcome::Passed, shown, None),
            Ok(()) => check(
                what,
                CheckOutcome::Warned,
                shown.and(&said!("it has no check", "未设检查")),
                Some(said!(
                    "give it a `check`: success alone does not prove that it worked",
                    "请给它一个 `check`：成功返回并不证明有效"
                )),
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
        let metric = &pool.metric;
        let what = said!("restart of pool {metric}", "线程池 {metric} 的重启");
        Some(refused(what, &found.and(ready).err()?))
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

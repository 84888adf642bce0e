//! Pools that must drain.

use super::commands::program;
use crate::{
    model::playbook::{PoolDrain, Restart},
    spec::{
        fields::Fields,
        kubernetes,
        look::{Look, level},
        values::{self, Bad, quoted},
    },
};

pub(super) fn read(fields: &Fields, look: Look) -> Option<PoolDrain> {
    let wait = fields.some_time("wait");
    let if_stuck = fields.map("if_stuck").map(|stuck| read_restart(&stuck));
    let scrape_holds = fields.one_or("scrape_holds", at_least_zero);
    let ready = fields
        .has("ready")
        .then(|| fields.one("ready", values::url(&["{instance}"])));
    let seen = look.seen(fields)?;
    let idle = level(fields, "idle_at_most", seen.metric.unit);
    Some(PoolDrain {
        metric: seen.metric.id.clone(),
        scope: seen.scope,
        idle_at_most: idle?,
        wait: wait?,
        if_stuck: match if_stuck {
            Some(restart) => Some(restart?),
            None => None,
        },
        scrape_holds: scrape_holds?,
        ready: match ready {
            Some(ready) => Some(ready?),
            None => None,
        },
    })
}

fn at_least_zero(text: &str) -> Result<f64, Bad> {
    match values::number(text)? {
        n if n >= 0.0 => Ok(n),
        _ => Err(Bad::new(format!("{} is below 0", quoted(text)))),
    }
}

/// Restarted pods are found by labels that the gateway does not change.
pub(super) fn found_without(fields: &[Fields], pools: &[PoolDrain], label: &str) {
    for (pool, fields) in pools.iter().zip(fields) {
        if let Some(Restart::Kubernetes(pods)) = &pool.if_stuck
            && let Some(fields) = fields.map("if_stuck").and_then(|stuck| stuck.map("kubernetes"))
        {
            kubernetes::found_without(&fields, pods, label);
        }
    }
}

fn read_restart(fields: &Fields) -> Option<Restart> {
    if let Some(command) = fields.map("command") {
        let run = program(&command, "run");
        let timeout = command.some_time("timeout");
        return Some(Restart::Command {
            run: run?,
            timeout: timeout?,
        });
    }
    if let Some(systemd) = fields.map("systemd") {
        let unit = systemd.one("unit", values::token);
        let mut run = systemd.ones("run", values::token);
        let timeout = systemd.some_time("timeout");
        run.extend(["systemctl", "restart", &unit?].map(str::to_owned));
        return Some(Restart::Command {
            run,
            timeout: timeout?,
        });
    }
    if let Some(pods) = fields.map("kubernetes") {
        return match pods.has("rollout") {
            true => kubernetes::rollout(&pods).map(Restart::Rollout),
            false => kubernetes::restart(&pods).map(Restart::Kubernetes),
        };
    }
    let url = fields.map("http")?.one("restart", values::url(&["{instance}"]))?;
    Some(Restart::Http { url })
}

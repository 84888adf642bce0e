//! Recovery playbooks.

mod breakers;
mod commands;
mod flags;
mod gateway;
mod pools;
mod retry_queues;
mod verify;

pub(super) use retry_queues::read_release;

use super::{dashboard::each_once, fields::Fields, look::Look};
use crate::model::playbook::{Gateway, Playbook};

/// More breakers or stages than this are surely a slip.
const MANY: usize = 100;

pub(super) fn read(fields: &Fields, look: Look) -> Option<Playbook> {
    let gateway = fields.map("gateway").map(|gateway| gateway::read(&gateway));
    let breakers = all(fields, "breakers", breakers::read);
    let flags = all(fields, "flags", |f| flags::read(&f.map("redis")?));
    let retry_queues = all(fields, "retry_queues", retry_queues::read);
    if let Some(queues) = &retry_queues {
        retry_queues::each_for_itself(&fields.maps("retry_queues"), queues);
    }
    let pools = all(fields, "pools", |f| pools::read(f, look));
    if let (Some(Some(Gateway::Pods(gateway))), Some(pools)) = (&gateway, &pools) {
        pools::found_without(&fields.maps("pools"), pools, &gateway.key);
    }
    let commands = all(fields, "commands", commands::read);
    let command_names: Vec<Fields> = fields.maps("commands");
    each_once(fields.report, command_names.iter().filter_map(|c| c.node("name")));
    let (hold, verify_within) = match fields.map("verify") {
        Some(verify) => verify::read(&verify),
        None => (verify::default_of("hold"), verify::default_of("within")),
    };
    Some(Playbook {
        gateway: match gateway {
            Some(gateway) => Some(gateway?),
            None => None,
        },
        breakers: breakers?,
        flags: flags?,
        retry_queues: retry_queues?,
        pools: pools?,
        commands: commands?,
        hold: hold?,
        verify_within: verify_within?,
    })
}

fn all<T>(fields: &Fields, key: &str, read: impl Fn(&Fields) -> Option<T>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = fields.maps(key).iter().map(read).collect();
    read.into_iter().collect()
}

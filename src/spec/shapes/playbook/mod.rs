//! Recovery playbooks.

mod breakers;
mod commands;
mod flags;
mod gateway;
mod kubernetes;
mod pools;
mod retry_queues;
mod rocketmq;
mod verify;

pub(in crate::spec) use breakers::{BREAKERS, SENTINEL_RULES, VIA};
pub(in crate::spec) use commands::COMMAND;
pub(in crate::spec) use flags::FLAGS;
pub(in crate::spec) use gateway::GATEWAY;
pub(in crate::spec) use pools::DRAIN;
pub(in crate::spec) use retry_queues::QUEUE;
pub(in crate::spec) use verify::VERIFY;

use crate::spec::shape::{Form, Rule, Shape, may};

pub(in crate::spec) static PLAYBOOK: Shape = Shape {
    name: "a recovery",
    doc: "What recovery may put back, and how. The order is fixed, not the file's. If faults are all there is to put back, say so with `verify` alone.",
    keys: &[
        may(
            "gateway",
            Form::Map(&GATEWAY),
            "How the targets are taken out of traffic and brought back.",
        ),
        may("breakers", Form::List(&Form::Map(&BREAKERS)), "Circuit breakers."),
        may("flags", Form::List(&Form::Map(&FLAGS)), "Degrade flags."),
        may("retry_queues", Form::List(&Form::Map(&QUEUE)), "Retry queues."),
        may(
            "pools",
            Form::List(&Form::Map(&DRAIN)),
            "Pools that must drain before traffic returns.",
        ),
        may(
            "commands",
            Form::List(&Form::Map(&COMMAND)),
            "Commands of your own.",
        ),
        may("verify", Form::Map(&VERIFY), "When it is over."),
    ],
    rules: &[Rule::NeedSome(&[
        "gateway",
        "breakers",
        "flags",
        "retry_queues",
        "pools",
        "commands",
        "verify",
    ])],
};

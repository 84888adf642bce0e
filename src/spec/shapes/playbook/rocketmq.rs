//! Consumer groups of RocketMQ.

use super::retry_queues::{RELEASE, WITHIN};
use crate::spec::{
    shape::{Form, Shape, may, need},
    shapes::{NAME, TOKEN},
};

pub(in crate::spec) static ROCKETMQ_QUEUE: Shape = Shape {
    name: "a RocketMQ retry queue",
    doc: "A consumer group. It is held by switching its consumption off on every master broker, released by switching it on and off, and its config goes back to what it was. Everything that the group consumes is held with it.",
    keys: &[
        need("cluster", NAME, "The cluster's name in the environment."),
        need("group", TOKEN, "The consumers' group."),
        may(
            "topic",
            TOKEN,
            "The topic whose backlog is counted. Left out: the group's own retry topic, `%RETRY%` and its name.",
        ),
        need(
            "release",
            Form::Map(&RELEASE),
            "How fast it is released, on average: messages come in bursts.",
        ),
        WITHIN,
    ],
    rules: &[],
};

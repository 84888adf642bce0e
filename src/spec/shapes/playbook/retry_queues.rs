//! Retry queues.

use super::kubernetes::QUEUE_HOLD;
use super::rocketmq::ROCKETMQ_QUEUE;
use crate::spec::{
    shape::{Form, Key, Rule, Scalar, Shape, may, need, or},
    shapes::{DURATION, NAME, TOKEN, TOKENS, URL},
};

pub(in crate::spec) static QUEUE: Shape = Shape {
    name: "a retry queue",
    doc: "A retry queue: held while breakers and pools come back, then released at a rate.",
    keys: &[
        may(
            "kafka",
            Form::Map(&KAFKA_QUEUE),
            "A topic of Kafka, held and released by its consumers' quota.",
        ),
        may(
            "rocketmq",
            Form::Map(&ROCKETMQ_QUEUE),
            "A consumer group of RocketMQ, held and released by switching it off and on.",
        ),
        may("http", Form::Map(&HTTP_QUEUE), "The application's own switch."),
    ],
    rules: &[Rule::Choose(&["kafka", "rocketmq", "http"])],
};

static KAFKA_QUEUE: Shape = Shape {
    name: "a Kafka retry queue",
    doc: "A retry topic. It is held and released by a client quota, which goes back to what it was.",
    keys: &[
        need("cluster", NAME, "The cluster's name in the environment."),
        need("topic", TOKEN, "The topic."),
        need("group", TOKEN, "The consumers' group."),
        or(
            "reset",
            Form::Word(&[
                ("earliest", "with the oldest message"),
                ("latest", "with the next message"),
            ]),
            "earliest",
            "Where the group begins in a partition without a committed offset: the consumers' `auto.offset.reset`.",
        ),
        may(
            "user",
            TOKEN,
            "The user that the consumers log in as. Left out, their client ids are limited, whoever the user.",
        ),
        may(
            "clients",
            TOKENS,
            "The consumers' client ids. Left out: those of the group's members when the run is prepared.",
        ),
        HOW_FAST,
        WITHIN,
        may("hold", Form::Map(&QUEUE_HOLD), "How it is held, if not by quota."),
    ],
    rules: &[],
};

static HTTP_QUEUE: Shape = Shape {
    name: "an HTTP retry queue",
    doc: "The application's own switch: GET reports {backlog, released, rate, held}, PUT sets {held, rate}.",
    keys: &[need("url", URL, "The resource."), HOW_FAST, WITHIN],
    rules: &[],
};

const HOW_FAST: Key = need("release", Form::Map(&RELEASE), "How fast it is released.");
pub(super) const WITHIN: Key = or("within", DURATION, "15m", "How long the release may take.");

pub(super) static RELEASE: Shape = Shape {
    name: "a release",
    doc: "How fast a retry queue is released.",
    keys: &[need("rate", Form::One(Scalar::Rate), "Messages a second.")],
    rules: &[],
};

//! allclear.yaml.

mod kafka;
mod kubernetes;
mod lease;
mod notifier;
mod prometheus;
mod redis;
mod rocketmq;

pub(in crate::spec) use kafka::KAFKA;
pub(in crate::spec) use prometheus::SECRET_FILE;
pub(in crate::spec) use redis::REDIS;
pub(in crate::spec) use rocketmq::ROCKETMQ;

use self::{
    kubernetes::KUBERNETES,
    lease::LEASE,
    notifier::NOTIFIER,
    prometheus::{PROMETHEUS, SCRAPE},
};
use super::{NAME, PATH};
use crate::spec::shape::{Form, Rule, Scalar, Shape, may, need};

const ADDRESS: Form = Form::One(Scalar::Address);
const SECRET: Form = Form::Either(&[Form::One(Scalar::Secret), Form::Map(&SECRET_FILE)]);

pub(in crate::spec) static CONFIG: Shape = Shape {
    name: "the configuration",
    doc: "Environments, and a few settings of allclear itself.",
    keys: &[
        may(
            "environments",
            Form::Named(&Form::Map(&ENVIRONMENT)),
            "The environments, by name. `range` is built in.",
        ),
        may(
            "default",
            NAME,
            "The environment that is used when `--env` is left out.",
        ),
        may(
            "dashboards",
            Form::List(&PATH),
            "More folders where dashboards are looked for.",
        ),
        may(
            "lang",
            Form::Word(&[("en", "English"), ("zh", "Chinese")]),
            "The language of screens and reports.",
        ),
        may("state_dir", PATH, "Where runs are kept."),
    ],
    rules: &[],
};

pub(in crate::spec) static ENVIRONMENT: Shape = Shape {
    name: "an environment",
    doc: "Where the system under drill is reached, and how careful one must be. Its metrics come from exactly one of `prometheus` and `scrape`.",
    keys: &[
        need(
            "stage",
            Form::Word(&[
                ("practice", "a range"),
                ("preprod", "before production"),
                ("shadow", "a copy of production's traffic"),
                ("production", "real users"),
            ]),
            "How careful one must be.",
        ),
        may("prometheus", Form::Map(&PROMETHEUS), "A Prometheus server."),
        may(
            "scrape",
            Form::Map(&SCRAPE),
            "Every instance's own metrics page, read by allclear itself.",
        ),
        may(
            "services",
            Form::Named(&Form::Named(&ADDRESS)),
            "The services, their instances, and the address of each: `{order: {order-0: \"host:8080\"}}`.",
        ),
        may(
            "redis",
            Form::Named(&Form::Map(&REDIS)),
            "Redis servers, by name.",
        ),
        may(
            "kafka",
            Form::Named(&Form::Map(&KAFKA)),
            "Kafka clusters, by name.",
        ),
        may("kubernetes", Form::Map(&KUBERNETES), "The Kubernetes cluster."),
        may(
            "rocketmq",
            Form::Named(&Form::Map(&ROCKETMQ)),
            "RocketMQ clusters, by name.",
        ),
        may(
            "gateways",
            Form::Named(&Form::One(Scalar::Socket)),
            "Load balancers, by name: `host:port`, or a unix socket's path.",
        ),
        may(
            "lease",
            Form::Map(&LEASE),
            "Where a run says to other machines that it is on this environment.",
        ),
        may("notify", Form::List(&Form::Map(&NOTIFIER)), "Who gets a message."),
    ],
    rules: &[Rule::Choose(&["prometheus", "scrape"])],
};

//! RocketMQ clusters.

use super::{ADDRESS, SECRET};
use crate::spec::{
    shape::{Form, Shape, may, need},
    shapes::TOKEN,
};

pub(in crate::spec) static ROCKETMQ: Shape = Shape {
    name: "a RocketMQ cluster",
    doc: "A RocketMQ cluster, spoken to in the clear. With a login each request is signed.",
    keys: &[
        need(
            "nameservers",
            Form::List(&ADDRESS),
            "`host:port` of its name servers.",
        ),
        may(
            "access_key",
            TOKEN,
            "The user, where the brokers want to know it. Needs `secret_key`.",
        ),
        may("secret_key", SECRET, "The user's secret key. It is never sent."),
    ],
    rules: &[],
};

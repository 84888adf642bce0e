//! The load balancer in front of the targets.

use super::kubernetes::{POD_GATEWAY, ROUTE_GATEWAY};
use crate::spec::{
    shape::{Form, Key, Rule, Scalar, Shape, may, need, or},
    shapes::{DURATION, TOKEN, TOKENS},
};

pub(in crate::spec) static GATEWAY: Shape = Shape {
    name: "a gateway",
    doc: "A load balancer in front of the targets.",
    keys: &[
        may("haproxy", Form::Map(&HAPROXY), "HAProxy, by its runtime API."),
        may(
            "kubernetes",
            Form::Map(&POD_GATEWAY),
            "Services of Kubernetes, by a label of the targets' pods.",
        ),
        may(
            "httproute",
            Form::Map(&ROUTE_GATEWAY),
            "An HTTPRoute of Kubernetes' Gateway API, by the weights of its backends.",
        ),
    ],
    rules: &[Rule::Choose(&["haproxy", "kubernetes", "httproute"])],
};

static HAPROXY: Shape = Shape {
    name: "an HAProxy",
    doc: "HAProxy, by its runtime API.",
    keys: &[
        need(
            "socket",
            Form::Either(&[TOKEN, TOKENS]),
            "`host:port`, a unix socket's path, or the name of a gateway of the environment; a list of them for several load balancers.",
        ),
        need(
            "backend",
            TOKEN,
            "The backend whose servers are the target instances.",
        ),
        RAMP,
        HOLD,
    ],
    rules: &[],
};

pub(super) const RAMP: Key = or(
    "ramp",
    Form::List(&Form::One(Scalar::Share)),
    "10%, 30%, 100%",
    "The stages of the way back; the last is 100%.",
);
pub(super) const HOLD: Key = or(
    "hold",
    DURATION,
    "30s",
    "How long each stage is held and watched.",
);

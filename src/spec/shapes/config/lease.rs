//! The lease of an environment.

use crate::spec::{
    shape::{Form, Rule, Shape, may, need},
    shapes::{NAME, TOKEN},
};

pub(super) static LEASE: Shape = Shape {
    name: "a lease",
    doc: "Where a run says to every machine that it is on this environment, so that no second one begins. It should not live on anything that a drill breaks.",
    keys: &[
        may(
            "redis",
            NAME,
            "A key in this Redis of the environment: `allclear:lease:ENVIRONMENT`.",
        ),
        may(
            "kubernetes",
            Form::Map(&IN_KUBERNETES),
            "A Lease in the environment's Kubernetes: `allclear-ENVIRONMENT`.",
        ),
    ],
    rules: &[Rule::Choose(&["redis", "kubernetes"])],
};

static IN_KUBERNETES: Shape = Shape {
    name: "a lease in Kubernetes",
    doc: "A Lease of `coordination.k8s.io/v1`.",
    keys: &[need(
        "namespace",
        TOKEN,
        "Its namespace, one of those that the environment allows.",
    )],
    rules: &[],
};

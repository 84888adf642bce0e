//! Pods and Deployments of Kubernetes.

use super::gateway::{HOLD, RAMP};
use crate::spec::{
    shape::{Form, Rule, Scalar, Shape, may, need, or},
    shapes::{DURATION, NAME, TOKEN},
};

pub(super) static POD_GATEWAY: Shape = Shape {
    name: "a gateway of pods",
    doc: "Services of Kubernetes: a pod whose label has a different value is in none of them. All of a pod's traffic goes and comes back at once.",
    keys: &[
        need("pods", Form::One(Scalar::PodLabels), PODS),
        need(
            "label",
            Form::Map(&POD_LABEL),
            "The label that Services select by.",
        ),
        may("namespace", NAME, NAMESPACE),
        or(
            "hold",
            DURATION,
            "30s",
            "How long the way back is held and watched.",
        ),
    ],
    rules: &[],
};

pub(super) static ROUTE_GATEWAY: Shape = Shape {
    name: "a gateway of a route",
    doc: "An HTTPRoute that spreads traffic by weight: each target is a Service of its own there.",
    keys: &[
        need("route", NAME, "The HTTPRoute."),
        need(
            "backend",
            Form::One(Scalar::ServiceOfTarget),
            "The Service of a target in it; `{target}` becomes the target's name.",
        ),
        may("namespace", NAME, NAMESPACE),
        RAMP,
        HOLD,
    ],
    rules: &[],
};

const PODS: &str =
    "A label selector that matches exactly one pod of each target; `{target}` becomes the target's name.";
const NAMESPACE: &str = "The namespace. Left out: the environment's, if it allows only one.";

static POD_LABEL: Shape = Shape {
    name: "a label that takes pods out",
    doc: "A label that Services select by, and that the Deployment or StatefulSet does not select by: otherwise it would make another pod.",
    keys: &[
        need("key", TOKEN, "Its key."),
        or("out", TOKEN, "false", "The value that takes a pod out."),
    ],
    rules: &[],
};

pub(super) static POD_RESTART: Shape = Shape {
    name: "a restart of pods",
    doc: "The stuck target's pod is deleted, never its successor, or its workload is rolled out anew. The new pod must be Ready before traffic returns.",
    keys: &[
        may(
            "restart",
            Form::Word(&[("targets", "the pod of each stuck target is deleted")]),
            "What is restarted, with `pods`.",
        ),
        may("pods", Form::One(Scalar::PodLabels), PODS),
        may(
            "rollout",
            Form::One(Scalar::Workload),
            "The workload of a target, with one replica: `deployment/{target}` or `statefulset/{target}`. `kubectl rollout restart`; a Deployment's new pod is Ready before the old one goes.",
        ),
        may("namespace", NAME, NAMESPACE),
    ],
    rules: &[
        Rule::Choose(&["restart", "rollout"]),
        Rule::Choose(&["pods", "rollout"]),
    ],
};

pub(super) static QUEUE_HOLD: Shape = Shape {
    name: "a hold by scale",
    doc: "The consumers' Deployment is scaled to zero, and back to exactly what it was. The release still uses the quota.",
    keys: &[
        need(
            "scale",
            Form::One(Scalar::Workload),
            "What the consumers run in: `deployment/retry-consumer`.",
        ),
        may("namespace", NAME, NAMESPACE),
    ],
    rules: &[],
};

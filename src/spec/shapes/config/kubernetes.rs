//! A Kubernetes cluster.

use crate::spec::{
    shape::{Shape, may, need},
    shapes::{PATH, TOKEN, TOKENS},
};

pub(super) static KUBERNETES: Shape = Shape {
    name: "a Kubernetes cluster",
    doc: "A Kubernetes cluster, reached as a kubeconfig says. Path and context are fixed when a run is planned; the file is read by the keeper and must stay.",
    keys: &[
        may(
            "kubeconfig",
            PATH,
            "The kubeconfig. Left out: `KUBECONFIG`, or `~/.kube/config`.",
        ),
        may("context", TOKEN, "The context. Left out: the file's current one."),
        need(
            "namespaces",
            TOKENS,
            "The namespaces that allclear may touch. Anything else is refused.",
        ),
    ],
    rules: &[],
};

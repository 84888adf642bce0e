//! The commands that put pods, labels and scales back by hand, with `kubectl`. They hold no secret: the kubeconfig does.

use serde_json::json;

use crate::{
    drivers::kubernetes::Kubernetes,
    model::{
        ids::{DeploymentName, Namespace, RouteName},
        kubernetes::{BackendSeen, Workload},
    },
};

use super::quoted;

fn kubectl(cluster: &Kubernetes, namespace: &Namespace, rest: &[&str]) -> String {
    let words = cluster
        .kubectl()
        .into_iter()
        .chain(["-n", namespace.as_str()])
        .chain(rest.iter().copied());
    let words: Vec<String> = words.map(quoted).collect();
    words.join(" ")
}

/// Deletes the pods that match, so that others take their place. Waiting for that would need the right to watch.
pub(in crate::engine::recovery) fn delete_pod(
    cluster: &Kubernetes,
    namespace: &Namespace,
    selector: &str,
) -> String {
    kubectl(
        cluster,
        namespace,
        &["delete", "pod", "-l", selector, "--wait=false"],
    )
}

/// Shows the pods that match.
pub(in crate::engine::recovery) fn show_pods(
    cluster: &Kubernetes,
    namespace: &Namespace,
    selector: &str,
) -> String {
    kubectl(cluster, namespace, &["get", "pod", "-l", selector, "-o", "wide"])
}

/// Sets a label of the pods that match, or removes it.
pub(in crate::engine::recovery) fn set_label(
    cluster: &Kubernetes,
    namespace: &Namespace,
    selector: &str,
    key: &str,
    value: Option<&str>,
) -> String {
    let label = match value {
        Some(value) => format!("{key}={value}"),
        None => format!("{key}-"),
    };
    kubectl(
        cluster,
        namespace,
        &["label", "pod", "-l", selector, "--overwrite", &label],
    )
}

/// Restarts the pods of a workload, and waits until that is done: the latter needs the right to watch.
pub(in crate::engine::recovery) fn restart_rollout(cluster: &Kubernetes, workload: &Workload) -> String {
    let what = format!("{}/{}", workload.kind, workload.name);
    let rollout = |verb: &str| kubectl(cluster, &workload.namespace, &["rollout", verb, &what]);
    format!("{} && {}", rollout("restart"), rollout("status"))
}

/// Scales a Deployment.
pub(in crate::engine::recovery) fn scale(
    cluster: &Kubernetes,
    namespace: &Namespace,
    deployment: &DeploymentName,
    replicas: u32,
) -> String {
    let (what, to) = (
        format!("deployment/{deployment}"),
        format!("--replicas={replicas}"),
    );
    kubectl(cluster, namespace, &["scale", &what, &to])
}

/// Sets the weight of a Service where it stands in an HTTPRoute, if it still stands there.
pub(in crate::engine::recovery) fn set_backend_weight<'a>(
    cluster: &Kubernetes,
    namespace: &Namespace,
    route: &RouteName,
    places: impl Iterator<Item = &'a BackendSeen>,
    weight: u32,
) -> String {
    let patch = places.flat_map(|b| {
        let at = format!("/spec/rules/{}/backendRefs/{}", b.rule, b.backend);
        [
            json!({"op": "test", "path": format!("{at}/name"), "value": b.service}),
            json!({"op": "add", "path": format!("{at}/weight"), "value": weight}),
        ]
    });
    let patch: Vec<_> = patch.collect();
    if patch.is_empty() {
        return kubectl(cluster, namespace, &["edit", "httproute", route.as_str()]);
    }
    let patch = serde_json::Value::from(patch).to_string();
    kubectl(
        cluster,
        namespace,
        &["patch", "httproute", route.as_str(), "--type=json", "-p", &patch],
    )
}

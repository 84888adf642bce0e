//! Changes at Kubernetes, or of a retry queue's own switch, that nobody answered, and that may still take effect: this
//! keeper's own, and those of one before it.

use crate::{
    drivers::{
        Drivers,
        kubernetes::{Asked, Kubernetes},
    },
    model::{plan::Plan, playbook::Gateway, undo::ChangeIntent},
};

use super::Scene;

/// Waits until no change at Kubernetes that nobody answered can take effect any more: what is read then stays so.
pub(super) async fn landed(scene: &Scene) {
    if let Ok(cluster) = scene.drivers.kubernetes() {
        cluster.landed().await;
    }
}

/// Whoever wrote these changes down may have died before their answers came.
pub(in crate::engine) fn in_doubt(plan: &Plan, drivers: &Drivers, changes: &[ChangeIntent]) {
    for change in changes {
        if let ChangeIntent::RetryQueue { url, .. } = change {
            drivers.retry().may_have_been_set(url);
        }
    }
    let Ok(cluster) = drivers.kubernetes() else {
        return;
    };
    for change in changes {
        if let Some(asked) = asked(plan, cluster, change) {
            cluster.may_have_been_asked(asked);
        }
    }
}

fn asked<'a>(plan: &'a Plan, cluster: &'a Kubernetes, change: &'a ChangeIntent) -> Option<Asked<'a>> {
    match change {
        ChangeIntent::Label { pod, .. } => Some(Asked::Label(pod)),
        ChangeIntent::Restart { pod, .. } => pod.as_ref().map(Asked::Deletion),
        ChangeIntent::Rollout { workload, .. } => Some(Asked::Rollout(workload)),
        ChangeIntent::Scale {
            namespace,
            deployment,
            ..
        } => Some(Asked::Scale(namespace, deployment)),
        ChangeIntent::Gateway { .. } => match &plan.drill.recovery.gateway {
            Some(Gateway::Route(gateway)) => {
                let namespace = cluster.namespace(gateway.namespace.as_ref()).ok()?;
                Some(Asked::Weights(namespace, &gateway.route))
            }
            _ => None,
        },
        _ => None,
    }
}

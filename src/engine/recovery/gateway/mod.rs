//! The gateway, whatever it is made of: step 3, the targets taken out, and step 6, traffic back in stages.

mod held;
pub(super) mod pods;
pub(super) mod weights;

use std::convert::Infallible;

use crate::{
    drivers::error::DriverError,
    model::{
        playbook::Gateway,
        recovery::{Leftover, StepId, StepState},
        said::said,
        snapshot::GatewayServer,
    },
};

use self::pods::PodDoor;
use super::{Scene, StepEnd, breakers, unread};

/// What stands before the targets.
enum Entrance<'a> {
    /// Load balancers or a route, with weights.
    Balancers(weights::Door<'a>),
    /// Services of Kubernetes, by a label.
    Pods(PodDoor<'a>),
}

/// What stands before the targets, if the playbook has it.
fn entrance(scene: &Scene) -> Option<Result<Entrance<'_>, DriverError>> {
    Some(match scene.plan.drill.recovery.gateway.as_ref()? {
        Gateway::Pods(gateway) => PodDoor::of(scene, gateway).map(Entrance::Pods),
        gateway @ (Gateway::Haproxy { .. } | Gateway::Route(_)) => {
            weights::door(scene, gateway)?.map(Entrance::Balancers)
        }
    })
}

/// Takes the targets out of traffic, if the system needs it and the rest can carry the load.
pub async fn drain(scene: &Scene, needed: bool) -> StepEnd {
    match entrance(scene) {
        None => StepEnd::absent(),
        Some(_) if !needed => StepEnd::new(
            StepState::Nothing,
            said!("nothing to repair: stays in traffic", "无需修复：不摘流"),
        ),
        Some(Err(error)) => nowhere(scene, StepId::Drain, &error),
        Some(Ok(Entrance::Pods(door))) => pods::drain(scene, &door).await,
        Some(Ok(Entrance::Balancers(door))) => weights::drain(scene, &door).await,
    }
}

/// While pools drain, no target comes back by itself. Never ends.
pub(super) async fn keep_out(scene: &Scene) -> Infallible {
    match entrance(scene) {
        Some(Ok(Entrance::Balancers(door))) => weights::keep_out(scene, &door).await,
        // A restarted pod comes with its template's label, and takes traffic once it is Ready: that is its own gate.
        _ => std::future::pending().await,
    }
}

/// Brings traffic back in stages, each held and watched, until weights and states are the snapshot's; then sees the
/// breakers closed by real calls.
pub async fn traffic(scene: &Scene) -> StepEnd {
    let back = match entrance(scene) {
        None => StepEnd::absent(),
        Some(Err(error)) => nowhere(scene, StepId::Traffic, &error),
        Some(Ok(Entrance::Pods(door))) => pods::back(scene, &door).await,
        Some(Ok(Entrance::Balancers(door))) => weights::back(scene, &door).await,
    };
    back.and(breakers::steps::confirm(scene).await)
}

/// What differs from the snapshot now.
pub(super) async fn differences(scene: &Scene, step: StepId) -> Vec<Leftover> {
    match entrance(scene) {
        None => Vec::new(),
        Some(Err(error)) => nowhere(scene, step, &error).leftovers,
        Some(Ok(Entrance::Pods(door))) => pods::differences(scene, &door, step).await,
        Some(Ok(Entrance::Balancers(door))) => weights::differences(scene, &door, step).await,
    }
}

/// The gateway's address leads nowhere: nothing of it can be read.
fn nowhere(scene: &Scene, step: StepId, error: &DriverError) -> StepEnd {
    let left = |b: &GatewayServer| {
        let instance = &b.instance;
        let what = said!(
            "weight and state of {instance} at the gateway",
            "{instance} 在网关的权重与状态"
        );
        unread(step, what, error, None)
    };
    let pods = scene.snapshot.kubernetes.serving.iter().map(|b| {
        let instance = &b.instance;
        let what = said!("label of {instance}'s pod", "{instance} 的 Pod 标签");
        unread(step, what, error, None)
    });
    let left = scene.snapshot.gateway.iter().map(left).chain(pods).collect();
    StepEnd::of(StepState::Failed, error.said(), left)
}

//! The pods of the targets: found again by their selector, and restarted, once in a run.

use crate::{
    drivers::{
        Drivers,
        error::{DriverError, Landing},
        kubernetes::{Kubernetes, Pod, Write},
    },
    model::{
        ids::{InstanceName, Namespace},
        kubernetes::PodSeen,
        playbook::{PodsOf, Restart},
        recovery::{Leftover, StepId},
        said::{Said, said},
        undo::ChangeIntent,
    },
};

use super::{
    Scene,
    by_hand::kubernetes::{delete_pod, show_pods},
    pools::restart::Restarted,
    together, unread,
};

/// Where the pod of a target is looked for.
pub(super) struct PodPlace<'a> {
    pub(super) cluster: &'a Kubernetes,
    pub(super) namespace: Namespace,
    pub(super) selector: String,
}

impl<'a> PodPlace<'a> {
    /// # Errors
    /// [`DriverError`] if the environment has no Kubernetes, or does not allow the namespace.
    pub(super) fn of(
        drivers: &'a Drivers,
        pods: &PodsOf,
        instance: &InstanceName,
    ) -> Result<Self, DriverError> {
        let cluster = drivers.kubernetes()?;
        Ok(Self {
            cluster,
            namespace: cluster.namespace(pods.namespace.as_ref())?.clone(),
            selector: drivers.places().fill_word(&pods.selector, Some(instance))?,
        })
    }

    /// The pods that are there, those that are being deleted as well. What has ended (a pod that was evicted stays listed) is no
    /// pod of the target any more.
    pub(super) async fn all(&self) -> Result<Vec<Pod>, DriverError> {
        let mut pods = self.cluster.pods(&self.namespace, &self.selector).await?;
        pods.retain(|pod| !pod.has_ended());
        Ok(pods)
    }

    /// The one pod that is there to stay.
    ///
    /// # Errors
    /// [`DriverError::NotThere`] without one, [`DriverError::Conflict`] with several.
    pub(super) async fn only(&self) -> Result<Pod, DriverError> {
        let mut pods = self.all().await?;
        pods.retain(|pod| !pod.is_going);
        match pods.len() {
            1 => Ok(pods.remove(0)),
            0 => Err(DriverError::NotThere {
                what: self.to_string(),
                answer: "no pod matches".into(),
            }),
            count => {
                let names: Vec<&str> = pods.iter().map(|p| p.id.name.as_str()).take(5).collect();
                Err(DriverError::Conflict {
                    what: self.to_string(),
                    answer: format!("{count} pods match where one is meant: {}", names.join(", ")),
                })
            }
        }
    }
}

impl std::fmt::Display for PodPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pod {} in namespace {}", self.selector, self.namespace)
    }
}

impl PodPlace<'_> {
    fn said(&self) -> Said {
        let (selector, namespace) = (&self.selector, &self.namespace);
        said!(
            "pod {selector} in namespace {namespace}",
            "命名空间 {namespace} 的 Pod {selector}"
        )
    }
}

/// The pod of a target as it was before the drill.
fn before<'a>(scene: &'a Scene, place: &PodPlace<'_>, instance: &InstanceName) -> Result<&'a PodSeen, Said> {
    let mut pods = scene.snapshot.kubernetes.pods.iter();
    let is_it = |p: &&PodSeen| {
        &p.instance == instance && p.selector == place.selector && p.pod.namespace == place.namespace
    };
    pods.find(is_it).ok_or_else(
        || said!(place = place.said(); "the snapshot has no {place}: untouched", "快照中没有{place}：未动"),
    )
}

/// Deletes the target's pod, if it is still the one of the snapshot. Asked for twice, it is done once: whatever has its
/// name afterwards has another UID.
///
/// # Errors
/// Why it surely did not come to it.
pub(super) async fn restart(
    scene: &Scene,
    pods: &PodsOf,
    instance: &InstanceName,
) -> Result<Restarted, Said> {
    let text = |error: DriverError| error.said();
    let place = PodPlace::of(&scene.drivers, pods, instance).map_err(text)?;
    let pod = &before(scene, &place, instance)?.pod;
    let deadline = scene.deadline();
    let now = scene.persist(deadline, || place.all()).await.map_err(text)?;
    if !now.iter().any(|p| p.id.uid == pod.uid && !p.is_going) {
        // It is on its way out, or replaced since: by an earlier keeper, or by someone else.
        return Ok(Restarted::Before);
    }
    let change = ChangeIntent::Restart {
        instance: instance.clone(),
        pod: Some(pod.clone()),
    };
    // No wait between the look and the intent: two pools of one instance never both restart it.
    match scene.bus.restarted(instance) {
        // An earlier keeper may have died between its intent and the deletion: that is carried out now.
        true if all_restarts_delete_pods(scene) => {}
        true => return Ok(Restarted::Before),
        false => {
            let intended = scene.bus.intend(change);
            scene.waiting(
                StepId::Pools,
                said!(
                    "restarting {instance}: deleting {pod}",
                    "正在重启 {instance}：删除 {pod}"
                ),
            );
            intended.await;
        }
    }
    match scene
        .persist(deadline, || place.cluster.delete_pod(pod, Write::Store))
        .await
    {
        Err(DriverError::Conflict { .. }) => Ok(Restarted::Before),
        Err(error) if error.landing() == Landing::NotDone => Err(error.said()),
        _ => Ok(Restarted::Now),
    }
}

/// Whether a restart that was intended can have been nothing but the deletion of the same pod.
fn all_restarts_delete_pods(scene: &Scene) -> bool {
    let mut ways = scene
        .plan
        .drill
        .recovery
        .pools
        .iter()
        .filter_map(|p| p.if_stuck.as_ref());
    ways.all(|way| matches!(way, Restart::Kubernetes(_)))
}

/// Whether the target has one pod, another than before the drill, which is Ready; and the old one is gone.
///
/// # Errors
/// What there is instead.
pub(super) async fn is_ready(scene: &Scene, pods: &PodsOf, instance: &InstanceName) -> Result<(), Said> {
    let place = PodPlace::of(&scene.drivers, pods, instance).map_err(|e| e.said())?;
    let old = &before(scene, &place, instance)?.pod;
    let now = place.all().await.map_err(|e| e.said())?;
    match now.as_slice() {
        [pod] if pod.id.uid == old.uid => Err(said!(
            "idle, but {old} has not been replaced",
            "已空闲，但 {old} 未被替换"
        )),
        [pod] if pod.is_ready => Ok(()),
        [pod] => {
            let (pod, state) = (&pod.id, pod.state());
            Err(said!("idle, but {pod} is {state}", "已空闲，但 {pod} 为 {state}"))
        }
        [] => Err(said!(
            place = place.said();
            "idle, but {place}: no pod matches",
            "已空闲，但{place}：无匹配"
        )),
        several => {
            let count = several.len();
            Err(said!(
                place = place.said();
                "idle, but {place}: {count} pods match",
                "已空闲，但{place}：匹配 {count} 个"
            ))
        }
    }
}

pub(super) fn restart_by_hand(scene: &Scene, pods: &PodsOf, instance: &InstanceName) -> Option<String> {
    let place = PodPlace::of(&scene.drivers, pods, instance).ok()?;
    Some(delete_pod(place.cluster, &place.namespace, &place.selector))
}

/// Targets that a restart was planned for, and that have no pod, several, or one that is not Ready and was so before.
pub(super) async fn not_as_before(scene: &Scene) -> Vec<Leftover> {
    let Ok(cluster) = scene.drivers.kubernetes() else {
        return Vec::new();
    };
    let look = async |before: &PodSeen| {
        let place = PodPlace {
            cluster,
            namespace: before.pod.namespace.clone(),
            selector: before.selector.clone(),
        };
        missing_or_unready(scene, StepId::Pools, &place, before.ready).await
    };
    let all = together(scene.snapshot.kubernetes.pods.iter().map(look)).await;
    all.into_iter().flatten().collect()
}

/// What there is instead of one pod that is Ready.
pub(super) async fn missing_or_unready(
    scene: &Scene,
    step: StepId,
    place: &PodPlace<'_>,
    was_ready: bool,
) -> Option<Leftover> {
    let hand = || Some(show_pods(place.cluster, &place.namespace, &place.selector));
    match scene.persist(scene.deadline(), || place.only()).await {
        Ok(pod) if pod.is_ready || !was_ready => None,
        Ok(pod) => {
            let (pod, state) = (&pod.id, pod.state());
            Some(Leftover::seen(
                step,
                said!("{pod} ({state})", "{pod}（{state}）"),
                said!("it was Ready before the drill", "演练前为 Ready"),
                hand(),
            ))
        }
        Err(error @ (DriverError::NotThere { .. } | DriverError::Conflict { .. })) => {
            Some(Leftover::seen(step, place.said(), error.said(), hand()))
        }
        Err(error) => Some(unread(step, place.said(), &error, hand())),
    }
}

//! The restart of a target by a rollout of its workload: its template gets another time, once in a run, and its controller makes a
//! new pod. Whether that has come to pass is told by the time and by the workload's status.

use tokio::time::Instant;

use crate::{
    drivers::{
        Drivers,
        error::{DriverError, Landing},
        kubernetes::{Kubernetes, Rollout, Write},
    },
    engine::recovery::{Scene, by_hand, together, unread},
    journal::Clock,
    model::{
        ids::{InstanceName, WorkloadName},
        kubernetes::{Workload, WorkloadSeen},
        playbook::{Restart, RolloutOf},
        recovery::{Leftover, StepId},
        said::{Said, said},
        undo::ChangeIntent,
    },
};

use super::restart::Restarted;

/// The workload of a target, and the cluster that it is in.
pub(in crate::engine::recovery) struct Place<'a> {
    pub(in crate::engine::recovery) cluster: &'a Kubernetes,
    pub(in crate::engine::recovery) workload: Workload,
}

impl<'a> Place<'a> {
    /// # Errors
    /// [`DriverError`] if the environment has no Kubernetes, does not allow the namespace, or the name is none.
    pub(in crate::engine::recovery) fn of(
        drivers: &'a Drivers,
        rollout: &RolloutOf,
        instance: &InstanceName,
    ) -> Result<Self, DriverError> {
        let cluster = drivers.kubernetes()?;
        let name = drivers.places().fill_word(&rollout.name, Some(instance))?;
        let name = WorkloadName::new(&name).map_err(|_| DriverError::NotThere {
            what: format!("{} of {instance}", rollout.kind),
            answer: "its name would be none of Kubernetes".into(),
        })?;
        let namespace = cluster.namespace(rollout.namespace.as_ref())?.clone();
        let workload = Workload {
            namespace,
            kind: rollout.kind,
            name,
        };
        Ok(Self { cluster, workload })
    }

    fn by_hand(&self) -> String {
        by_hand::kubernetes::restart_rollout(self.cluster, &self.workload)
    }
}

/// The workload as it was before the drill.
fn before<'a>(
    scene: &'a Scene,
    workload: &Workload,
    instance: &InstanceName,
) -> Result<&'a WorkloadSeen, Said> {
    let mut rollouts = scene.snapshot.kubernetes.rollouts.iter();
    let before = rollouts.find(|r| &r.instance == instance && &r.workload == workload);
    before.ok_or_else(|| {
        said!(
            "the snapshot has no {workload}: untouched",
            "快照中没有 {workload}：未动"
        )
    })
}

/// What must not be restarted, or would restart something else.
fn unfit(before: &WorkloadSeen, now: &Rollout) -> Option<Said> {
    let workload = &before.workload;
    if now.uid != before.uid {
        return Some(said!(
            "{workload} is another one than before the drill, of the same name: not restarted",
            "{workload} 已非演练前的那个，只是同名：未重启"
        ));
    }
    let obstacle = now.obstacle.as_ref()?;
    Some(said!(
        "{workload} is not restarted: {obstacle}",
        "未重启 {workload}：{obstacle}"
    ))
}

/// Restarts the target's workload, unless that has been done since the snapshot, by whomever. Two that ask for it at once
/// restart it once: each change is made on the version that was read.
///
/// # Errors
/// Why it surely did not come to it.
pub(super) async fn restart(
    scene: &Scene,
    rollout: &RolloutOf,
    instance: &InstanceName,
) -> Result<Restarted, Said> {
    let text = |error: DriverError| error.said();
    let Place { cluster, workload } = Place::of(&scene.drivers, rollout, instance).map_err(text)?;
    let seen = before(scene, &workload, instance)?;
    let at = Clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let deadline = scene.deadline();
    let mut intended = false;
    loop {
        let now = scene.persist(deadline, || cluster.rollout(&workload)).await;
        let now = now.map_err(text)?;
        if let Some(why) = unfit(seen, &now) {
            return Err(why);
        }
        if now.restarted_at != seen.restarted_at {
            let ours = now.restarted_at.as_ref() == Some(&at);
            return Ok(if ours { Restarted::Now } else { Restarted::Before });
        }
        if !intended {
            // No wait between the look and the intent: two pools of one instance never both restart it.
            match scene.bus.restarted(instance) {
                // An earlier keeper may have died between its intent and the change: that is carried out now.
                true if is_the_only_way(scene, rollout) => {}
                true => return Ok(Restarted::Before),
                false => {
                    let written = scene.bus.intend(ChangeIntent::Rollout {
                        instance: instance.clone(),
                        workload: workload.clone(),
                        at: at.clone(),
                    });
                    scene.waiting(
                        StepId::Pools,
                        said!(
                            "restarting {instance}: rollout of {workload}",
                            "正在重启 {instance}：滚动 {workload}"
                        ),
                    );
                    written.await;
                }
            }
            intended = true;
        }
        let error = match cluster.restart_rollout(&workload, &now, &at, Write::Store).await {
            Ok(()) => return Ok(Restarted::Now),
            Err(error) => error,
        };
        // Its status changes as its pods come and go: read again.
        let goes_on = error.may_pass() || matches!(error, DriverError::Conflict { .. });
        match error.landing() {
            _ if goes_on && Instant::now() < deadline => scene.pause().await,
            Landing::NotDone => return Err(error.said()),
            Landing::Unknown => return Ok(Restarted::Now),
        }
    }
}

/// Whether a restart that was intended can have been nothing but this rollout.
fn is_the_only_way(scene: &Scene, rollout: &RolloutOf) -> bool {
    let pools = scene.plan.drill.recovery.pools.iter();
    let mut ways = pools.filter_map(|p| p.if_stuck.as_ref());
    ways.all(|way| matches!(way, Restart::Rollout(other) if other == rollout))
}

/// Whether the workload was restarted since the snapshot, and is all rolled out and available.
///
/// # Errors
/// What there is instead.
pub(super) async fn is_ready(
    scene: &Scene,
    rollout: &RolloutOf,
    instance: &InstanceName,
) -> Result<(), Said> {
    let text = |error: DriverError| error.said();
    let Place { cluster, workload } = Place::of(&scene.drivers, rollout, instance).map_err(text)?;
    let seen = before(scene, &workload, instance)?;
    let now = cluster.rollout(&workload).await.map_err(text)?;
    if let Some(why) = unfit(seen, &now) {
        return Err(said!(why; "idle, but {why}", "已空闲，但{why}"));
    }
    match now.unfinished {
        _ if now.restarted_at == seen.restarted_at => Err(said!(
            "idle, but {workload} has not been rolled out anew",
            "已空闲，但 {workload} 未重新滚动"
        )),
        Some(why) => Err(said!(
            "idle, but {workload}: {why}",
            "已空闲，但 {workload}：{why}"
        )),
        None => Ok(()),
    }
}

pub(super) fn restart_by_hand(scene: &Scene, rollout: &RolloutOf, instance: &InstanceName) -> Option<String> {
    Some(Place::of(&scene.drivers, rollout, instance).ok()?.by_hand())
}

/// Workloads that a rollout was planned for, and that are gone, others of the same name, or not all rolled out and were so before.
pub(super) async fn not_as_before(scene: &Scene) -> Vec<Leftover> {
    let Ok(cluster) = scene.drivers.kubernetes() else {
        return Vec::new();
    };
    let look = async |before: &WorkloadSeen| {
        let (step, workload) = (StepId::Pools, before.workload.clone());
        let place = Place { cluster, workload };
        let (workload, hand) = (&place.workload, Some(place.by_hand()));
        let what = said!("{workload}", "工作负载 {workload}");
        let now = scene
            .persist(scene.deadline(), || cluster.rollout(workload))
            .await;
        match now {
            Err(error @ DriverError::NotThere { .. }) => Some(Leftover::seen(step, what, error.said(), None)),
            Err(error) => Some(unread(step, what, &error, hand)),
            Ok(now) if now.uid != before.uid => {
                let why = said!(
                    "it is another one than before the drill, of the same name",
                    "已非演练前的那个，只是同名"
                );
                Some(Leftover::seen(step, what, why, None))
            }
            Ok(now) => {
                let why = now.unfinished.filter(|_| before.ready)?;
                let what = said!("{workload} ({why})", "{workload}（{why}）");
                let why = said!("it was all rolled out before the drill", "演练前已全部滚动完成");
                Some(Leftover::seen(step, what, why, hand))
            }
        }
    };
    let all = together(scene.snapshot.kubernetes.rollouts.iter().map(look)).await;
    all.into_iter().flatten().collect()
}

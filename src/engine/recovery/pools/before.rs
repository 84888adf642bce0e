//! How the workloads stand before the drill that a rollout would restart, and the right to restart them.

use crate::{
    drivers::{
        Drivers,
        error::DriverError,
        kubernetes::{Rollout, Write},
    },
    engine::recovery::{
        gently,
        snapshot::{Part, check, kubernetes::TRIES},
    },
    journal::Clock,
    model::{
        event::CheckOutcome,
        ids::InstanceName,
        kubernetes::WorkloadSeen,
        plan::Plan,
        playbook::{Restart, RolloutOf},
        said::{Said, said},
    },
};

use super::rollout::Place;

pub(in crate::engine::recovery) async fn read_rollouts(plan: &Plan, drivers: &Drivers) -> Part<WorkloadSeen> {
    // Several pools may restart the same workloads.
    let mut ways: Vec<&RolloutOf> = Vec::new();
    for pool in &plan.drill.recovery.pools {
        if let Some(Restart::Rollout(way)) = &pool.if_stuck
            && !ways.contains(&way)
        {
            ways.push(way);
        }
    }
    let targets = &plan.drill.targets.instances;
    let looks = ways
        .iter()
        .flat_map(|way| targets.iter().map(move |instance| (*way, instance)));
    let parts = looks.map(async |(way, instance)| {
        let what = said!(
            "rollout of {instance} in Kubernetes",
            "{instance} 在 Kubernetes 中的滚动重启"
        );
        match read_rollout(drivers, way, instance).await {
            Err(error) => Part::refused(what, &error),
            Ok((seen, now)) => {
                let (outcome, next) = match (seen.ready, now.new_first) {
                    (false, _) => (
                        CheckOutcome::Warned,
                        Some(said!(
                            "its last rollout is not over; recovery does not wait for more",
                            "上次滚动尚未结束；恢复不会等更多"
                        )),
                    ),
                    (_, false) => (
                        CheckOutcome::Warned,
                        Some(said!(
                            "its old pod goes before the new one is Ready: only a Deployment that surges keeps it",
                            "旧 Pod 会先于新 Pod Ready 而消失：只有允许 surge 的 Deployment 会留住它"
                        )),
                    ),
                    _ => (CheckOutcome::Passed, None),
                };
                let available = || said!("1 of 1 available", "1/1 可用");
                let stands = now.unfinished.map_or_else(available, Said::as_it_is);
                let workload = &seen.workload;
                let shown = said!(
                    stands;
                    "{workload}, {stands}; may be rolled out anew (dry run)",
                    "{workload}，{stands}；可重新滚动（试运行）"
                );
                Part {
                    found: vec![seen],
                    checks: vec![check(what, outcome, shown, next)],
                }
            }
        }
    });
    Part::join(gently(parts).await)
}

async fn read_rollout(
    drivers: &Drivers,
    way: &RolloutOf,
    instance: &InstanceName,
) -> Result<(WorkloadSeen, Rollout), DriverError> {
    let place = Place::of(drivers, way, instance)?;
    let now = place.cluster.rollout(&place.workload).await?;
    if let Some(answer) = now.obstacle {
        let what = place.workload.to_string();
        return Err(DriverError::Conflict { what, answer });
    }
    let now = may_restart(&place, now).await?;
    let seen = WorkloadSeen {
        instance: instance.clone(),
        uid: now.uid.clone(),
        restarted_at: now.restarted_at.clone(),
        ready: now.unfinished.is_none(),
        workload: place.workload,
    };
    Ok((seen, now))
}

/// Proves the right to restart it; as it was read last. It changes between reading and writing, when its pods come and go.
async fn may_restart(place: &Place<'_>, mut now: Rollout) -> Result<Rollout, DriverError> {
    let (cluster, workload) = (place.cluster, &place.workload);
    let at = Clock.wall().to_string();
    for _ in 1..TRIES {
        match cluster.restart_rollout(workload, &now, &at, Write::DryRun).await {
            Err(DriverError::Conflict { .. }) => now = cluster.rollout(workload).await?,
            proved => return proved.map(|()| now),
        }
    }
    cluster
        .restart_rollout(workload, &now, &at, Write::DryRun)
        .await?;
    Ok(now)
}

//! How the pods of the targets, their Services and the consumers' Deployments stand before the drill; and the right to change
//! them, proved by dry runs of the API server.

use crate::{
    drivers::{Drivers, error::DriverError, kubernetes::Write},
    engine::recovery::{
        gateway::{pods::read_serving, weights::read_route},
        gently,
        pods::PodPlace,
        pools::before::read_rollouts,
        queues::kafka::scale::before::read_scales,
    },
    model::{
        event::{Check, CheckOutcome},
        ids::InstanceName,
        kubernetes::PodSeen,
        plan::Plan,
        playbook::{PodsOf, Restart},
        said::{Said, said},
        snapshot::KubernetesSeen,
    },
};

use super::{Part, bounded, check};

/// Between reading an object and a change that builds on it, somebody else may change it: read and tried again, so often.
pub(in crate::engine::recovery) const TRIES: usize = 4;

/// Everything that recovery may change in Kubernetes.
pub(in crate::engine::recovery) async fn read_kubernetes(
    plan: &Plan,
    drivers: &Drivers,
) -> (KubernetesSeen, Vec<Check>) {
    let (pods, rollouts, serving, scales, route) = tokio::join!(
        bounded(
            drivers,
            said!("pods that a restart deletes", "重启将删除的 Pod"),
            read_pods(plan, drivers)
        ),
        bounded(
            drivers,
            said!("workloads that a rollout restarts", "将滚动重启的工作负载"),
            read_rollouts(plan, drivers)
        ),
        bounded(
            drivers,
            said!("pods behind Services", "Service 后的 Pod"),
            read_serving(plan, drivers)
        ),
        bounded(
            drivers,
            said!("scales of retry consumers", "重试消费者的副本数"),
            read_scales(plan, drivers)
        ),
        bounded(
            drivers,
            said!("the HTTPRoute", "所用 HTTPRoute"),
            read_route(plan, drivers)
        ),
    );
    let seen = KubernetesSeen {
        pods: pods.found,
        rollouts: rollouts.found,
        serving: serving.found,
        scales: scales.found,
        route: route.found.into_iter().next(),
    };
    let checks = [
        pods.checks,
        rollouts.checks,
        serving.checks,
        scales.checks,
        route.checks,
    ];
    (seen, checks.concat())
}

async fn read_pods(plan: &Plan, drivers: &Drivers) -> Part<PodSeen> {
    let restarts = plan
        .drill
        .recovery
        .pools
        .iter()
        .filter_map(|pool| match &pool.if_stuck {
            Some(Restart::Kubernetes(pods)) => Some(pods),
            _ => None,
        });
    // Several pools may restart the same pods.
    let mut ways: Vec<&PodsOf> = Vec::new();
    for way in restarts {
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    let targets = &plan.drill.targets.instances;
    let looks = ways
        .iter()
        .flat_map(|pods| targets.iter().map(move |instance| (*pods, instance)));
    let parts = looks.map(async |(pods, instance)| {
        let what = said!(
            "restart of {instance} in Kubernetes",
            "{instance} 在 Kubernetes 中的重启"
        );
        match read_pod(drivers, pods, instance).await {
            Err(error) => Part::refused(what, &error),
            Ok((seen, shown)) => {
                let (outcome, next) = match seen.ready {
                    true => (CheckOutcome::Passed, None),
                    false => (
                        CheckOutcome::Warned,
                        Some(said!(
                            "it is not Ready already; recovery does not wait for more",
                            "现已非 Ready；恢复不会等它 Ready"
                        )),
                    ),
                };
                Part {
                    found: vec![seen],
                    checks: vec![check(what, outcome, shown, next)],
                }
            }
        }
    });
    Part::join(gently(parts).await)
}

async fn read_pod(
    drivers: &Drivers,
    pods: &PodsOf,
    instance: &InstanceName,
) -> Result<(PodSeen, Said), DriverError> {
    let place = PodPlace::of(drivers, pods, instance)?;
    let pod = place.only().await?;
    let Some(owner) = &pod.owner else {
        return Err(DriverError::Conflict {
            what: pod.id.to_string(),
            answer: "nothing keeps it: once deleted, nobody would bring it back".into(),
        });
    };
    place.cluster.delete_pod(&pod.id, Write::DryRun).await?;
    let (id, state) = (&pod.id, pod.state());
    let shown = said!(
        "{id}, {state}, kept by {owner}; may be deleted (dry run)",
        "{id}，{state}，归 {owner}；可删除（试运行）"
    );
    let seen = PodSeen {
        instance: instance.clone(),
        selector: place.selector,
        ready: pod.is_ready,
        pod: pod.id,
    };
    Ok((seen, shown))
}

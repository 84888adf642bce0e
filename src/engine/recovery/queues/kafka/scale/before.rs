//! How the Deployments of retry consumers are scaled before the drill, and the right to scale them.

use super::ready;
use crate::{
    drivers::{
        Drivers,
        error::DriverError,
        kubernetes::{Kubernetes, Scaled, Write},
    },
    engine::recovery::{
        gently,
        snapshot::{Part, check, kubernetes::TRIES, refused},
    },
    model::{
        event::CheckOutcome,
        ids::{DeploymentName, Namespace},
        kubernetes::ScaleSeen,
        plan::Plan,
        playbook::{KafkaQueue, QueueHold, RetryQueue},
        said::said,
    },
};

pub(in crate::engine::recovery) async fn read_scales(plan: &Plan, drivers: &Drivers) -> Part<ScaleSeen> {
    let queues = plan.drill.recovery.retry_queues.iter().enumerate();
    let parts = queues.filter_map(|(entry, queue)| match queue {
        RetryQueue::Kafka(
            queue @ KafkaQueue {
                hold: QueueHold::Scale { .. },
                ..
            },
        ) => Some(read_scale(drivers, entry, queue)),
        _ => None,
    });
    Part::join(gently(parts).await)
}

async fn read_scale(drivers: &Drivers, entry: usize, queue: &KafkaQueue) -> Part<ScaleSeen> {
    let mut part = Part::join(Vec::new());
    let QueueHold::Scale {
        namespace,
        deployment,
    } = &queue.hold
    else {
        return part;
    };
    let topic = &queue.topic;
    let what = said!(
        "deployment {deployment}, which consumes {topic}",
        "消费 {topic} 的 Deployment {deployment}"
    );
    let look = async {
        let cluster = drivers.kubernetes()?;
        let namespace = cluster.namespace(namespace.as_ref())?.clone();
        let autoscalers = cluster.autoscalers(&namespace, deployment).await?;
        let scale = cluster.scale(&namespace, deployment).await?;
        if let Some(first) = autoscalers.first() {
            return Err(DriverError::Conflict {
                what: what.en().to_owned(),
                answer: format!(
                    "the HorizontalPodAutoscaler {first} scales it: it would undo a hold; delete it for the drill, or hold by quota"
                ),
            });
        }
        may_scale(cluster, &namespace, deployment, scale.clone()).await?;
        let pods = cluster.pods(&namespace, &scale.selector).await?;
        Ok::<_, DriverError>((namespace, scale.clone(), ready(&pods).min(scale.replicas)))
    };
    match look.await {
        Err(error) => part.checks.push(refused(what, &error)),
        Ok((namespace, scale, ready)) => {
            let (outcome, shown, next) = match scale.replicas {
                n if ready < n => (
                    CheckOutcome::Warned,
                    said!(
                        "{n} replicas, {ready} Ready; may be scaled to 0 (dry run)",
                        "{n} 副本，{ready} 个 Ready；可缩为 0（试运行）"
                    ),
                    Some(said!(
                        "not all of them are Ready already; recovery does not wait for more",
                        "现已非全部 Ready；恢复不会等更多"
                    )),
                ),
                0 => (
                    CheckOutcome::Warned,
                    said!("0 replicas", "0 副本"),
                    Some(said!(
                        "nobody consumes it already: recovery leaves it so, and lets nothing go",
                        "现已无人消费：恢复保持原样，不放行"
                    )),
                ),
                n => (
                    CheckOutcome::Passed,
                    said!(
                        "{n} replicas; may be scaled to 0 (dry run)",
                        "{n} 副本；可缩为 0（试运行）"
                    ),
                    None,
                ),
            };
            part.checks.push(check(what, outcome, shown, next));
            part.found.push(ScaleSeen {
                entry,
                namespace,
                deployment: deployment.clone(),
                uid: scale.uid,
                replicas: scale.replicas,
                ready,
            });
        }
    }
    part
}

/// Proves the right to scale. A Deployment changes between reading and writing, when its pods come and go.
async fn may_scale(
    cluster: &Kubernetes,
    namespace: &Namespace,
    deployment: &DeploymentName,
    mut scale: Scaled,
) -> Result<(), DriverError> {
    for _ in 0..TRIES {
        match cluster
            .set_scale(namespace, deployment, &scale, 0, Write::DryRun)
            .await
        {
            Err(DriverError::Conflict { .. }) => scale = cluster.scale(namespace, deployment).await?,
            proved => return proved.map(drop),
        }
    }
    cluster
        .set_scale(namespace, deployment, &scale, 0, Write::DryRun)
        .await
        .map(drop)
}

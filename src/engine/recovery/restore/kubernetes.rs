//! What a restore takes for healthy in Kubernetes, and what it cannot know.

use crate::{
    engine::recovery::Change,
    model::{
        kubernetes::{PodSeen, ScaleSeen, ServingSeen, WorkloadSeen},
        plan::Plan,
        playbook::{Gateway, KafkaQueue, QueueHold, Restart, RetryQueue},
        recovery::{Leftover, StepId},
        said::{Said, said},
        snapshot::KubernetesSeen,
    },
};

use super::unproved::{unknown, unread};

/// Pods Ready, those of scaled Deployments too, and in the Services that select by their label. Scales stay as they are.
pub(super) fn healthy(now: &KubernetesSeen) -> KubernetesSeen {
    let pods = now.pods.iter().map(|pod| PodSeen {
        ready: true,
        ..pod.clone()
    });
    let serving = now.serving.iter().map(|pod| ServingSeen {
        ready: true,
        label: pod.serves_with.clone().or_else(|| pod.label.clone()),
        ..pod.clone()
    });
    let rollouts = now.rollouts.iter().map(|rollout| WorkloadSeen {
        ready: true,
        ..rollout.clone()
    });
    let scales = now.scales.iter().map(|scale| ScaleSeen {
        ready: scale.replicas,
        ..scale.clone()
    });
    KubernetesSeen {
        pods: pods.collect(),
        serving: serving.collect(),
        scales: scales.collect(),
        rollouts: rollouts.collect(),
        route: now.route.clone(),
    }
}

/// What could not be read, or does not say of itself how it was.
pub(super) fn unproved(plan: &Plan, healthy: &KubernetesSeen) -> Vec<Leftover> {
    let playbook = &plan.drill.recovery;
    let targets = &plan.drill.targets.instances;
    let mut all = Vec::new();
    if let Some(Gateway::Pods(gateway)) = &playbook.gateway {
        let missing = targets
            .iter()
            .filter(|i| !healthy.serving.iter().any(|s| s.instance == **i));
        let key = &gateway.key;
        all.extend(missing.map(|i| {
            let what = said!("label {key} of {i}'s pod", "{i} 的 Pod 标签 {key}");
            unknown(StepId::Traffic, what, unread())
        }));
        let several = healthy.serving.iter().filter(|s| s.serves_with.is_none());
        all.extend(several.map(|s| {
            let pod = &s.pod;
            let what = said!("label {key} of {pod}", "{pod} 的标签 {key}");
            let why = said!(
                "its Services select different values: which one it had is not known",
                "各 Service 选取的值不同：原值不明"
            );
            unknown(StepId::Traffic, what, why)
        }));
    }
    if playbook
        .pools
        .iter()
        .any(|p| matches!(p.if_stuck, Some(Restart::Kubernetes(_))))
    {
        let missing = targets
            .iter()
            .filter(|i| !healthy.pods.iter().any(|p| p.instance == **i));
        all.extend(missing.map(|i| unknown(StepId::Pools, said!("pod of {i}", "{i} 的 Pod"), unread())));
    }
    if playbook
        .pools
        .iter()
        .any(|p| matches!(p.if_stuck, Some(Restart::Rollout(_))))
    {
        let missing = targets
            .iter()
            .filter(|i| !healthy.rollouts.iter().any(|r| r.instance == **i));
        all.extend(missing.map(|i| {
            let what = said!("workload of {i}", "{i} 的工作负载");
            unknown(StepId::Pools, what, unread())
        }));
    }
    for (entry, queue) in playbook.retry_queues.iter().enumerate() {
        let RetryQueue::Kafka(KafkaQueue {
            hold: QueueHold::Scale { deployment, .. },
            ..
        }) = queue
        else {
            continue;
        };
        let what = said!(
            "replicas of deployment {deployment}",
            "Deployment {deployment} 的副本数"
        );
        match healthy.scales.iter().find(|s| s.entry == entry) {
            None => all.push(unknown(StepId::Release, what, unread())),
            Some(seen) if seen.replicas == 0 => {
                let why = said!(
                    "it is at 0; how many it had before the accident is not known",
                    "现为 0；事故前的副本数不明"
                );
                all.push(unknown(StepId::Release, what, why));
            }
            Some(_) => {}
        }
    }
    all
}

/// What a restore would change.
pub(super) fn changes(now: &KubernetesSeen, healthy: &KubernetesSeen) -> Vec<Change> {
    let labels = now.serving.iter().zip(&healthy.serving);
    let value = |pod: &ServingSeen| match &pod.label {
        Some(label) => Said::as_it_is(label),
        None => said!("not there", "无"),
    };
    labels
        .filter(|(now, healthy)| now.label != healthy.label)
        .map(|(now, healthy)| {
            let pod = &now.pod;
            Change {
                what: said!("label of {pod}", "{pod} 的标签"),
                now: value(now),
                then: said!(value = value(healthy); "{value}, at once", "{value}，一次到位"),
            }
        })
        .collect()
}

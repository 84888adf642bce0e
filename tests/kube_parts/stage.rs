//! Recovery against a real control plane.

use allclear::{
    drivers::Patience,
    model::{
        environment::{Kafka, Kubernetes},
        ids::{InstanceName, MetricId},
        playbook::{Gateway, Playbook, PodGateway, PodsOf, PoolDrain, Restart},
        secret::Secrets,
        time::Span,
    },
};

use crate::parts_support::{self, Staged, environment, nothing_to_do, plan};

/// Its pods change within moments.
pub const PATIENCE: Patience = Patience {
    poll: Span::millis(100),
    ..parts_support::PATIENCE
};

/// Until a pool is stuck, and that it has to be idle after its restart: the latter is seen by kubectl on a busy machine.
pub const STUCK: Span = Span::seconds(8);

impl Staged {
    pub fn new(cluster: Kubernetes, targets: &[&str], playbook: Playbook) -> Self {
        Self::whole(cluster, None, targets, playbook, PATIENCE)
    }

    pub fn whole(
        cluster: Kubernetes,
        kafka: Option<Kafka>,
        targets: &[&str],
        playbook: Playbook,
        patience: Patience,
    ) -> Self {
        let mut environment = environment();
        environment.kubernetes = Some(cluster);
        environment.kafka = kafka.into_iter().map(|k| (crate::kafka::main(), k)).collect();
        Self::of(plan(environment, targets, playbook), Secrets::none(), patience)
    }

    /// The same run, from another place: what it has seen, with clients of its own.
    pub fn from(&self, cluster: Kubernetes, patience: Patience) -> Staged {
        let plan = &self.scene.plan;
        let targets: Vec<&str> = plan
            .drill
            .targets
            .instances
            .iter()
            .map(InstanceName::as_str)
            .collect();
        let kafka = plan.environment.kafka.values().next().cloned();
        let mut other = Staged::whole(cluster, kafka, &targets, plan.drill.recovery.clone(), patience);
        other.scene.snapshot = self.scene.snapshot.clone();
        other
    }
}

pub fn pods(selector: &str) -> PodsOf {
    PodsOf {
        namespace: None,
        selector: selector.to_owned(),
    }
}

pub const OF_STATEFUL_SET: &str = "statefulset.kubernetes.io/pod-name={target}";

/// A pool that is stuck after `wait`, and then loses its pod.
pub fn restarts(selector: &str, wait: Span) -> Playbook {
    Playbook {
        pools: vec![PoolDrain {
            metric: MetricId::new("order_threads_busy").unwrap(),
            scope: None,
            idle_at_most: 5.0,
            scrape_holds: 0.0,
            wait,
            if_stuck: Some(Restart::Kubernetes(pods(selector))),
            ready: None,
        }],
        ..nothing_to_do()
    }
}

/// Targets that are taken out by the label `serving`.
pub fn served(selector: &str, hold: Span) -> Playbook {
    Playbook {
        gateway: Some(Gateway::Pods(PodGateway {
            pods: pods(selector),
            key: "serving".into(),
            out: "false".into(),
            hold,
        })),
        ..nothing_to_do()
    }
}

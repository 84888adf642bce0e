//! Undo handles: what the journal keeps about a change before it is made, enough to put it back with nothing else.

use serde::{Deserialize, Serialize};

use super::{
    ids::{DeploymentName, FaultId, InstanceName, Namespace, ServerName, StepName},
    kubernetes::{PodId, Workload},
    playbook::SentinelRules,
    quota::QuotaSeen,
    snapshot::GatewayState,
    time::Span,
};

/// How long after it was sent a change that nobody answered may still take effect. A Kafka broker that has lost its controller
/// keeps a change for a minute, and hands it on as soon as there is one again (KIP-590); a change at a RocketMQ broker, or of a
/// switch over HTTP, may wait as long on a way that is cut, or in a proxy. A Kubernetes API server gives a request up after a
/// minute: `--request-timeout`, 1m0s unless set
/// (<https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/>). The rest is for the way.
pub const LANDS_WITHIN: Span = Span::seconds(65);

/// A fault about to be made, with all that is needed to make it and to undo it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultIntent {
    /// Its id, chosen beforehand.
    pub id: FaultId,
    /// The step it belongs to.
    pub step: StepName,
    /// The instance it hits.
    pub instance: InstanceName,
    /// What a person calls it.
    pub what: String,
    /// How it is undone.
    pub undo: UndoFault,
    /// How long after its creation the target drops it by itself; `None` if it never does.
    pub expires_in: Option<Span>,
}

/// How a fault is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoFault {
    /// Delete the rule of that id at the instance's injection-point API.
    Rule {
        /// `http://host:port` of the instance.
        base: String,
    },
    /// The keeper itself makes the load: it ends with the keeper.
    Load,
}

/// A change that recovery itself is about to make, with what was there before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeIntent {
    /// A server's weight or state at the gateway.
    Gateway {
        /// The load balancer, as the drill names it.
        #[serde(default)]
        at: String,
        /// The instance.
        instance: InstanceName,
        /// The weight before, always the snapshot's.
        weight: u32,
        /// The state before, always the snapshot's.
        state: GatewayState,
        /// What is set now.
        to: String,
    },
    /// A breaker.
    Breaker {
        /// The instance.
        instance: InstanceName,
        /// Its name.
        name: String,
        /// What is asked.
        to: String,
    },
    /// A list of Sentinel's rules, set to what the snapshot holds.
    Rules {
        /// The instance.
        instance: InstanceName,
        /// Which list.
        rules: SentinelRules,
        /// How many rules the snapshot's list has.
        count: usize,
    },
    /// Flags are deleted.
    Flags {
        /// The pattern.
        pattern: String,
        /// How many.
        count: usize,
    },
    /// A retry queue is held or let go.
    RetryQueue {
        /// The resource.
        url: String,
        /// Whether it was held before the drill.
        held: bool,
        /// Its rate before the drill.
        rate: Option<f64>,
        /// What is set now.
        to: String,
    },
    /// A client's quota at a Kafka cluster is changed.
    Quota {
        /// The cluster.
        cluster: ServerName,
        /// Whose quota, and its bytes a second before, always the snapshot's.
        before: QuotaSeen,
        /// What is set now; `None` removes it.
        to: Option<f64>,
    },
    /// A consumer group at a RocketMQ broker is switched on or off. The snapshot has its whole config.
    Group {
        /// The cluster.
        cluster: ServerName,
        /// The broker's name.
        broker: String,
        /// The group.
        group: String,
        /// Whether it might consume there before, always the snapshot's.
        before: bool,
        /// What is set now.
        to: bool,
    },
    /// An instance is restarted. Done once a run.
    Restart {
        /// The instance.
        instance: InstanceName,
        /// Its pod, if that is deleted: this one and never its successor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pod: Option<PodId>,
    },
    /// An instance is restarted by a rollout of its workload. Done once a run.
    Rollout {
        /// The instance.
        instance: InstanceName,
        /// Its workload.
        workload: Workload,
        /// The time that is noted there.
        at: String,
    },
    /// A pod's label is set, or put back.
    Label {
        /// The instance.
        instance: InstanceName,
        /// Its pod.
        pod: PodId,
        /// The label's key.
        key: String,
        /// The value before, always the snapshot's; `None`: there was no such label.
        before: Option<String>,
        /// What is set now; `None` removes it.
        to: Option<String>,
    },
    /// A Deployment is scaled.
    Scale {
        /// Where it is.
        namespace: Namespace,
        /// Its name.
        deployment: DeploymentName,
        /// Its replicas before, always the snapshot's.
        before: u32,
        /// What is set now.
        to: u32,
    },
    /// A command is run.
    Command {
        /// Its name.
        name: String,
    },
}

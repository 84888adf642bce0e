//! What a run knows of a Kubernetes cluster before it changes anything there.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::{DeploymentName, InstanceName, Namespace, RouteName, WorkloadName};

/// One pod, and no other that may have its name later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodId {
    /// Where it is.
    pub namespace: Namespace,
    /// Its name.
    pub name: String,
    /// What the API server gave to this pod alone.
    pub uid: String,
}

impl fmt::Display for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pod {}/{}", self.namespace, self.name)
    }
}

/// The pod of a target, which a restart would delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodSeen {
    /// The target.
    pub instance: InstanceName,
    /// The pod.
    pub pod: PodId,
    /// The selector that finds it, and its successor.
    pub selector: String,
    /// Whether it was Running and Ready.
    pub ready: bool,
}

/// The pod of a target, as its Services see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingSeen {
    /// The target.
    pub instance: InstanceName,
    /// The pod.
    pub pod: PodId,
    /// The selector that finds it, and its successor.
    pub selector: String,
    /// The label's value; `None`: it had no such label.
    pub label: Option<String>,
    /// The value that Services select by, where it is one for all of them.
    pub serves_with: Option<String>,
    /// The Services that it is in by this label.
    pub services: Vec<String>,
    /// Whether it was Running and Ready.
    pub ready: bool,
}

/// A Deployment, as it was scaled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleSeen {
    /// Index into the playbook's `retry_queues`.
    pub entry: usize,
    /// Where it is.
    pub namespace: Namespace,
    /// Its name.
    pub deployment: DeploymentName,
    /// What the API server gave to this Deployment alone.
    pub uid: String,
    /// Its replicas.
    pub replicas: u32,
    /// How many of them were Running and Ready.
    #[serde(default)]
    pub ready: u32,
}

/// What makes pods, and replaces them one after another when their template changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadKind {
    /// Of pods without a name of their own.
    Deployment,
    /// Of pods with one.
    StatefulSet,
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WorkloadKind::Deployment => "deployment",
            WorkloadKind::StatefulSet => "statefulset",
        })
    }
}

/// A workload's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Where it is.
    pub namespace: Namespace,
    /// What it is.
    pub kind: WorkloadKind,
    /// Its name.
    pub name: WorkloadName,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// The workload of a target, whose pod a rollout would restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadSeen {
    /// The target.
    pub instance: InstanceName,
    /// The workload.
    pub workload: Workload,
    /// What the API server gave to this workload alone.
    pub uid: String,
    /// When its pods were restarted last, as whoever did so wrote it.
    pub restarted_at: Option<String>,
    /// Whether it was all rolled out and available.
    pub ready: bool,
}

/// An HTTPRoute whose weights bring traffic to the targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteSeen {
    /// Where it is.
    pub namespace: Namespace,
    /// Its name.
    pub route: RouteName,
    /// What the API server gave to this route alone.
    pub uid: String,
    /// Where in it the targets' Services stand.
    pub backends: Vec<BackendSeen>,
}

/// A target's Service in an HTTPRoute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendSeen {
    /// The target.
    pub instance: InstanceName,
    /// Its Service.
    pub service: String,
    /// Index of the rule.
    pub rule: usize,
    /// Index into the rule's backends.
    pub backend: usize,
}

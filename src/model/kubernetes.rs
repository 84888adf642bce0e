//! What a run knows of a Kubernetes cluster before it changes anything there.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::{DeploymentName, InstanceName, Namespace};

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

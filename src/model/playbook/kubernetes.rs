//! Pods of Kubernetes: which are the targets', and by which label they are taken out.

use serde::{Deserialize, Serialize};

use crate::model::{
    amount::Share,
    ids::{Namespace, RouteName},
    kubernetes::WorkloadKind,
    time::Span,
};

/// Pods that a Service finds by a label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodGateway {
    /// The targets' pods.
    pub pods: PodsOf,
    /// The label's key: Services select by it, and what keeps the pods does not.
    pub key: String,
    /// The value that takes a pod out.
    pub out: String,
    /// How long the way back is held and watched.
    pub hold: Span,
}

/// The pods of the targets: one each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodsOf {
    /// Where they are; `None` is the environment's only namespace.
    pub namespace: Option<Namespace>,
    /// A label selector with `{target}`, which matches one pod of each target.
    pub selector: String,
}

/// The workloads of the targets: one each, with one replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutOf {
    /// Where they are; `None` is the environment's only namespace.
    pub namespace: Option<Namespace>,
    /// What they are.
    pub kind: WorkloadKind,
    /// The name of a target's, with `{target}`.
    pub name: String,
}

/// An HTTPRoute that spreads traffic over Services by weight, one Service for each target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RouteGateway {
    /// Where it is; `None` is the environment's only namespace.
    pub namespace: Option<Namespace>,
    /// Its name.
    pub route: RouteName,
    /// The Service of a target, with `{target}`.
    pub backend: String,
    /// The stages of the way back.
    pub ramp: Vec<Share>,
    /// How long each stage is held and watched.
    pub hold: Span,
}

//! The load balancer in front of the targets.

use serde::{Deserialize, Serialize};

use super::{PodGateway, RouteGateway};
use crate::model::{amount::Share, time::Span};

/// A load balancer in front of the targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gateway {
    /// HAProxy's runtime API.
    Haproxy {
        /// Each load balancer: `host:port`, a unix socket path, or the name of a gateway of the environment.
        sockets: Vec<String>,
        /// The backend whose servers are the target instances.
        backend: String,
        /// The stages of the way back.
        ramp: Vec<Share>,
        /// How long each stage is held and watched.
        hold: Span,
    },
    /// Kubernetes Services: a pod is taken out by one of its labels.
    Pods(PodGateway),
    /// An HTTPRoute of Kubernetes' Gateway API: the weights of its backends.
    Route(RouteGateway),
}

//! Retry queues.

use serde::{Deserialize, Serialize};

use crate::model::{
    ids::{DeploymentName, Namespace, ServerName},
    quota::Payer,
    time::Span,
};

/// A retry queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryQueue {
    /// A topic of Kafka, held and let go by client quotas.
    Kafka(KafkaQueue),
    /// A consumer group of RocketMQ, held and let go by switching it off and on.
    Rocketmq(RocketmqQueue),
    /// The application's own switch: `GET` tells {backlog, released, rate, held}, `PUT` sets {held, rate}.
    Http {
        /// The resource.
        url: String,
        /// Messages a second while it is let go.
        rate: f64,
        /// How long the release may take.
        within: Span,
    },
}

/// A retry topic and the group that consumes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KafkaQueue {
    /// The cluster's name in the environment.
    pub cluster: ServerName,
    /// The topic.
    pub topic: String,
    /// The consumers' group.
    pub group: String,
    /// Where the group begins in a partition without a committed offset.
    pub reset: OffsetReset,
    /// The user that the consumers log in as; `None` limits their client ids, whoever the user.
    pub user: Option<String>,
    /// The consumers' client ids; empty: those of the group's members when the run is prepared.
    pub clients: Vec<String>,
    /// Messages a second while it is let go.
    pub rate: f64,
    /// How long the release may take.
    pub within: Span,
    /// How it is held.
    #[serde(default)]
    pub hold: QueueHold,
}

/// How a retry topic is held. It is let go by quota either way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueHold {
    /// By its consumers' quota.
    #[default]
    Quota,
    /// By scaling the Deployment of its consumers to zero.
    Scale {
        /// Where it is; `None` is the environment's only namespace.
        namespace: Option<Namespace>,
        /// The Deployment.
        deployment: DeploymentName,
    },
}

impl KafkaQueue {
    /// Whom the quota limits, as far as the drill names them.
    pub fn payers(&self) -> impl Iterator<Item = Payer> {
        self.clients.iter().map(|client| Payer {
            user: self.user.clone(),
            client: client.clone(),
        })
    }
}

/// A consumer group and the topic of which its backlog is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RocketmqQueue {
    /// The cluster's name in the environment.
    pub cluster: ServerName,
    /// The consumers' group.
    pub group: String,
    /// The topic: the group's own retry topic unless the drill names another.
    pub topic: String,
    /// Messages a second while it is let go, on the average.
    pub rate: f64,
    /// How long the release may take.
    pub within: Span,
}

impl RocketmqQueue {
    /// The topic in which RocketMQ keeps a group's retries.
    pub fn retry_topic(group: &str) -> String {
        format!("%RETRY%{group}")
    }
}

/// Where a group begins in a partition without a committed offset: the consumers' `auto.offset.reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OffsetReset {
    /// With the oldest message.
    Earliest,
    /// With the next message.
    Latest,
}

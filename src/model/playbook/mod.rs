//! The recovery playbook: what a run may put back, and how. The order is fixed by the machine, not by the file.

mod breakers;
mod commands;
mod flags;
mod gateway;
mod kubernetes;
mod pools;
mod retry_queues;

pub use breakers::{Breakers, SentinelRules, Via};
pub use commands::{Command, How, HttpCheck, Method};
pub use flags::Flags;
pub use gateway::Gateway;
pub use kubernetes::{PodGateway, PodsOf, RolloutOf, RouteGateway};
pub use pools::{PoolDrain, Restart};
pub use retry_queues::{KafkaQueue, OffsetReset, QueueHold, RetryQueue, RocketmqQueue};

use serde::{Deserialize, Serialize};

use super::time::Span;

/// The playbook of a drill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Playbook {
    /// How targets are taken out of traffic and brought back.
    pub gateway: Option<Gateway>,
    /// Circuit breakers.
    pub breakers: Vec<Breakers>,
    /// Degrade flags.
    pub flags: Vec<Flags>,
    /// Retry queues.
    pub retry_queues: Vec<RetryQueue>,
    /// Pools that must drain.
    pub pools: Vec<PoolDrain>,
    /// Commands of the user's own.
    pub commands: Vec<Command>,
    /// How long everything must hold before ALL CLEAR.
    pub hold: Span,
    /// How long verifying may take in all before it gives up and says what is missing.
    pub verify_within: Span,
}

//! RocketMQ's consumer groups: how one stood at a broker.

use serde::{Deserialize, Serialize};

/// A consumer group's config at one master broker as it stood before the drill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSeen {
    /// The broker's name: the same wherever its master runs.
    pub broker: String,
    /// Where its master was: `host:port`.
    pub address: String,
    /// Whether the group may consume there: its `consumeEnable`.
    pub enabled: bool,
    /// The whole config, as the broker told it.
    pub config: String,
    /// Messages that waited there in the group's other topics: the switch holds them as well.
    #[serde(default)]
    pub beside: u64,
}

//! Degrade flags.

use serde::{Deserialize, Serialize};

use crate::model::ids::ServerName;

/// Degrade flags of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flags {
    /// Keys in Redis.
    Redis {
        /// The server's name in the environment.
        server: ServerName,
        /// A glob of keys.
        pattern: String,
        /// More matches than this mean a wrong pattern: refused.
        at_most: u32,
    },
}

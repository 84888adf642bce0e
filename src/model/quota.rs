//! Kafka's client quotas: who is limited, and how that stood.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whom a quota limits: a client id, of everyone or of one user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Payer {
    /// The principal's name; `None` is a quota for the client id alone.
    pub user: Option<String>,
    /// The client id.
    pub client: String,
}

impl Payer {
    /// Whether one consumer may be limited by both: the same client id, and no two different users.
    pub fn meets(&self, other: &Payer) -> bool {
        let apart = self.user.is_some() && other.user.is_some() && self.user != other.user;
        self.client == other.client && !apart
    }
}

impl fmt::Display for Payer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}", self.client)?;
        self.user.iter().try_for_each(|user| write!(f, " of user {user}"))
    }
}

/// A payer's `consumer_byte_rate` as it stood before the drill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaSeen {
    /// Whose.
    pub payer: Payer,
    /// Bytes a second on each broker; `None` is no quota of its own.
    pub bytes: Option<f64>,
}

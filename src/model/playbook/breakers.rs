//! Circuit breakers.

use serde::{Deserialize, Serialize};

use crate::model::{ids::ServiceName, time::Span};

/// Circuit breakers of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breakers {
    /// Resilience4j through Spring Boot's actuator.
    Resilience4j {
        /// The actuator's base URL, with `{instance}` for host and port.
        actuator: String,
        /// The service whose instances hold the breakers.
        callers: ServiceName,
        /// The breakers' names.
        names: Vec<String>,
        /// How an open breaker is brought back.
        via: Via,
    },
    /// Sentinel's rules, through its command API: the whole lists, as they were.
    Sentinel {
        /// The command API's base URL, with `{instance}` for host and port or `{host}` for the host alone.
        api: String,
        /// The service whose instances hold the rules.
        callers: ServiceName,
        /// Which lists.
        rules: Vec<SentinelRules>,
    },
}

/// A list of rules that Sentinel keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentinelRules {
    /// What opens its breakers, and for how long.
    Degrade,
    /// What it lets through.
    Flow,
}

impl SentinelRules {
    /// The name that Sentinel's API gives the list.
    pub fn as_str(self) -> &'static str {
        match self {
            SentinelRules::Degrade => "degrade",
            SentinelRules::Flow => "flow",
        }
    }
}

impl std::fmt::Display for SentinelRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an open breaker is brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// A small endpoint in the service half-opens it; real calls close it.
    App {
        /// The endpoint, with `{instance}` and `{name}`.
        url: String,
    },
    /// The actuator closes it at once; the breaker's window is lost.
    Close,
    /// Nothing is changed; it is watched until it closes by itself.
    Wait,
    /// The same, with calls of allclear's own that try the breaker: it closes where no other call comes by.
    Probe {
        /// What is called, with `{instance}` and, if it helps, `{name}`. A `GET` that goes through the breaker.
        url: String,
        /// How long a breaker stays open before it lets a call try: Resilience4j's `waitDurationInOpenState`.
        after: Span,
    },
}

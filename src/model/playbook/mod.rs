//! The recovery playbook: what a run may put back, and how. The order is fixed by the machine, not by the file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    amount::Share,
    ids::{CommandName, MetricId, ScopeName, ServerName, ServiceName},
    recovery::StepId,
    time::Span,
};

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
}

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

/// A retry queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryQueue {
    /// A topic of Kafka, held and let go by client quotas.
    Kafka(KafkaQueue),
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

/// A pool that must drain before traffic returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolDrain {
    /// The metric that counts busy threads or connections.
    pub metric: MetricId,
    /// Narrowed by this scope.
    pub scope: Option<ScopeName>,
    /// Idle means at most this many, on each target instance where the metric tells them apart.
    pub idle_at_most: f64,
    /// What reading the metric itself keeps busy, on each instance: taken off before it is compared.
    #[serde(default)]
    pub scrape_holds: f64,
    /// How long to wait before the trend decides.
    pub wait: Span,
    /// What is done, once, if the backlog is flat or rising after the wait.
    pub if_stuck: Option<Restart>,
    /// Answers 2xx once a restarted instance is ready, with `{instance}`. Without it the pool's own readings tell.
    #[serde(default)]
    pub ready: Option<String>,
}

impl PoolDrain {
    /// How many are busy, of a reading.
    pub fn busy(&self, reading: f64) -> f64 {
        (reading - self.scrape_holds).max(0.0)
    }

    /// Whether a reading means idle. NaN never does.
    pub fn is_idle(&self, reading: f64) -> bool {
        self.busy(reading) <= self.idle_at_most && !reading.is_nan()
    }
}

/// How a stuck instance is restarted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// `POST` to a URL of the instance, with `{instance}`.
    Http {
        /// The URL.
        url: String,
    },
    /// A program, with `{instance}`, `{host}`, `{target}` and `{run}` in its words.
    Command {
        /// The program and its arguments; no shell. Relative paths start at the drill file's folder.
        run: Vec<String>,
        /// Its process group is killed after that.
        timeout: Span,
    },
}

/// A step of the user's own: a program or a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Its name.
    pub name: CommandName,
    /// The step it follows.
    pub after: StepId,
    /// What is done, and how it is proved.
    pub how: How,
    /// A program's process group is killed after that; a request is asked again until then.
    pub timeout: Span,
}

impl Command {
    /// Whether something proves that it worked.
    pub fn has_check(&self) -> bool {
        match &self.how {
            How::Run { check, .. } => check.is_some(),
            How::Http { check, .. } => check.is_some(),
        }
    }
}

/// What a step of the user's own does. `{instance}`, `{host}` or `{target}` in it: once for each target instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A program.
    Run {
        /// The program and its arguments; no shell. Relative paths start at the drill file's folder.
        run: Vec<String>,
        /// Exit code 0 proves that it worked.
        check: Option<Vec<String>>,
    },
    /// A request.
    Http {
        /// PUT, POST or DELETE.
        method: Method,
        /// Where.
        url: String,
        /// The body: a text is sent as it is, anything else as JSON.
        body: Option<Value>,
        /// What proves that it worked.
        check: Option<HttpCheck>,
    },
}

/// A method that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Put.
    Put,
    /// Post.
    Post,
    /// Delete.
    Delete,
}

impl Method {
    /// As it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Put => "PUT",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}

/// What a `GET` must answer to prove that a request worked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpCheck {
    /// Where.
    pub url: String,
    /// The status.
    pub status: u16,
    /// What stands in the JSON answer, by JSON pointer (RFC 6901).
    pub json: BTreeMap<String, Value>,
}

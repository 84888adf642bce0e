//! The snapshot: what recovery may change, read in preflight and once more right before arming. Nothing later is ever taken
//! for the original.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    group::GroupSeen,
    ids::InstanceName,
    kubernetes::{PodSeen, RouteSeen, ScaleSeen, ServingSeen, WorkloadSeen},
    playbook::SentinelRules,
    quota::QuotaSeen,
    said::Said,
    sample::Query,
};

/// What was there before the drill.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// The gateway's servers for the target instances.
    pub gateway: Vec<GatewayServer>,
    /// Breakers, by the playbook's entry, instance and name.
    pub breakers: Vec<BreakerSeen>,
    /// Sentinel's rules, by the playbook's entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RulesSeen>,
    /// Flags that were there already; they are kept. By the playbook's entry.
    pub flags: Vec<FlagsSeen>,
    /// Retry queues, by the playbook's entry.
    pub retry_queues: Vec<RetryQueueSeen>,
    /// What is in Kubernetes.
    #[serde(default, skip_serializing_if = "KubernetesSeen::is_empty")]
    pub kubernetes: KubernetesSeen,
    /// Things at the injectors that are not this run's: named, never touched.
    pub foreign: Vec<String>,
}

/// Something that recovery may put back, and that stood otherwise when it was read again before arming.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// What, and where.
    #[serde(flatten, with = "super::recorded::what")]
    pub what: Said,
    /// How preflight found it.
    #[serde(flatten, with = "super::recorded::before")]
    pub before: Said,
    /// How it stands now.
    #[serde(flatten, with = "super::recorded::now")]
    pub now: Said,
}

/// What recovery may change in Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KubernetesSeen {
    /// Pods that a restart would delete.
    pub pods: Vec<PodSeen>,
    /// Pods that are taken out of their Services.
    pub serving: Vec<ServingSeen>,
    /// Deployments that are scaled to zero, by the playbook's retry queue.
    pub scales: Vec<ScaleSeen>,
    /// Workloads that a rollout would restart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rollouts: Vec<WorkloadSeen>,
    /// The HTTPRoute that is the gateway, if one is. The weights stand with those of other gateways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<RouteSeen>,
}

impl KubernetesSeen {
    /// Whether recovery changes nothing there.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One server of a gateway's backend, at one of its load balancers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayServer {
    /// The load balancer, as the drill names it. Each has a state of its own.
    #[serde(default)]
    pub at: String,
    /// The server's name: the instance's.
    pub instance: InstanceName,
    /// Its present weight.
    pub weight: u32,
    /// The weight of its configuration, which percentages refer to.
    pub initial_weight: u32,
    /// Its administrative state.
    pub state: GatewayState,
    /// Whether the load balancer's own health check finds it up: a ready server that is down serves nobody.
    #[serde(default = "up")]
    pub running: bool,
}

fn up() -> bool {
    true
}

/// The administrative state of a gateway's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayState {
    /// Takes traffic.
    Ready,
    /// Takes no new traffic.
    Drain,
    /// Out.
    Maint,
}

impl GatewayState {
    /// The word of HAProxy's runtime API for it.
    pub fn as_str(self) -> &'static str {
        match self {
            GatewayState::Ready => "ready",
            GatewayState::Drain => "drain",
            GatewayState::Maint => "maint",
        }
    }
}

/// One breaker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerSeen {
    /// Index into the playbook's `breakers`.
    pub entry: usize,
    /// On which instance.
    pub instance: InstanceName,
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: BreakerState,
}

/// The state of a Resilience4j breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BreakerState {
    /// Calls pass.
    Closed,
    /// Calls are refused.
    Open,
    /// Some calls pass, to try.
    HalfOpen,
    /// Refused until someone says otherwise.
    ForcedOpen,
    /// Calls pass and nothing is counted.
    Disabled,
    /// Calls pass and are counted.
    MetricsOnly,
}

/// One of Sentinel's lists of rules, with the instances that have it so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RulesSeen {
    /// Index into the playbook's `breakers`.
    pub entry: usize,
    /// Which list.
    pub rules: SentinelRules,
    /// Where it stands. Instances mostly have the same rules: they are kept once.
    pub instances: Vec<InstanceName>,
    /// The list, whole, as the instance tells it.
    pub list: Vec<serde_json::Value>,
}

/// Flags that were there before, of one playbook entry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlagsSeen {
    /// Index into the playbook's `flags`.
    pub entry: usize,
    /// The keys.
    pub keys: Vec<String>,
    /// What tells whether they are still what they were, as far as it was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptFlag>,
    /// Which command removes keys for this user.
    #[serde(default)]
    pub removal: Removal,
}

/// A flag that was there before the drill, as it is known again. Its value is nowhere: only a digest of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFlag {
    /// The key.
    pub key: String,
    /// Its type, as `TYPE` says it.
    pub kind: String,
    /// Of the value, in hexadecimal. `None`: it is not compared, because it is too large, of a type that is not read, may not be
    /// read, or changes by itself.
    pub digest: Option<String>,
    /// When it ends by itself.
    pub expires: Expires,
}

/// When a flag ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expires {
    /// Never.
    Never,
    /// At this time, in milliseconds since 1970.
    At(i64),
    /// It may not be asked, or is put off again and again: not compared.
    NotCompared,
}

/// Which command removes keys from a Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// `UNLINK`: memory is given back in the background.
    Unlink,
    /// `DEL`: where the user may not `UNLINK`.
    #[default]
    Del,
}

impl Removal {
    /// The command's name.
    pub fn command(self) -> &'static str {
        match self {
            Removal::Unlink => "UNLINK",
            Removal::Del => "DEL",
        }
    }
}

/// A retry queue as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetryQueueSeen {
    /// Index into the playbook's `retry_queues`.
    pub entry: usize,
    /// Messages waiting.
    pub backlog: u64,
    /// Whether it was held already.
    pub held: bool,
    /// Its rate limit, if it had one.
    pub rate: Option<f64>,
    /// The quotas of its consumers, where it is held by quota.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<QuotaSeen>,
    /// Its group's config at each master broker, where it is held by that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupSeen>,
}

/// The levels of the baseline, frozen when the run is armed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BaselineLevels {
    /// By query: the level in base units.
    #[serde(with = "pairs")]
    pub levels: BTreeMap<Query, BaselineLevel>,
}

/// One metric's baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineLevel {
    /// The mean, or the quantile.
    pub level: f64,
    /// The smallest and largest level a guard's window saw, for "back inside its baseline".
    pub lowest: f64,
    /// See `lowest`.
    pub highest: f64,
    /// The smallest detectable change, if the row can be judged.
    pub smallest_detectable: Option<f64>,
    /// The finite bucket edges of a quantile, so that its windows can be judged again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<f64>,
}

/// JSON has no keys but strings: a map as a list of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{BaselineLevel, Query};

    pub fn serialize<S: Serializer>(map: &BTreeMap<Query, BaselineLevel>, s: S) -> Result<S::Ok, S::Error> {
        map.iter().collect::<Vec<_>>().serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<Query, BaselineLevel>, D::Error> {
        Ok(Vec::<(Query, BaselineLevel)>::deserialize(d)?
            .into_iter()
            .collect())
    }
}

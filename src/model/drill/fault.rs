//! What a step breaks, and what may be hit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    amount::Share,
    ids::{InstanceName, ServiceName},
    time::Span,
};

/// What a step injects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A rule of the injection-point API.
    Rule {
        /// The injection point in the service's code, such as `coupon.query`.
        point: String,
        /// The service whose instances get the rule, if not the drill's targets: `cart` for a rule on the cart.
        service: Option<ServiceName>,
        /// What happens there.
        effect: Effect,
    },
}

impl Fault {
    /// Whether the target drops the fault by itself when its time is up.
    pub fn has_native_expiry(&self) -> bool {
        match self {
            Fault::Rule { .. } => true,
        }
    }

    /// What a person calls it: `coupon.query delay 2s ±500ms`.
    pub fn describe(&self) -> String {
        match self {
            Fault::Rule { point, effect, .. } => format!("{point} {}", effect.describe()),
        }
    }
}

/// What an injection point does to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The call takes longer.
    Delay {
        /// The mean.
        mean: Span,
        /// Uniformly up to this much more or less.
        jitter: Span,
    },
    /// The call throws.
    Exception {
        /// The class.
        class: String,
    },
    /// The call answers with this status.
    Status {
        /// HTTP status code.
        code: u16,
        /// The body.
        body: String,
    },
    /// The call answers with nothing.
    Empty,
    /// Values in the answer are replaced, by JSON pointer.
    Tamper(BTreeMap<String, serde_json::Value>),
    /// The call answers with an old value.
    Stale,
    /// The process holds this much more memory.
    Memory {
        /// Mebibytes.
        mib: u32,
    },
}

impl Effect {
    /// What a person calls it.
    pub fn describe(&self) -> String {
        match self {
            Effect::Delay { mean, jitter } if jitter.0 == 0 => format!("delay {mean}"),
            Effect::Delay { mean, jitter } => format!("delay {mean} ±{jitter}"),
            Effect::Exception { class } => format!("exception {class}"),
            Effect::Status { code, .. } => format!("status {code}"),
            Effect::Empty => "empty answer".into(),
            Effect::Tamper(values) => {
                format!("tamper {}", values.keys().cloned().collect::<Vec<_>>().join(", "))
            }
            Effect::Stale => "stale answer".into(),
            Effect::Memory { mib } => format!("hold {mib} MiB"),
        }
    }
}

/// What may be hit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Envelope {
    /// Only calls that carry these headers.
    pub header: BTreeMap<String, String>,
    /// Only these instances of the targets; all of them if empty.
    pub instances: Vec<InstanceName>,
    /// Only this share of the calls.
    pub percent: Option<Share>,
    /// At most this many calls held at once, per instance.
    pub max_concurrent: Option<u32>,
    /// Only for this long after the fault's start.
    pub window: Option<Span>,
}

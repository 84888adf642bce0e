//! A rule as it is written: every field that could be wrong is a type that cannot be.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a rule is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    /// An id or a name with other characters than letters, digits and `._:-`, empty, or over 128 bytes.
    #[error("`{0}` is not a name: use 1 to 128 letters, digits, `.`, `_`, `:` or `-`")]
    Name(String),
    /// A percent outside (0, 100].
    #[error("percent {0} is outside (0, 100]")]
    Percent(String),
    /// A ttl of zero or over 24 hours.
    #[error("ttl_ms {0} is outside 1 to 86400000 (24 hours): every rule must end by itself")]
    Ttl(u64),
    /// A fault whose parameters make no sense.
    #[error("fault: {0}")]
    Fault(&'static str),
    /// The text is not a rule.
    #[error("{0}")]
    Shape(String),
}

fn checked_name(text: String) -> Result<String, InvalidRule> {
    let fits = (1..=128).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte));
    if fits {
        Ok(text)
    } else {
        let shown = text.chars().take(40).flat_map(char::escape_default).collect();
        Err(InvalidRule::Name(shown))
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidRule;
            fn try_from(text: String) -> Result<Self, InvalidRule> {
                checked_name(text).map(Self)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    };
}

name!(
    /// The id of a rule, chosen by who creates it.
    RuleId
);
name!(
    /// The id of the run that a rule belongs to.
    RunId
);

/// The share of matching calls that are hit, in percent: above 0, at most 100.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Percent(f64);

impl Percent {
    /// Every matching call.
    pub const ALL: Self = Self(100.0);

    /// The share between 0 and 1.
    pub fn share(self) -> f64 {
        self.0 / 100.0
    }
}

impl Default for Percent {
    fn default() -> Self {
        Self::ALL
    }
}

impl TryFrom<f64> for Percent {
    type Error = InvalidRule;
    fn try_from(percent: f64) -> Result<Self, InvalidRule> {
        if percent > 0.0 && percent <= 100.0 {
            Ok(Self(percent))
        } else {
            Err(InvalidRule::Percent(percent.to_string()))
        }
    }
}

impl From<Percent> for f64 {
    fn from(percent: Percent) -> f64 {
        percent.0
    }
}

/// How long a rule lives after its creation, in ms: 1 ms to 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Ttl(u64);

impl Ttl {
    /// As a duration.
    pub fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl TryFrom<u64> for Ttl {
    type Error = InvalidRule;
    fn try_from(ms: u64) -> Result<Self, InvalidRule> {
        if (1..=86_400_000).contains(&ms) {
            Ok(Self(ms))
        } else {
            Err(InvalidRule::Ttl(ms))
        }
    }
}

impl From<Ttl> for u64 {
    fn from(ttl: Ttl) -> u64 {
        ttl.0
    }
}

/// What happens to a call that is hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The call waits first, `mean_ms` give or take up to `jitter_ms`, uniformly.
    Delay {
        /// Middle of the delay, ms.
        mean_ms: u64,
        /// Half the width of the delay, ms.
        #[serde(default)]
        jitter_ms: u64,
    },
    /// The call fails as if it had thrown this class.
    Exception {
        /// Name of the class.
        class: String,
    },
    /// The call is answered with this status.
    Status {
        /// HTTP status, 100 to 599.
        code: u16,
        /// The answer's body.
        #[serde(default)]
        body: String,
    },
    /// The call is answered with nothing in it.
    Empty,
    /// Values in the answer are replaced: JSON pointer to new value.
    Tamper(BTreeMap<String, Value>),
    /// The call is answered with an older value.
    Stale,
    /// The instance holds this much memory while the rule lives.
    Memory {
        /// MiB held, 1 to 1024.
        mib: u32,
    },
}

impl Fault {
    /// Longest delay, largest text and largest ballast that a rule may ask for.
    fn validate(&self) -> Result<(), InvalidRule> {
        let wrong = match self {
            Self::Delay { mean_ms, jitter_ms } => match () {
                () if *mean_ms == 0 => Some("delay mean_ms must be above 0"),
                () if jitter_ms > mean_ms => Some("delay jitter_ms must not be above mean_ms"),
                () if *mean_ms > 3_600_000 => Some("delay mean_ms must not be above one hour"),
                () => None,
            },
            Self::Exception { class } => class.trim().is_empty().then_some("exception class is empty"),
            Self::Status { code, .. } => {
                (!(100..=599).contains(code)).then_some("status code must be between 100 and 599")
            }
            Self::Tamper(values) => match () {
                () if values.is_empty() => Some("tamper names no value"),
                () if values.keys().any(|pointer| !pointer.starts_with('/')) => {
                    Some("tamper keys are JSON pointers and begin with `/`")
                }
                () => None,
            },
            Self::Memory { mib } => {
                (!(1..=1024).contains(mib)).then_some("memory mib must be between 1 and 1024")
            }
            Self::Empty | Self::Stale => None,
        };
        wrong.map_or(Ok(()), |reason| Err(InvalidRule::Fault(reason)))
    }
}

/// One rule: what is done to which calls, for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The rule's id.
    pub id: RuleId,
    /// The run it belongs to.
    pub run: RunId,
    /// The injection point.
    pub point: String,
    /// What is done.
    pub fault: Fault,
    /// Headers that a call must carry, with these very values; names in any case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub header: BTreeMap<String, String>,
    /// The only instance that may be hit; none means the one that holds the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Share of the matching calls that are hit.
    #[serde(default)]
    pub percent: Percent,
    /// Most calls held at the same time; more are let through and counted as capped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<NonZeroU32>,
    /// It hits only for this long after its creation, ms; none means as long as it lives.
    #[serde(default, alias = "window", skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<NonZeroU64>,
    /// How long it lives.
    pub ttl_ms: Ttl,
}

impl Rule {
    /// Reads a rule from JSON; `id` comes from the address and may be repeated in the body.
    ///
    /// # Errors
    /// [`InvalidRule`] says which field is wrong and what is allowed.
    pub fn from_json(id: &str, mut body: Value) -> Result<Self, InvalidRule> {
        let fields = body
            .as_object_mut()
            .ok_or_else(|| InvalidRule::Shape("a rule is a JSON object".into()))?;
        let named = fields.entry("id").or_insert_with(|| Value::from(id));
        if named.as_str() != Some(id) {
            return Err(InvalidRule::Shape(
                "the id in the body is not the id in the address".into(),
            ));
        }
        let rule: Self =
            serde_json::from_value(body).map_err(|error| InvalidRule::Shape(error.to_string()))?;
        rule.validated()
    }

    fn validated(mut self) -> Result<Self, InvalidRule> {
        checked_name(self.point.clone())?;
        self.fault.validate()?;
        self.header = self
            .header
            .into_iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
        Ok(self)
    }
}

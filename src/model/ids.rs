//! Names and ids. Each kind of name is its own type, so that a step can never stand where a metric is meant.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest name a file may use; longer ones would not fit a line of 80 cells beside their values.
pub const MAX_NAME: usize = 64;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a name: use 1 to {MAX_NAME} letters, digits, `-`, `_` or `.`, beginning with a letter or digit"
)]
pub struct NotAName {
    /// What was written, cut to [`MAX_NAME`] characters.
    pub text: String,
}

fn checked(text: &str) -> Result<String, NotAName> {
    let starts_well = text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    let all_allowed = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if starts_well && all_allowed && text.len() <= MAX_NAME {
        Ok(text.to_owned())
    } else {
        let shown = text.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
        Err(NotAName { text: shown })
    }
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name, if `text` is one.
            pub fn new(text: &str) -> Result<Self, NotAName> {
                checked(text).map(Self)
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAName;
            fn try_from(text: String) -> Result<Self, NotAName> {
                Self::new(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    )+};
}

names! {
    /// A drill, as its file calls it.
    DrillName,
    /// A dashboard, as its file calls it.
    DashboardName,
    /// One execution of a drill: six hexadecimal digits, chosen at random.
    RunId,
    /// A step of a drill.
    StepName,
    /// A metric of a dashboard.
    MetricId,
    /// A scope of a dashboard: label matchers added to a metric's selectors.
    ScopeName,
    /// A service, such as `order`.
    ServiceName,
    /// One instance of a service, such as `order-0`.
    InstanceName,
    /// An environment of `allclear.yaml`.
    EnvironmentName,
    /// A server that an environment names: a Redis, a load balancer.
    ServerName,
    /// A command of a playbook.
    CommandName,
    /// A namespace of Kubernetes.
    Namespace,
    /// A Deployment of Kubernetes.
    DeploymentName,
    /// A Deployment or StatefulSet of Kubernetes.
    WorkloadName,
    /// An HTTPRoute of Kubernetes' Gateway API.
    RouteName,
}

/// A cluster of an environment at which recovery changes what holds consumers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterName {
    /// A Kafka cluster: its quotas.
    Kafka(ServerName),
    /// A RocketMQ cluster: its groups' switches.
    Rocketmq(ServerName),
}

/// A fault that a run injects on one instance: `RUN-STEP-INSTANCE-N`. Chosen before the fault is made, so that a
/// create whose answer never came can still be undone by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FaultId(String);

impl FaultId {
    /// The id of the `n`th fault of `step` on `instance`.
    pub fn new(run: &RunId, step: &StepName, instance: &InstanceName, n: usize) -> Self {
        Self(format!("{run}-{step}-{instance}-{n}"))
    }

    /// The id as text, safe inside a URL path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_slash_a_space_or_an_escape_is_refused() {
        for text in ["../x", "a b", "\u{1b}[2J", "", "-x", "ü"] {
            assert!(MetricId::new(text).is_err(), "{text:?}");
        }
        assert_eq!(MetricId::new("order_p99").unwrap().as_str(), "order_p99");
    }

    #[test]
    fn the_error_shows_no_control_characters() {
        assert!(
            !StepName::new("\u{1b}[31mx")
                .unwrap_err()
                .to_string()
                .contains('\u{1b}')
        );
    }
}

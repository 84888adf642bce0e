//! Why a rule is refused.

use super::MAX_RULES;
use crate::point::rule::InvalidRule;

/// Why a rule was not put in force.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A rule with this id and another content is in force.
    #[error("a rule `{0}` with other content is in force: delete it first, or choose another id")]
    OtherContent(String),
    /// The instance has no such point.
    #[error("{service} has no injection point `{point}`{}", nearest.as_ref().map(|name| format!(": did you mean `{name}`?")).unwrap_or_default())]
    UnknownPoint {
        /// The service asked.
        service: String,
        /// The point asked for.
        point: String,
        /// The registered name that is nearest, if one is near.
        nearest: Option<String>,
    },
    /// The rule makes no sense.
    #[error(transparent)]
    Invalid(#[from] InvalidRule),
    /// The instance holds as many rules as it may.
    #[error("{MAX_RULES} rules are in force here: delete some first")]
    TooMany,
}

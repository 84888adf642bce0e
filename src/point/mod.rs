//! The injection point for Rust services: fault rules that each instance enforces itself.
//!
//! A service asks [`Points::check`] at the places where it may be made to fail. Without a rule that costs one
//! atomic load. A rule says which point, which marked calls, which share of them, how many at once, and for how
//! long; the instance checks all of it, its own name included, and drops the rule at its ttl by itself.
//! [`http::router`] serves the API through which rules come and go.

mod headers;
mod hit;
pub mod http;
mod live;
mod locked;
mod names;
mod points;
mod rule;

pub use headers::{Headers, Mark};
pub use hit::{Hit, Outcome, Tamper};
pub use live::RuleState;
pub use locked::Locked;
pub use names::nearest;
pub use points::{Placed, Points, Refused};
pub use rule::{Fault, InvalidRule, Percent, Rule, RuleId, RunId, Ttl};

#[cfg(test)]
mod tests;

//! What the drill itself must have: a guard that users would feel, faults that end by themselves.

use super::Inspector;
use crate::model::{dashboard::MetricKind, drill::Action, environment::Stage, event::CheckOutcome};

impl Inspector {
    /// A guard without a business metric watches machines while users suffer.
    pub(super) fn guard_is_worth_it(&mut self) {
        let drill = &self.plan.drill;
        let business = drill.guard.steady_state.iter().any(|h| {
            drill
                .dashboard
                .metric(&h.metric)
                .is_some_and(|m| m.kind == MetricKind::Business)
        });
        if !business {
            let next = Some("add one that users feel, such as the share of orders that succeed");
            self.say(
                "guard",
                CheckOutcome::Refused,
                "no hypothesis about a business metric",
                next,
            );
        }
    }

    pub(super) fn expiry(&mut self) {
        let drill = &self.plan.drill;
        let none = drill.steps.iter().any(|s| match &s.action {
            Action::Fault { faults, .. } => faults.iter().any(|f| !f.has_native_expiry()),
            _ => false,
        });
        if !none {
            self.say(
                "expiry",
                CheckOutcome::Passed,
                "every fault expires at its target by itself",
                None,
            );
        } else if self.plan.environment.stage == Stage::Production && !drill.accept_no_expiry {
            let next = Some("say `accept_no_expiry: true` in the drill if that is meant");
            self.say(
                "expiry",
                CheckOutcome::Refused,
                "a fault without an expiry of its own, in production",
                next,
            );
        } else {
            self.say(
                "expiry",
                CheckOutcome::Warned,
                "a fault without an expiry of its own",
                None,
            );
        }
    }
}

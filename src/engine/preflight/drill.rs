//! What the drill itself must have: a guard that users would feel, faults that end by themselves.

use super::Inspector;
use crate::model::{
    dashboard::MetricKind, drill::Action, environment::Stage, event::CheckOutcome, said::said,
};

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
            let next = Some(said!(
                "add one that users feel, such as the share of orders that succeed",
                "请添加用户能感知的一项，如下单成功率"
            ));
            let found = said!("no hypothesis about a business metric", "没有业务指标的稳态假设");
            self.say(said!("guard", "守护"), CheckOutcome::Refused, found, next);
        }
    }

    pub(super) fn expiry(&mut self) {
        let drill = &self.plan.drill;
        let none = drill.steps.iter().any(|s| match &s.action {
            Action::Fault { faults, .. } => faults.iter().any(|f| !f.has_native_expiry()),
            _ => false,
        });
        let what = said!("expiry", "自行失效");
        if !none {
            let found = said!(
                "every fault expires at its target by itself",
                "每个故障都会在目标处自行失效"
            );
            self.say(what, CheckOutcome::Passed, found, None);
        } else if self.plan.environment.stage == Stage::Production && !drill.accept_no_expiry {
            let next = Some(said!(
                "say `accept_no_expiry: true` in the drill if that is meant",
                "若确要如此，请在演练中写 `accept_no_expiry: true`"
            ));
            let found = said!(
                "a fault without an expiry of its own, in production",
                "有故障不会自行失效，且在生产环境"
            );
            self.say(what, CheckOutcome::Refused, found, next);
        } else {
            let found = said!("a fault without an expiry of its own", "有故障不会自行失效");
            self.say(what, CheckOutcome::Warned, found, None);
        }
    }
}

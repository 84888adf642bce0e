//! What the drill itself must have: a guard that users would feel, faults that end by themselves.

use super::Inspector;
use crate::{
    metrics::longest_range,
    model::{
        dashboard::{MetricKind, Read},
        drill::Action,
        environment::Stage,
        event::CheckOutcome,
        said::said,
        sample::Query,
    },
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

    /// PromQL averages over its own range and is fresh at every moment: one that looks further back than the guard thins what is
    /// bad now with what was good.
    pub(super) fn guard_looks_at_now(&mut self) {
        let plan = self.plan.clone();
        let guard = &plan.drill.guard;
        for hypothesis in &guard.steady_state {
            let metric = plan.drill.dashboard.metric(&hypothesis.metric);
            let range = match metric.map(|m| &m.read) {
                Some(Read::Promql { query }) => longest_range(query),
                _ => continue,
            };
            let most = hypothesis.window.max(guard.every * u64::from(guard.samples));
            if range > most {
                let query = Query::new(&hypothesis.metric, hypothesis.scope.as_ref());
                let found = said!(
                    "its promql looks {range} back, further than the guard's {most}: what is bad now is thinned by what was good",
                    "其 promql 回看 {range}，长于守护的 {most}：此刻的坏会被先前的好冲淡"
                );
                let next = said!(
                    "read it as a `ratio`, or give it a range of {most} at most",
                    "请用 `ratio` 读取，或让其范围至多 {most}"
                );
                let what = said!("guard {query}", "守护 {query}");
                self.say(what, CheckOutcome::Refused, found, Some(next));
            }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::*;
    use crate::{
        drivers::{
            Drivers,
            testing::{environment, nothing_to_do, plan},
        },
        model::{
            amount::Unit,
            dashboard::Metric,
            drill::{Hypothesis, Limit},
            ids::MetricId,
            secret::Secrets,
            text::Localized,
            time::Span,
        },
    };

    /// Why a guard that looks every second, three times, over ten seconds at this query is refused.
    fn refused(promql: &str) -> Vec<String> {
        let id = MetricId::new("success").unwrap();
        let mut plan = plan(environment(&[]), nothing_to_do());
        plan.drill.dashboard.metrics.push(Metric {
            id: id.clone(),
            title: Localized::plain("success"),
            kind: MetricKind::Business,
            unit: Unit::Percent,
            better: None,
            read: Read::Promql { query: promql.into() },
            of: Vec::new(),
        });
        plan.drill.guard.steady_state.push(Hypothesis {
            metric: id,
            scope: None,
            window: Span::seconds(10),
            limit: Limit::AtLeast(0.99),
        });
        let (done, _checks) = mpsc::unbounded_channel();
        let mut inspector = Inspector {
            drivers: Arc::new(Drivers::new(&plan, Secrets::none()).unwrap()),
            plan: Arc::new(plan),
            done,
            refused: Vec::new(),
        };
        inspector.guard_looks_at_now();
        let refused = inspector.refused.iter();
        refused.map(|why| why.en().to_owned()).collect()
    }

    #[test]
    fn a_guard_on_promql_that_looks_back_further_than_it_does_is_refused() {
        assert_eq!(refused("good / all"), [] as [String; 0]);
        assert_eq!(
            refused("sum(rate(good[10s])) / sum(rate(all[10s]))"),
            [] as [String; 0]
        );
        let why = refused("sum(rate(good[5m])) / sum(rate(all[5m]))");
        assert!(
            why.len() == 1 && why[0].contains("looks 5m back") && why[0].contains("read it as a `ratio`"),
            "{why:?}"
        );
    }
}

//! A percent is a share of one. Where a query gives a percentage of a hundred, a floor of 99% lies at 0.99, and whatever
//! happens stays above it.

use super::Inspector;
use crate::{
    engine::{meters::Meters, sheet::rows},
    model::{
        amount::Unit,
        drill::{Change, Drill, Limit},
        event::CheckOutcome,
        said::said,
        sample::Query,
        time::Span,
    },
};

/// A share is never more than one, but for a race between two counters.
const MORE_THAN_A_SHARE: f64 = 1.5;

impl Inspector {
    /// Floors that can never break: a guard with one is refused, and a row with one is told.
    pub(super) fn floors_of_shares(&mut self, meters: &Meters) {
        let plan = self.plan.clone();
        for query in &meters.queries {
            let Some((floor, outcome)) = floor(&plan.drill, query) else {
                continue;
            };
            let reads = match meters.store.reading(query, Span::seconds(60)).value {
                Ok(value) if value.0 > MORE_THAN_A_SHARE => format!("{:.1}", value.0),
                _ => continue,
            };
            let floor = Unit::Percent.show(floor);
            let found = said!(
                "it reads {reads}, which is never below its floor of {floor}",
                "读数为 {reads}，永远不会低于下限 {floor}"
            );
            let next = said!(
                "`unit: percent` is a share of one: take the `100 *` out of the query",
                "`unit: percent` 是以 1 为整体的占比：请去掉查询中的 `100 *`"
            );
            self.say(said!("query {query}", "查询 {query}"), outcome, found, Some(next));
        }
    }
}

/// The floor under a share, and what it means if it can never break.
fn floor(drill: &Drill, query: &Query) -> Option<(f64, CheckOutcome)> {
    let metric = drill.dashboard.metric(&query.metric)?;
    if metric.unit != Unit::Percent {
        return None;
    }
    let hypotheses = drill.guard.steady_state.iter();
    let guarded = hypotheses
        .filter(|h| &Query::new(&h.metric, h.scope.as_ref()) == query)
        .find_map(|h| match h.limit {
            Limit::AtLeast(floor) if floor <= 1.0 => Some(floor),
            _ => None,
        });
    let expectations = drill.steps.iter().flat_map(|s| &s.expect);
    let mut expected = expectations
        .filter(|e| &rows::query(e) == query)
        .filter_map(|e| match &e.change {
            Change::Level(bounds) => bounds.at_least.filter(|floor| *floor <= 1.0),
            _ => None,
        });
    let refused = guarded.map(|floor| (floor, CheckOutcome::Refused));
    refused.or_else(|| expected.next().map(|floor| (floor, CheckOutcome::Warned)))
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
        engine::Done,
        metrics::testing::{gauge, metric, round, series},
        model::{
            amount::{Basis, Bounds},
            dashboard::{Agg, Metric, MetricKind},
            drill::{Expectation, Hypothesis, Start},
            secret::Secrets,
            testing::step,
            text::Localized,
        },
    };

    /// What preflight says of a share with that floor, when it reads so much.
    fn says(reads: f64, unit: Unit, guarded: Option<Limit>, row: Option<f64>) -> Vec<CheckOutcome> {
        let id = metric("success");
        let mut plan = plan(environment(&[("order", "order-0", "h0:1")]), nothing_to_do());
        let wanted = gauge("success", Agg::Avg);
        plan.drill.dashboard.metrics.push(Metric {
            id: id.clone(),
            title: Localized::plain("success"),
            kind: MetricKind::Business,
            unit,
            better: None,
            read: wanted.read.clone(),
            of: Vec::new(),
        });
        plan.drill.guard.steady_state = guarded
            .map(|limit| Hypothesis {
                metric: id.clone(),
                scope: None,
                window: Span::seconds(10),
                limit,
            })
            .into_iter()
            .collect();
        let mut delay = step("delay", 1, Start::InOrder, true);
        delay.expect = row
            .map(|floor| Expectation {
                metric: id.clone(),
                scope: None,
                change: Change::Level(Bounds {
                    at_least: Some(floor),
                    at_most: None,
                    basis: Basis::Absolute,
                }),
                otherwise: None,
            })
            .into_iter()
            .collect();
        plan.drill.steps = vec![delay];
        let mut meters = Meters::open(&plan, &Secrets::none()).unwrap();
        let samples = series("order-0", "", &[(1_000, reads), (2_000, reads)]);
        meters.store.add(round(2_000, &[(&wanted, 0, vec![samples])]));
        let (done, mut said) = mpsc::unbounded_channel();
        let mut inspector = Inspector {
            drivers: Arc::new(Drivers::new(&plan, Secrets::none()).unwrap()),
            plan: Arc::new(plan),
            done,
            refused: Vec::new(),
        };
        inspector.floors_of_shares(&meters);
        let mut outcomes = Vec::new();
        while let Ok(Done::Check(check)) = said.try_recv() {
            outcomes.push(check.outcome);
        }
        outcomes
    }

    #[test]
    fn a_floor_under_a_percentage_of_a_hundred_is_refused_for_the_guard_and_told_for_a_row() {
        let floor = || Some(Limit::AtLeast(0.99));
        assert_eq!(says(99.2, Unit::Percent, floor(), None), [CheckOutcome::Refused]);
        assert_eq!(
            says(99.2, Unit::Percent, None, Some(0.99)),
            [CheckOutcome::Warned]
        );
        assert_eq!(
            says(99.2, Unit::Percent, floor(), Some(0.99)),
            [CheckOutcome::Refused],
            "once, and the worse of the two"
        );
    }

    #[test]
    fn a_share_of_one_and_what_is_no_share_and_what_has_no_floor_pass() {
        let floor = || Some(Limit::AtLeast(0.99));
        assert_eq!(says(0.992, Unit::Percent, floor(), Some(0.99)), []);
        assert_eq!(says(99.2, Unit::Count, floor(), Some(0.99)), []);
        assert_eq!(says(99.2, Unit::Percent, Some(Limit::AtMost(0.05)), None), []);
        assert_eq!(says(99.2, Unit::Percent, None, None), []);
    }
}

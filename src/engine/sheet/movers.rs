//! Metrics that moved and stand on no row.

use super::rows::Bench;
use crate::{
    judge::{self, Periods},
    model::{
        dashboard::Read,
        ids::{MetricId, StepName},
        sample::Query,
        sheet::Moved,
    },
};

impl Bench<'_> {
    /// The metrics that could have moved in a group and stand on no row of it: a histogram by its rate and mean, unless a
    /// quantile of it stands on a row.
    pub fn off_sheet(&self, group: usize) -> OffSheet {
        let on_sheet: Vec<_> = self
            .schedule
            .members(group)
            .flat_map(|s| self.drill.steps[s].expect.iter().map(|e| &e.metric))
            .collect();
        let mut metrics = Vec::new();
        for metric in &self.drill.dashboard.metrics {
            let quantile = matches!(metric.read, Read::Quantile { .. });
            let mut names = metric.of.iter().chain([&metric.id]);
            if quantile || names.any(|name| on_sheet.contains(&name)) {
                continue;
            }
            let query = Query::new(&metric.id, None);
            metrics.extend(
                self.periods(group, group, &query)
                    .map(|periods| (metric.id.clone(), periods)),
            );
        }
        OffSheet {
            step: self.drill.steps[group].name.clone(),
            metrics,
        }
    }
}

/// Metrics that stand on no row, ready to be judged on another thread.
#[derive(Debug)]
pub struct OffSheet {
    step: StepName,
    metrics: Vec<(MetricId, Periods)>,
}

impl OffSheet {
    /// Those that moved.
    pub fn moved(&self) -> Vec<Moved> {
        let periods: Vec<&Periods> = self.metrics.iter().map(|(_, p)| p).collect();
        let level = |w: &judge::Windows| judge::level(w).unwrap_or(f64::NAN);
        judge::movers(&periods)
            .into_iter()
            .map(|i| Moved {
                metric: self.metrics[i].0.clone(),
                before: level(self.metrics[i].1.baseline()),
                now: level(self.metrics[i].1.injection()),
                step: self.step.clone(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        drill::schedule::Schedule,
        engine::sheet::testing::doubled,
        model::{
            amount::{Basis, Bounds, Unit},
            dashboard::{Metric, MetricKind, Selector},
            drill::{Change, Drill, Expectation, Start},
            snapshot::BaselineLevels,
            testing::{drill, step},
            text::Localized,
            time::Span,
        },
    };

    fn p99() -> MetricId {
        MetricId::new("order_p99").unwrap()
    }

    fn drill_on(rows: &[MetricId]) -> Drill {
        let mut drill = drill(vec![step("a", 30, Start::InOrder, true)]);
        drill.dashboard.metrics.push(Metric {
            id: p99(),
            title: Localized::plain("p99"),
            kind: MetricKind::Business,
            unit: Unit::Seconds,
            better: None,
            read: Read::Quantile {
                histogram: Selector {
                    name: "order_seconds_bucket".into(),
                    matchers: Vec::new(),
                },
                q: 0.99,
            },
            of: Vec::new(),
        });
        drill.dashboard = drill.dashboard.with_rates_and_means();
        drill.steps[0].expect = rows
            .iter()
            .map(|metric| Expectation {
                metric: metric.clone(),
                scope: None,
                change: Change::Rises(Bounds {
                    at_least: None,
                    at_most: None,
                    basis: Basis::Absolute,
                }),
                otherwise: None,
            })
            .collect();
        drill
    }

    /// A mean that doubles with the step.
    fn moved(drill: &Drill) -> Vec<String> {
        let query = Query::new(&MetricId::new("order_p99.mean").unwrap(), None);
        let collected = doubled(&query);
        let bench = Bench {
            drill,
            schedule: &Schedule::of(drill).unwrap(),
            collected: &collected,
            baseline: &BaselineLevels::default(),
            spacing: Span::seconds(1),
        };
        let moved = bench.off_sheet(0).moved();
        moved.iter().map(|m| m.metric.to_string()).collect()
    }

    #[test]
    fn a_histogram_is_watched_by_its_mean() {
        assert_eq!(moved(&drill_on(&[])), ["order_p99.mean"]);
    }

    #[test]
    fn the_mean_of_a_histogram_whose_quantile_is_on_the_sheet_is_no_surprise() {
        assert!(moved(&drill_on(&[p99()])).is_empty());
    }
}

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
    /// The metrics that could have moved in a group and stand on no row of it.
    pub fn off_sheet(&self, group: usize) -> OffSheet {
        let on_sheet: Vec<_> = self
            .schedule
            .members(group)
            .flat_map(|s| self.drill.steps[s].expect.iter().map(|e| &e.metric))
            .collect();
        let mut metrics = Vec::new();
        for metric in &self.drill.dashboard.metrics {
            let counts = !matches!(metric.read, Read::Quantile { .. });
            if !counts || on_sheet.contains(&&metric.id) {
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

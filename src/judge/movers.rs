//! Metrics that moved although no row expected it ("Unexpected movers").

use super::change::means;
use super::constants::{MOVER_PP, MOVER_Q, MOVER_REL};
use super::series::parts;
use super::windows::{Periods, Windows};

/// How surely and how far one metric moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// Two-sided p of no change.
    pub p: f64,
    /// Far enough to be listed: 10 % of the baseline, for a ratio half a percentage point.
    pub is_large: bool,
}

/// How a gauge, rate or ratio moved. `None` without data, and for a quantile: histograms enter by their
/// rate and mean.
pub fn moved(periods: &Periods) -> Option<Moved> {
    let (one, two) = parts(periods).ok()?;
    let means = means(periods.baseline(), &one, &two)?;
    let distance = (means.level - means.base).abs();
    let least = match periods.baseline() {
        Windows::Ratio(_) => MOVER_PP,
        _ => MOVER_REL * means.base.abs(),
    };
    Some(Moved {
        p: means.model.p_change(),
        is_large: distance > 0.0 && distance >= least,
    })
}

/// Indices of the metrics that moved, surest first: the step-up procedure over all judged metrics (Y. Benjamini
/// and Y. Hochberg 1995), then those that moved far enough.
pub fn movers<P: AsRef<Periods>>(metrics: &[P]) -> Vec<usize> {
    let mut judged: Vec<(f64, usize, bool)> = metrics
        .iter()
        .enumerate()
        .filter_map(|(k, periods)| moved(periods.as_ref()).map(|found| (found.p, k, found.is_large)))
        .collect();
    judged.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let count = judged.len() as f64;
    let cut = (1..=judged.len())
        .rev()
        .find(|rank| judged[rank - 1].0 <= MOVER_Q * *rank as f64 / count)
        .unwrap_or(0);
    judged[..cut]
        .iter()
        .filter(|(_, _, is_large)| *is_large)
        .map(|(_, k, _)| *k)
        .collect()
}

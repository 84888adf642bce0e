//! What a baseline says before the start ("Before the start"): is it enough, and how small a change could it show.

use super::constants::{ALPHA, KAPPA, MIN_N1, MIN_N2, SDC_MARGIN};
use super::judgement::Reason;
use super::model::{Model, Side};
use super::noise::mean;
use super::quantile::{Histogram, mixed_point};
use super::series::{Data, Used, covers, thin_baseline, usable};
use super::sparse::{Scaling, floors};
use super::windows::{MAX_WINDOWS, Windows, settle_windows};

/// Part of the changes of the smallest detectable size that are seen.
const SEEN: f64 = 0.90;
/// Why this baseline is too thin to judge anything by, if it is ("Windows", rule 3).
pub fn too_thin(baseline: &Windows) -> Option<Reason> {
    thin_baseline(&usable(baseline, 0, 0), baseline.len())
}

/// The level of these windows, however few: mean, rate, share or quantile. `None` without a usable window.
pub fn level(windows: &Windows) -> Option<f64> {
    let used = usable(windows, 0, 0);
    if used.len() == 0 {
        return None;
    }
    Basis::of(&used).map(|basis| basis.level)
}

/// Smallest change, in the metric's unit, that a drill with `n2` injection windows, begun right after this
/// baseline, detects in 90 % of runs ("Before the start"). `settle` as in [`super::Periods::settle`]. `None` if too thin.
pub fn smallest_detectable(baseline: &Windows, n2: usize, settle: Option<usize>) -> Option<f64> {
    smallest_detectable_after(baseline, 0, n2, settle)
}

/// As [`smallest_detectable`], for an injection that begins `pause` windows after the baseline's end.
pub fn smallest_detectable_after(
    baseline: &Windows,
    pause: usize,
    n2: usize,
    settle: Option<usize>,
) -> Option<f64> {
    let settle = settle.unwrap_or_else(|| settle_windows(n2));
    let used = usable(baseline, 0, 0);
    let planned = n2.saturating_sub(settle);
    if !covers(used.len(), MIN_N1, baseline.len()) || !(MIN_N2..=MAX_WINDOWS).contains(&planned) {
        return None;
    }
    let first = baseline.len().saturating_add(pause).saturating_add(settle);
    let times: Vec<usize> = (first..first.saturating_add(planned)).collect();
    if times.len() < planned {
        return None;
    }
    let basis = Basis::of(&used)?;
    let grow = used.len() as f64 / planned as f64;
    let model = Model::new(
        &Side {
            times: &used.times,
            y: &basis.y,
            floor: basis.floor,
        },
        &Side {
            times: &times,
            y: &vec![mean(&basis.y); planned],
            floor: basis.floor * grow,
        },
        Scaling::NONE,
    );
    if !model.is_sound() {
        return Some(f64::INFINITY);
    }
    let inside = basis
        .histogram
        .as_ref()
        .map_or(0.0, |all| all.inside * (1.0 + grow));
    let mixed: Vec<_> = model
        .parts
        .iter()
        .map(|part| (part.weight, 0.0, part.v1 + part.v2.max(part.calm) + inside))
        .collect();
    if mixed.iter().all(|(_, _, variance)| *variance == 0.0) {
        return Some(0.0);
    }
    let at = |p: f64| mixed_point(&mixed, model.df1, p);
    let size = SDC_MARGIN * (at(1.0 - ALPHA) + at(SEEN));
    Some(match (&basis.histogram, &used.data) {
        (Some(all), Data::Quantile { q, .. }) => quantile_size(all, q + size),
        _ => size,
    })
}

/// A change of a share, as a change of the quantile.
fn quantile_size(all: &Histogram<'_>, share: f64) -> f64 {
    let (high, bucket) = all.inverse(share);
    if !high.is_finite() || !all.value.is_finite() {
        return f64::INFINITY;
    }
    (all.high_edge(bucket) - all.value).max(KAPPA * (high - all.value))
}

/// The series a baseline is looked at with.
pub(super) struct Basis<'a> {
    pub(super) level: f64,
    pub(super) y: Vec<f64>,
    floor: f64,
    histogram: Option<Histogram<'a>>,
}

impl<'a> Basis<'a> {
    pub(super) fn of(used: &Used<'a>) -> Option<Self> {
        if let Data::Quantile { edges, q, cum } = &used.data {
            let all = Histogram::new(edges, cum, *q);
            return Some(Self {
                level: all.value,
                y: all.y.clone(),
                floor: all.floor,
                histogram: Some(all),
            });
        }
        let series = used.series()?;
        let floor = match used.data {
            Data::Gauge(_) => floors(&series.y, &series.y).one,
            _ => series.floor,
        };
        Some(Self {
            level: series.level,
            y: series.y,
            floor,
            histogram: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_is_too_short_or_absurdly_long_has_no_smallest_change() {
        let baseline = Windows::Gauge((0..60).map(|k| Some(50.0 + (f64::from(k) * 2.3).sin())).collect());
        assert!(smallest_detectable(&baseline, 18, None).unwrap() > 0.0);
        assert_eq!(
            smallest_detectable(&baseline, 8, None),
            smallest_detectable(&baseline, 8, Some(2))
        );
        assert_eq!(smallest_detectable(&baseline, 7, Some(3)), None);
        assert_eq!(smallest_detectable(&baseline, usize::MAX, None), None);
        assert_eq!(smallest_detectable_after(&baseline, usize::MAX, 18, None), None);
        assert_eq!(too_thin(&baseline), None);
        assert_eq!(
            too_thin(&Windows::Gauge(vec![])).unwrap().to_string(),
            "baseline too thin: 0 usable windows"
        );
    }
}

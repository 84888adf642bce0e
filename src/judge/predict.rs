//! What a baseline says before the start (§9): is it enough, is it steady, how small a change could it show.

use super::constants::{
    ALPHA, KAPPA, MIN_N1, MIN_N2, RESIDUE, SDC_MARGIN, SHAPES, STEADY_BF, STEADY_TAU, STEP_AT,
};
use super::expect::Expect;
use super::judgement::Reason;
use super::model::{Model, Side, likelihood};
use super::noise::{Calendar, dot, is_representable, is_still, mean};
use super::quantile::{Histogram, mixed_point};
use super::series::{Data, Used, covers, thin_baseline, usable};
use super::sparse::{Scaling, floors};
use super::windows::{MAX_WINDOWS, Windows, settle_windows};

/// Part of the changes of the smallest detectable size that are seen.
const SEEN: f64 = 0.90;
/// A row tolerates an unsteadiness below this part of its smallest bound.
const TOLERATED: f64 = 0.25;

/// Why this baseline is too thin to judge anything by, if it is (§2 rule 3).
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
/// baseline, detects in 90 % of runs (§9). `settle` as in [`super::Periods::settle`]. `None` if too thin.
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
struct Basis<'a> {
    level: f64,
    y: Vec<f64>,
    floor: f64,
    histogram: Option<Histogram<'a>>,
}

impl<'a> Basis<'a> {
    fn of(used: &Used<'a>) -> Option<Self> {
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

/// How much speaks against a steady baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// Odds of a drift or step against none; infinite if beyond counting.
    pub bayes_factor: f64,
    /// Size of the best fitting move over the baseline: metric's unit, for a quantile a share.
    pub size: f64,
}

impl Steadiness {
    /// More than 30 to 1 against a steady baseline. Odds that cannot be computed are not steady.
    pub fn is_unsteady(&self) -> bool {
        self.bayes_factor.is_nan() || self.bayes_factor > STEADY_BF
    }
}

/// Whether the start must be refused because this baseline moves too much for the row (§9): it is unsteady,
/// and by a quarter of the row's smallest bound or more. A row without a bound takes `sdc`, the smallest
/// detectable change in the metric's unit; a quantile, whose move is a share, any size.
pub fn must_refuse(baseline: &Windows, expect: &Expect, sdc: Option<f64>) -> bool {
    let used = usable(baseline, 0, 0);
    let Some(steadiness) = steadiness(baseline).filter(Steadiness::is_unsteady) else {
        return false;
    };
    if matches!(baseline, Windows::Quantile { .. }) {
        return true;
    }
    let level = Basis::of(&used).map_or(f64::NAN, |basis| basis.level);
    match expect.smallest_bound(level).or(sdc) {
        Some(bound) => steadiness.size.is_nan() || steadiness.size.abs() >= TOLERATED * bound,
        None => true,
    }
}

/// One way in which a baseline may move.
struct Move {
    prior: f64,
    shape: Vec<f64>,
    /// Log likelihood and size, per noise shape.
    fits: Vec<(f64, f64)>,
}

/// How steady a baseline is (§9). `None` with fewer than 20 usable windows.
pub fn steadiness(baseline: &Windows) -> Option<Steadiness> {
    let used = usable(baseline, 0, 0);
    if used.len() < MIN_N1 {
        return None;
    }
    let y = Basis::of(&used)?.y;
    if !is_representable(&y) {
        return Some(Steadiness {
            bayes_factor: f64::INFINITY,
            size: f64::INFINITY,
        });
    }
    if is_still(&y) {
        return Some(Steadiness {
            bayes_factor: 0.0,
            size: 0.0,
        });
    }
    let calendar = Calendar::new(&used.times);
    let mut moves = moves(&used.times, &calendar);
    let centre = mean(&y);
    let around: Vec<f64> = y.iter().map(|value| value - centre).collect();
    let (df, prior_precision) = (y.len() as f64 - 1.0, 1.0 / (STEADY_TAU * STEADY_TAU));
    let mut flat = Vec::with_capacity(SHAPES.len());
    for (shape, table) in SHAPES.iter().zip(&calendar.tables) {
        let z = table.whiten(&around);
        let r0 = table.squares(&z);
        flat.push(shape.prior.ln() + likelihood(table, df, r0));
        for candidate in &mut moves {
            let a = table.whiten_orthogonal(&candidate.shape);
            let (aa, az) = (dot(&a, &a), dot(&a, &z));
            let precision = aa + prior_precision;
            let r = (r0 - az * az / precision).max(RESIDUE * r0);
            let penalty = -0.5 * (aa / prior_precision).ln_1p();
            candidate.fits.push((
                shape.prior.ln() + likelihood(table, df, r) + penalty,
                az / precision,
            ));
        }
    }
    Some(odds(&moves, log_sum(flat.into_iter())))
}

/// A linear drift with weight ½, and steps at seven places that share the other half.
fn moves(times: &[usize], calendar: &Calendar) -> Vec<Move> {
    let start = times.first().copied().unwrap_or(0) as f64;
    let along = |f: &dyn Fn(f64) -> f64| times.iter().map(|t| f(*t as f64)).collect();
    let drift = Move {
        prior: 0.5,
        shape: along(&|t| (t - calendar.centre) / calendar.span),
        fits: Vec::with_capacity(SHAPES.len()),
    };
    let steps = STEP_AT.iter().map(|part| Move {
        prior: 0.5 / STEP_AT.len() as f64,
        shape: along(&|t| {
            if t >= start + part * calendar.span {
                1.0
            } else {
                0.0
            }
        }),
        fits: Vec::with_capacity(SHAPES.len()),
    });
    std::iter::once(drift).chain(steps).collect()
}

fn odds(moves: &[Move], flat: f64) -> Steadiness {
    let mut best: Option<(f64, &Move)> = None;
    let mut bayes_factor = 0.0;
    for candidate in moves {
        let term = candidate.prior.ln() + log_sum(candidate.fits.iter().map(|fit| fit.0)) - flat;
        bayes_factor += term.exp();
        if best.is_none_or(|(most, _)| term > most) {
            best = Some((term, candidate));
        }
    }
    let size = best.map_or(f64::NAN, |(_, candidate)| {
        let top = candidate
            .fits
            .iter()
            .map(|fit| fit.0)
            .fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = candidate.fits.iter().map(|fit| (fit.0 - top).exp()).sum();
        candidate
            .fits
            .iter()
            .map(|fit| (fit.0 - top).exp() * fit.1)
            .sum::<f64>()
            / total
    });
    Steadiness { bayes_factor, size }
}

/// `ln Σ exp`
fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    top + terms.map(|term| (term - top).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Bounds, Unit};

    fn moving(per_window: f64) -> Windows {
        Windows::Gauge(
            (0..60)
                .map(|k| k as f64)
                .map(|k| Some(50.0 + per_window * k + (k * 2.3).sin()))
                .collect(),
        )
    }

    const fn stays(within: f64) -> Expect {
        Expect::Stays {
            within,
            unit: Unit::Abs,
        }
    }

    #[test]
    fn a_steady_start_is_never_refused() {
        assert!(!steadiness(&moving(0.0)).unwrap().is_unsteady());
        assert!(!must_refuse(&moving(0.0), &stays(0.01), None));
    }

    #[test]
    fn a_drift_is_refused_only_where_it_matters() {
        let baseline = moving(0.2);
        let found = steadiness(&baseline).unwrap();
        assert!(
            found.is_unsteady() && (found.size - 12.0).abs() < 1.0,
            "{found:?}"
        );
        assert!(must_refuse(&baseline, &stays(40.0), None));
        assert!(!must_refuse(&baseline, &stays(60.0), None));
        let open = Expect::Rises {
            bounds: Bounds::default(),
            unit: Unit::Abs,
        };
        assert!(must_refuse(&baseline, &open, Some(40.0)));
        assert!(!must_refuse(&baseline, &open, Some(60.0)));
        assert!(must_refuse(&baseline, &open, None));
    }

    #[test]
    fn a_relative_bound_is_measured_by_the_baseline() {
        let (baseline, unit) = (moving(0.2), Unit::Rel);
        assert!(must_refuse(&baseline, &Expect::Stays { within: 0.5, unit }, None));
        assert!(!must_refuse(
            &baseline,
            &Expect::Stays { within: 2.0, unit },
            None
        ));
    }

    #[test]
    fn odds_beyond_counting_are_unsteady() {
        let line = Windows::Gauge((0..2000).map(|k| Some(f64::from(k))).collect());
        assert!(steadiness(&line).unwrap().is_unsteady());
        let huge = Windows::Gauge(
            (0..60)
                .map(|k| Some(1e200 * (f64::from(k) * 2.3).sin()))
                .collect(),
        );
        assert!(steadiness(&huge).unwrap().is_unsteady());
    }

    #[test]
    fn a_plan_that_is_too_short_or_absurdly_long_has_no_smallest_change() {
        let baseline = moving(0.0);
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

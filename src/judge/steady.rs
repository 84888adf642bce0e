//! Whether a baseline is steady ("Before the start"), and whether it must be refused because it is not.

use super::constants::{MIN_N1, RESIDUE, SHAPES, STEADY_BF, STEADY_TAU, STEP_AT};
use super::expect::Expect;
use super::model::likelihood;
use super::noise::{Calendar, dot, is_representable, is_still, mean};
use super::predict::Basis;
use super::series::usable;
use super::windows::Windows;

/// A row tolerates an unsteadiness below this part of its smallest bound.
const TOLERATED: f64 = 0.25;

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

/// Whether the start must be refused because this baseline moves too much for the row ("Before the start"): it is
/// unsteady, and by a quarter of the row's smallest bound or more. A row without a bound takes `sdc`, the smallest
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

/// How steady a baseline is ("Before the start"). `None` with fewer than 20 usable windows.
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
}

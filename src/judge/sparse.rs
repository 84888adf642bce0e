//! Noise at another level, and gauges that rest most of the time ("Noise at another level").

use super::constants::{BURST_GAP, KEEP, PSEUDO, STILL};
use super::noise::{is_still, largest, mean, smallest};
use super::windows::Windows;

/// Which level the spread of a metric goes along with.
#[derive(Clone, Copy, PartialEq)]
enum Along {
    /// The level itself.
    Level,
    /// The level itself, and counting noise shrinks with the count.
    Count,
    /// The bad share of a ratio.
    BadShare,
}

/// How the baseline's noise is brought to another level.
#[derive(Clone, Copy)]
pub(super) struct Scaling(Option<(Along, f64)>);

impl Scaling {
    /// The noise is the same at every level.
    pub(super) const NONE: Self = Self(None);

    /// The scaling of a gauge, rate or ratio from the series of its periods.
    pub(super) fn of(kind: &Windows, y1: &[f64], y2: &[f64]) -> Self {
        let along = match kind {
            Windows::Rate(_) => Along::Count,
            Windows::Ratio(_) if mean(y1) >= 0.5 => Along::BadShare,
            Windows::Gauge(_) if is_signed(y1) || is_signed(y2) => return Self::NONE,
            _ => Along::Level,
        };
        let x1: Vec<f64> = match along {
            Along::BadShare => y1.iter().map(|y| 1.0 - y).collect(),
            _ => y1.to_vec(),
        };
        if mean(&x1) <= 0.0 || is_still(&x1) || mean(y1) <= 0.0 {
            return Self::NONE;
        }
        Self(Some((along, (KEEP * mean(&x1) / deviation(&x1)).min(1.0))))
    }

    /// Factor `f` on the baseline's variance if the level is `level` instead of `m1`.
    pub(super) fn growth(&self, level: f64, m1: f64) -> f64 {
        let Some((along, keep)) = self.0 else { return 1.0 };
        let x = match along {
            Along::BadShare => (1.0 - level) / (1.0 - m1),
            _ => level / m1,
        };
        if x > 1.0 {
            (1.0 + keep * (x - 1.0)).powi(2)
        } else if along == Along::Count {
            x.max(0.0)
        } else {
            1.0
        }
    }
}

/// Whether a gauge has a negative window: then it has no relative change.
pub(super) fn is_signed(y: &[f64]) -> bool {
    smallest(y) < 0.0
}

fn deviation(y: &[f64]) -> f64 {
    let centre = mean(y);
    (y.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (y.len() as f64 - 1.0)).sqrt()
}

/// Counting-noise floors of a gauge.
pub(super) struct Floors {
    /// Least variance of the baseline level.
    pub one: f64,
    /// Least variance of the injection level.
    pub two: f64,
    /// Bursts in the baseline; `None` for a gauge that does not rest.
    pub bursts: Option<usize>,
}

/// Floors of a gauge that rests at one value more than half of the time: its bursts are its events.
pub(super) fn floors(y1: &[f64], y2: &[f64]) -> Floors {
    let rest = median(y1);
    let Some(first) = bursts(y1, rest) else {
        return Floors {
            one: 0.0,
            two: 0.0,
            bursts: None,
        };
    };
    let second = bursts(y2, rest);
    let size = first
        .iter()
        .chain(second.iter().flatten())
        .map(|burst| burst * burst)
        .fold(0.0, f64::max);
    let floor = |sizes: &[f64], n: usize| {
        (sizes.iter().map(|burst| burst * burst).sum::<f64>() + PSEUDO * size) / (n * n) as f64
    };
    Floors {
        one: floor(&first, y1.len()),
        two: second.as_deref().map_or(0.0, |sizes| floor(sizes, y2.len())),
        bursts: Some(first.len()),
    }
}

/// Sums of the deviations from `rest` over bursts; `None` unless fewer than half of the windows are away.
fn bursts(y: &[f64], rest: f64) -> Option<Vec<f64>> {
    let resolution = STILL * largest(y).max(rest.abs());
    let mut sizes: Vec<f64> = Vec::new();
    let (mut away, mut last) = (0, None);
    for (k, value) in y.iter().enumerate() {
        let size = value - rest;
        if size.abs() <= resolution {
            continue;
        }
        away += 1;
        match (last, sizes.last_mut()) {
            (Some(before), Some(burst)) if k - before <= BURST_GAP + 1 => *burst += size,
            _ => sizes.push(size),
        }
        last = Some(k);
    }
    (2 * away < y.len()).then_some(sizes)
}

fn median(y: &[f64]) -> f64 {
    let mut sorted = y.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_windows_are_one_burst_and_distant_ones_are_two() {
        let mut y = vec![0.0; 20];
        for k in [2, 3, 6, 10] {
            y[k] = 1.0;
        }
        assert_eq!(bursts(&y, 0.0), Some(vec![3.0, 1.0]));
    }

    #[test]
    fn a_gauge_that_is_away_half_of_the_time_is_not_sparse() {
        let y: Vec<f64> = (0..20).map(|k| f64::from(k % 2)).collect();
        assert_eq!(floors(&y, &y).bursts, None);
    }

    #[test]
    fn counting_noise_shrinks_with_the_count_and_other_noise_does_not() {
        let y: Vec<f64> = (0..20).map(|k| 10.0 + f64::from(k % 3)).collect();
        let rate = Scaling::of(&Windows::Rate(vec![]), &y, &y);
        let gauge = Scaling::of(&Windows::Gauge(vec![]), &y, &y);
        assert_eq!(rate.growth(5.0, 10.0), 0.5);
        assert_eq!(rate.growth(-5.0, 10.0), 0.0);
        assert_eq!(gauge.growth(5.0, 10.0), 1.0);
        assert!((gauge.growth(30.0, 10.0) - 9.0).abs() < 1e-12);
    }
}

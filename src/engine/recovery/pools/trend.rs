//! Which way a pool goes: the slope through its last samples, with its confidence. Pure.
//!
//! The slope is the median of the slopes between all pairs of samples (Theil 1950, Sen 1968), its interval the one that
//! Kendall's rank correlation gives at 95 % (Sen 1968, with the correction for ties). Against a least-squares line it needs
//! no normal errors, which a pool that is full, empty or bursting does not have, and one outlier moves nothing.

use crate::model::said::{Said, said};

/// How many of the last samples are looked at.
pub(super) const SAMPLES: usize = 60;
/// With fewer, no order of samples is rare enough to mean anything at 95 %.
pub(super) const FEWEST: usize = 5;
/// The normal quantile of a two-sided 95 %.
const Z: f64 = 1.96;

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trend {
    /// It empties.
    Falling,
    /// It does not empty: it stays, or at best falls too slowly.
    Flat,
    /// It fills.
    Rising,
    /// Too few samples to say, or too wild ones.
    Unknown,
}

/// A trend, and the slope behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drift {
    /// Which way.
    pub(super) trend: Trend,
    /// The slope and its 95 % interval, a second; `None` with too few samples.
    slope: Option<[f64; 3]>,
}

/// The drift of samples (seconds, value). `enough` is the fall a second that would empty the pool in time: a slope whose
/// interval holds 0 is flat only if the interval does not reach that far down.
pub(super) fn drift(samples: &[(f64, f64)], enough: f64) -> Drift {
    let finite = |s: &&(f64, f64)| s.0.is_finite() && s.1.is_finite();
    let last: Vec<(f64, f64)> = samples[samples.len().saturating_sub(SAMPLES)..]
        .iter()
        .filter(finite)
        .copied()
        .collect();
    let Some([slope, low, high]) = theil_sen(&last) else {
        return Drift {
            trend: Trend::Unknown,
            slope: None,
        };
    };
    let trend = match () {
        () if high < 0.0 => Trend::Falling,
        () if low > 0.0 => Trend::Rising,
        () if low > -enough || (low, high) == (0.0, 0.0) => Trend::Flat,
        () => Trend::Unknown,
    };
    Drift {
        trend,
        slope: Some([slope, low, high]),
    }
}

/// Median slope, lower and upper end.
fn theil_sen(samples: &[(f64, f64)]) -> Option<[f64; 3]> {
    if samples.len() < FEWEST {
        return None;
    }
    let mut slopes = Vec::with_capacity(samples.len() * (samples.len() - 1) / 2);
    for (i, a) in samples.iter().enumerate() {
        let after = samples[i + 1..].iter().filter(|b| b.0 > a.0);
        slopes.extend(after.map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    slopes.retain(|s| s.is_finite());
    slopes.sort_by(f64::total_cmp);
    let count = slopes.len();
    // How many slopes stay outside at each end.
    let spread = Z * kendall_variance(samples).sqrt();
    let outside = ((count as f64 - spread) / 2.0).round();
    if outside < 1.0 {
        return None;
    }
    let low = outside as usize - 1;
    let median = (slopes[(count - 1) / 2] + slopes[count / 2]) / 2.0;
    Some([median, slopes[low], slopes[count - 1 - low]])
}

/// The variance of Kendall's S for so many samples, with the correction for equal values.
fn kendall_variance(samples: &[(f64, f64)]) -> f64 {
    let term = |n: usize| (n * n.saturating_sub(1) * (2 * n + 5)) as f64;
    let mut values: Vec<f64> = samples.iter().map(|s| s.1).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 = values.chunk_by(|a, b| a == b).map(|same| term(same.len())).sum();
    (term(samples.len()) - ties).max(0.0) / 18.0
}

impl Drift {
    /// `FALLING -1.2/s (-1.5 to -0.9)`; nothing if it is not known.
    pub(super) fn said(&self) -> Said {
        let word = match self.trend {
            Trend::Falling => said!("FALLING", "下降"),
            Trend::Flat => said!("FLAT", "持平"),
            Trend::Rising => said!("RISING", "上升"),
            Trend::Unknown => return Said::as_it_is(""),
        };
        match self.slope {
            Some([slope, low, high]) => said!(
                word;
                "{word} {slope:.1}/s ({low:.1} to {high:.1})",
                "{word} {slope:.1}/s（{low:.1} 至 {high:.1}）"
            ),
            None => word,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Trend {
        let samples: Vec<_> = values.iter().enumerate().map(|(i, v)| (i as f64, *v)).collect();
        drift(&samples, 1.0).trend
    }

    #[test]
    fn the_slope_decides_not_two_points() {
        assert_eq!(of(&[50.0, 45.0, 41.0, 36.0, 30.0]), Trend::Falling);
        assert_eq!(of(&[50.0, 50.0, 50.0, 50.0, 50.0]), Trend::Flat);
        assert_eq!(of(&[50.0, 49.9, 50.1, 50.0, 50.0, 49.9]), Trend::Flat);
        assert_eq!(of(&[10.0, 14.0, 19.0, 25.0, 27.0]), Trend::Rising);
        assert_eq!(of(&[50.0, 10.0]), Trend::Unknown);
        assert_eq!(of(&[50.0, 40.0, 30.0, 20.0]), Trend::Unknown);
    }

    #[test]
    fn wild_samples_that_may_fall_fast_enough_are_not_called_flat() {
        let wild = [50.0, 90.0, 20.0, 70.0, 10.0, 80.0];
        assert_eq!(of(&wild), Trend::Unknown);
        let samples: Vec<_> = wild.iter().enumerate().map(|(i, v)| (i as f64, *v)).collect();
        // A fall of 100 a second would be needed: nothing here could be that.
        assert_eq!(drift(&samples, 100.0).trend, Trend::Flat);
    }

    #[test]
    fn one_outlier_does_not_hide_a_fall() {
        let mut values: Vec<f64> = (0..20).map(|i| 100.0 - f64::from(i) * 2.0).collect();
        values[17] = 900.0;
        assert_eq!(of(&values), Trend::Falling);
    }

    #[test]
    fn only_the_last_samples_count() {
        let rose_then_fell: Vec<f64> = (0..200)
            .map(f64::from)
            .chain((0..60).map(|i| 200.0 - f64::from(i) * 3.0))
            .collect();
        assert_eq!(of(&rose_then_fell), Trend::Falling);
    }

    /// Without any trend, falling and rising are said in about one of twenty cases.
    #[test]
    fn noise_alone_is_seldom_called_a_trend() {
        let mut seed = 7_u64;
        let mut noise = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64
        };
        for length in [5, 6, 7, 8, 12, 30] {
            let said = (0..2000).filter(|_| {
                let values: Vec<f64> = (0..length).map(|_| noise()).collect();
                matches!(of(&values), Trend::Falling | Trend::Rising)
            });
            let said = said.count();
            assert!(said <= 130, "{said} of 2000 with {length} samples");
        }
    }

    #[test]
    fn the_slope_is_told_with_its_confidence() {
        let samples: Vec<_> = (0..8)
            .map(|i| (f64::from(i), 50.0 - 2.0 * f64::from(i)))
            .collect();
        let told = drift(&samples, 1.0).said();
        assert_eq!(
            told,
            said!("FALLING -2.0/s (-2.0 to -2.0)", "下降 -2.0/s（-2.0 至 -2.0）")
        );
    }

    proptest::proptest! {
        #[test]
        fn no_numbers_panic_it(values in proptest::collection::vec(proptest::num::f64::ANY, 0..30)) {
            let _ = of(&values);
        }
    }
}

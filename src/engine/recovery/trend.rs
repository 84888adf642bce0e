//! Which way a pool goes: the slope of a straight line through the last samples, with its error. Pure.

/// How many of the last samples are looked at.
pub(super) const SAMPLES: usize = 10;

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trend {
    /// It empties.
    Falling,
    /// It stays as it is, as far as the samples can tell.
    Flat,
    /// It fills.
    Rising,
    /// Too few samples to say.
    Unknown,
}

/// The trend of samples (seconds, value): falling or rising only if the slope is over twice its standard error.
///
/// Ordinary least squares; the error of the slope is √(SSR / (n − 2) / Sxx).
pub(super) fn trend(samples: &[(f64, f64)]) -> Trend {
    let last = &samples[samples.len().saturating_sub(SAMPLES)..];
    let n = last.len() as f64;
    if last.len() < 3 {
        return Trend::Unknown;
    }
    let (mean_x, mean_y) = (
        last.iter().map(|s| s.0).sum::<f64>() / n,
        last.iter().map(|s| s.1).sum::<f64>() / n,
    );
    let sxx: f64 = last.iter().map(|s| (s.0 - mean_x).powi(2)).sum();
    let sxy: f64 = last.iter().map(|s| (s.0 - mean_x) * (s.1 - mean_y)).sum();
    if sxx <= 0.0 || !sxy.is_finite() {
        return Trend::Unknown;
    }
    let slope = sxy / sxx;
    let residual: f64 = last
        .iter()
        .map(|s| (s.1 - mean_y - slope * (s.0 - mean_x)).powi(2))
        .sum();
    let error = (residual / (n - 2.0) / sxx).sqrt();
    match slope {
        // A perfect line has no error; a slope that rounding made is still flat.
        s if s.abs() <= 2.0 * error || s.abs() < 1e-9 => Trend::Flat,
        s if s < 0.0 => Trend::Falling,
        _ => Trend::Rising,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Trend {
        let samples: Vec<_> = values.iter().enumerate().map(|(i, v)| (i as f64, *v)).collect();
        trend(&samples)
    }

    #[test]
    fn the_slope_decides_not_two_points() {
        assert_eq!(of(&[50.0, 45.0, 41.0, 36.0, 30.0]), Trend::Falling);
        assert_eq!(of(&[50.0, 50.0, 50.0, 50.0]), Trend::Flat);
        assert_eq!(of(&[50.0, 48.0, 51.0, 49.0, 50.0, 49.0]), Trend::Flat);
        assert_eq!(of(&[10.0, 14.0, 19.0, 25.0]), Trend::Rising);
        assert_eq!(of(&[50.0, 10.0]), Trend::Unknown);
    }

    #[test]
    fn only_the_last_samples_count() {
        let rose_then_fell: Vec<f64> = (0..50)
            .map(f64::from)
            .chain((0..12).map(|i| 50.0 - f64::from(i) * 3.0))
            .collect();
        assert_eq!(of(&rose_then_fell), Trend::Falling);
    }

    proptest::proptest! {
        #[test]
        fn no_numbers_panic_it(values in proptest::collection::vec(proptest::num::f64::ANY, 0..30)) {
            let _ = of(&values);
        }
    }
}

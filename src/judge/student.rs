//! The one special function of the judge: the distribution of Student's t.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// P(T <= x) for Student's t with `df` degrees of freedom, not necessarily whole; NaN if either is NaN.
pub(super) fn cdf(df: f64, x: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, df) {
        Ok(t) if !x.is_nan() => t.cdf(x),
        _ => f64::NAN,
    }
}

/// P of a point mass at zero: 0, ½ or 1 by the sign of `x`.
pub(super) fn step(x: f64) -> f64 {
    if x == 0.0 { 0.5 } else { 0.5 * (x.signum() + 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tails_match_the_tables() {
        // 1 % points of Student's t, from the printed tables.
        for (df, point) in [
            (5.0, 3.364_930),
            (14.0, 2.624_494),
            (59.0, 2.391_229),
            (120.0, 2.357_825),
        ] {
            assert!((cdf(df, -point) - 0.01).abs() < 1e-8, "{df}");
            assert!((cdf(df, point) - 0.99).abs() < 1e-8, "{df}");
        }
    }

    #[test]
    fn very_many_degrees_of_freedom_approach_the_normal() {
        // Cornish and Fisher 1938: the t point is z + (z³ + z)/(4 df) to first order.
        let z: f64 = 2.326_347_874_040_841;
        for df in [1e4, 1e5, 2e5] {
            let point = z + (z.powi(3) + z) / (4.0 * df);
            assert!((cdf(df, -point) - 0.01).abs() < 1e-8, "{df} {}", cdf(df, -point));
        }
    }

    #[test]
    fn no_number_gives_no_number() {
        assert!(cdf(f64::NAN, 1.0).is_nan());
        assert!(cdf(5.0, f64::NAN).is_nan());
        assert_eq!(cdf(5.0, f64::NEG_INFINITY), 0.0);
        assert_eq!(cdf(5.0, f64::INFINITY), 1.0);
        assert_eq!((step(-1e-300), step(0.0), step(2.0)), (0.0, 0.5, 1.0));
    }
}

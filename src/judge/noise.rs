//! The noise shapes of one period, and whitening by them ("Noise model").
//!
//! Every shape is first-order autoregressive noise plus white noise. Its inverse Cholesky factor never has
//! to be formed: the standardised innovations of a Kalman filter are exactly `L⁻¹ x` (Kalman 1960; gaps as
//! in R. H. Jones, Technometrics 22, 1980). That takes n steps where the dense factor takes n², so the
//! tables are rebuilt for each judgement instead of being kept anywhere.

use super::constants::{SHAPES, STILL, Shape};

/// One shape at the times of one period.
pub(super) struct Table {
    gains: Vec<Gain>,
    /// Whitened constant, `u = W 1`.
    u: Vec<f64>,
    /// `u·u`
    pub uu: f64,
    /// Whitened drift regressor, orthogonal to `u`.
    g: Vec<f64>,
    /// `g·g`
    pub gg: f64,
    /// `2 Σ ln L_ii`
    pub logdet: f64,
    /// Variance of the plain mean for unit noise variance.
    pub vm: f64,
}

/// One step of the filter.
struct Gain {
    /// One over the deviation of the innovation.
    scale: f64,
    /// Part of the innovation that the autoregressive part takes on.
    take: f64,
    /// Decay until the next window.
    decay: f64,
}

/// All shapes at the times of one period.
pub(super) struct Calendar {
    /// Mean of the window indices.
    pub centre: f64,
    /// First to last window, both counted.
    pub span: f64,
    /// In the order of [`SHAPES`].
    pub tables: Vec<Table>,
}

impl Calendar {
    /// Tables for strictly ascending window indices, at least one.
    pub(super) fn new(times: &[usize]) -> Self {
        let count = times.len() as f64;
        let centre = times.iter().map(|t| *t as f64).sum::<f64>() / count;
        let span = match times {
            [first, .., last] => (last - first) as f64 + 1.0,
            _ => 1.0,
        };
        let drift: Vec<f64> = times.iter().map(|t| (*t as f64 - centre) / span).collect();
        let tables = SHAPES
            .iter()
            .map(|shape| Table::new(shape, times, &drift))
            .collect();
        Self { centre, span, tables }
    }
}

impl Table {
    fn new(shape: &Shape, times: &[usize], drift: &[f64]) -> Self {
        let Shape { rho, share, .. } = *shape;
        let white = 1.0 - share;
        let (mut gains, mut logdet) = (Vec::with_capacity(times.len()), 0.0);
        let (mut known, mut pairs, mut reach) = (share, 0.0, 0.0);
        for (i, time) in times.iter().enumerate() {
            let variance = known + white;
            logdet += variance.ln();
            let decay = times.get(i + 1).map_or(0.0, |next| power(rho, next - time));
            gains.push(Gain {
                scale: 1.0 / variance.sqrt(),
                take: known / variance,
                decay,
            });
            known = decay * decay * (known * white / variance) + share * (1.0 - decay * decay);
            pairs += reach;
            reach = decay * (reach + 1.0);
        }
        let count = times.len() as f64;
        let vm = (count + 2.0 * share * pairs) / (count * count);
        let mut table = Self {
            gains,
            u: Vec::new(),
            uu: 0.0,
            g: Vec::new(),
            gg: 0.0,
            logdet,
            vm,
        };
        table.u = table.whiten(&vec![1.0; times.len()]);
        table.uu = dot(&table.u, &table.u);
        table.g = table.whiten_orthogonal(drift);
        table.gg = dot(&table.g, &table.g);
        table
    }

    /// `W x`
    pub(super) fn whiten(&self, x: &[f64]) -> Vec<f64> {
        let mut expected = 0.0;
        self.gains
            .iter()
            .zip(x)
            .map(|(gain, value)| {
                let innovation = value - expected;
                expected = gain.decay * (expected + gain.take * innovation);
                innovation * gain.scale
            })
            .collect()
    }

    /// `W x` made orthogonal to `u`.
    pub(super) fn whiten_orthogonal(&self, x: &[f64]) -> Vec<f64> {
        let mut whitened = self.whiten(x);
        let along = dot(&whitened, &self.u) / self.uu;
        whitened
            .iter_mut()
            .zip(&self.u)
            .for_each(|(value, u)| *value -= along * u);
        whitened
    }

    /// Squares of the whitened residuals `z` around their generalised least squares mean, `R` of "Noise model".
    pub(super) fn squares(&self, z: &[f64]) -> f64 {
        let along = dot(z, &self.u);
        dot(z, z) - along * along / self.uu
    }

    /// Product of whitened residuals with the drift regressor, `b` of "Noise model".
    pub(super) fn drift(&self, z: &[f64]) -> f64 {
        dot(z, &self.g)
    }
}

/// `rho` over `lag` windows.
fn power(rho: f64, lag: usize) -> f64 {
    match i32::try_from(lag) {
        Ok(1) => rho,
        Ok(lag) => rho.powi(lag),
        Err(_) => 0.0,
    }
}

/// Scalar product.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Plain mean, exact for a constant series (a rounding error must not look like a move).
pub(super) fn mean(y: &[f64]) -> f64 {
    let Some(first) = y.first() else { return f64::NAN };
    first + y.iter().map(|value| value - first).sum::<f64>() / y.len() as f64
}

/// Largest absolute value.
pub(super) fn largest(y: &[f64]) -> f64 {
    y.iter().fold(0.0, |top: f64, value| top.max(value.abs()))
}

/// Smallest value.
pub(super) fn smallest(y: &[f64]) -> f64 {
    y.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Whether squares of the series and their ratios can be computed. Beyond that nothing is claimed.
pub(super) fn is_representable(y: &[f64]) -> bool {
    let top = largest(y);
    y.iter().all(|value| value.is_finite()) && (top == 0.0 || (1e-120..=1e120).contains(&top))
}

/// Whether the series moves by no more than rounding: a *still* period of "Noise model".
pub(super) fn is_still(y: &[f64]) -> bool {
    let top = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top - smallest(y) <= STILL * largest(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `L⁻¹ x` by the dense factor, as docs/judge.md writes it.
    fn dense(shape: &Shape, times: &[usize], x: &[f64]) -> (Vec<f64>, f64, f64) {
        let n = times.len();
        let c = |i: usize, j: usize| {
            if i == j {
                1.0
            } else {
                shape.share * shape.rho.powf(times[i].abs_diff(times[j]) as f64)
            }
        };
        let mut low = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in 0..=i {
                let rest: f64 = (0..j).map(|k| low[i][k] * low[j][k]).sum();
                low[i][j] = if i == j {
                    (c(i, i) - rest).sqrt()
                } else {
                    (c(i, j) - rest) / low[j][j]
                };
            }
        }
        let mut z = vec![0.0; n];
        for i in 0..n {
            let rest: f64 = (0..i).map(|k| low[i][k] * z[k]).sum();
            z[i] = (x[i] - rest) / low[i][i];
        }
        let logdet = 2.0 * (0..n).map(|i| low[i][i].ln()).sum::<f64>();
        let total: f64 = (0..n).flat_map(|i| (0..n).map(move |j| c(i, j))).sum();
        (z, logdet, total / (n * n) as f64)
    }

    #[test]
    fn the_filter_is_the_inverse_cholesky_factor() {
        let times: Vec<usize> = (0..40).filter(|t| ![3, 4, 5, 17, 30].contains(t)).collect();
        let x: Vec<f64> = times
            .iter()
            .map(|t| (*t as f64 * 1.7).sin() * 3.0 + (*t % 5) as f64)
            .collect();
        let calendar = Calendar::new(&times);
        for (shape, table) in SHAPES.iter().zip(&calendar.tables) {
            let (z, logdet, vm) = dense(shape, &times, &x);
            for (fast, slow) in table.whiten(&x).iter().zip(&z) {
                assert!(
                    (fast - slow).abs() < 1e-12,
                    "rho {} share {}: {fast} {slow}",
                    shape.rho,
                    shape.share
                );
            }
            assert!((table.logdet - logdet).abs() < 1e-11);
            assert!((table.vm - vm).abs() < 1e-14);
        }
    }

    #[test]
    fn the_mean_of_a_constant_is_that_constant() {
        for n in [15, 18, 60, 61] {
            assert_eq!(mean(&vec![0.1; n]), 0.1);
        }
        assert!(is_still(&[0.1; 60]));
        assert!(is_still(&[0.0; 3]));
        assert!(!is_still(&[1.0, 1.0 + 1e-8]));
    }
}

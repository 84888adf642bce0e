//! The weighed mixture of noise components and the intervals it gives ("Noise model", "Intervals").

use super::constants::{ALPHA, DRIFTS, RESIDUE, SHAPES, STILL};
use super::noise::{Calendar, Table, is_representable, is_still, mean};
use super::sparse::Scaling;
use super::{Interval, root, student};

/// Largest factor between two levels that is still searched for ("Intervals").
const FACTOR_REACH: f64 = 1e9;
/// A component below this weight cannot change a probability of one percent by one rounding error.
const NEGLIGIBLE: f64 = 1e-17;

/// One period as the model takes it.
pub(super) struct Side<'a> {
    /// Window indices.
    pub times: &'a [usize],
    /// The series whose plain mean is the level.
    pub y: &'a [f64],
    /// Least variance of that mean, from counting.
    pub floor: f64,
}

impl Side<'_> {
    fn is_representable(&self) -> bool {
        is_representable(self.y) && self.floor.is_finite()
    }
}

/// One noise shape with one prior of the drift.
#[derive(Clone, Copy)]
pub(super) struct Component {
    /// Normalised weight.
    pub weight: f64,
    /// Drift of the baseline, carried to the injection.
    pub drift: f64,
    /// Variance of the baseline level, with the drift's.
    pub v1: f64,
    /// Variance of the injection level, from its own windows.
    pub v2: f64,
    /// Variance of the injection level if it were as calm as the baseline.
    pub calm: f64,
}

/// Two levels, and how far they may differ by chance.
pub(super) struct Model {
    /// Degrees of freedom of the baseline.
    pub df1: f64,
    /// Degrees of freedom of the injection.
    pub df2: f64,
    m1: f64,
    m2: f64,
    scaling: Scaling,
    /// Components that carry weight.
    pub parts: Vec<Component>,
    /// Largest deviation of a change, over all components, per baseline factor: `(v1, max(v2, calm))`.
    spread: Vec<(f64, f64)>,
    exact: bool,
    sound: bool,
}

impl Model {
    pub(super) fn new(one: &Side<'_>, two: &Side<'_>, scaling: Scaling) -> Self {
        let (m1, m2) = (mean(one.y), mean(two.y));
        let rows = components(one, two, m1, m2);
        let spread: Vec<_> = rows
            .iter()
            .map(|part| (part.v1, part.v2.max(part.calm)))
            .collect();
        let sound = [one, two].iter().all(|side| side.is_representable())
            && rows.iter().all(|p| {
                [p.weight, p.drift, p.v1, p.v2, p.calm]
                    .iter()
                    .all(|x| x.is_finite())
            });
        let exact = sound && spread.iter().all(|(v1, v2)| *v1 == 0.0 && *v2 == 0.0);
        // Two still periods that agree as far as each agrees with itself are the same level.
        let m2 = if exact && (m2 - m1).abs() <= STILL * m1.abs().max(m2.abs()) {
            m1
        } else {
            m2
        };
        Self {
            df1: one.y.len() as f64 - 1.0,
            df2: two.y.len() as f64 - 1.0,
            m1,
            m2,
            scaling,
            parts: rows.into_iter().filter(|part| part.weight > NEGLIGIBLE).collect(),
            spread,
            exact,
            sound,
        }
    }

    /// Whether every number of the model could be computed.
    pub(super) fn is_sound(&self) -> bool {
        self.sound
    }

    /// P(θ2 - k θ1 <= a), θ1 being the baseline level carried along its drift ("Intervals").
    fn below(&self, k: f64, a: f64) -> f64 {
        if self.exact {
            return student::step(a - (self.m2 - k * self.m1));
        }
        self.parts
            .iter()
            .map(|part| part.weight * self.below_one(part, k, a))
            .sum::<f64>()
            // The weights add up to 1 but for rounding.
            .clamp(0.0, 1.0)
    }

    fn below_one(&self, part: &Component, k: f64, a: f64) -> f64 {
        let base = k * (self.m1 + part.drift);
        let v1 = k * k * part.v1;
        let v2 = part.v2.max(part.calm * self.scaling.growth(a + base, self.m1));
        let (total, distance) = (v1 + v2, a - (self.m2 - base));
        if total == 0.0 {
            return student::step(distance);
        }
        let (a1, a2) = (v1 / total, v2 / total);
        student::cdf(
            1.0 / (a1 * a1 / self.df1 + a2 * a2 / self.df2),
            distance / total.sqrt(),
        )
    }

    /// The `a` with P(θ2 - k θ1 <= a) = p. What cannot be computed is infinitely far out.
    fn point(&self, k: f64, p: f64) -> f64 {
        if self.exact {
            return self.m2 - k * self.m1;
        }
        let widest = self
            .spread
            .iter()
            .map(|(v1, v2)| v2 + k * k * v1)
            .fold(0.0, f64::max)
            .sqrt();
        let centre = self
            .parts
            .iter()
            .map(|c| c.weight * (self.m2 - k * (self.m1 + c.drift)))
            .sum();
        let found = if self.sound {
            root::increasing(|a| self.below(k, a) - p, centre, widest)
        } else {
            None
        };
        found.unwrap_or(if p < 0.5 { f64::NEG_INFINITY } else { f64::INFINITY })
    }

    /// 98 % interval of θ2 - k θ1: the change for k = 1, the level of the injection for k = 0.
    pub(super) fn interval(&self, k: f64) -> Interval {
        Interval {
            lo: self.point(k, ALPHA),
            hi: self.point(k, 1.0 - ALPHA),
        }
    }

    /// The k >= 0 with P(θ2 <= k θ1) = p, for metrics that are never negative (E. C. Fieller 1954).
    fn factor(&self, p: f64) -> f64 {
        if self.exact {
            return self.m2 / self.m1;
        }
        let widest = if p < 0.5 { 0.0 } else { f64::INFINITY };
        let excess = |k: f64| self.below(k, 0.0) - p;
        if !self.sound || excess(0.0) >= 0.0 {
            return if self.sound { 0.0 } else { widest };
        }
        let mut hi = (2.0 * self.m2 / self.m1).max(1.0);
        while excess(hi) < 0.0 {
            hi *= 4.0;
            if hi > FACTOR_REACH {
                return f64::INFINITY;
            }
        }
        root::brent(excess, 0.0, hi, 1e-14, 1e-13).unwrap_or(widest)
    }

    /// 98 % interval of the relative change, 0.2 being 20 %.
    pub(super) fn relative(&self) -> Interval {
        Interval {
            lo: self.factor(ALPHA) - 1.0,
            hi: self.factor(1.0 - ALPHA) - 1.0,
        }
    }

    /// Two-sided p of no change ("Unexpected movers"); 1 where it cannot be computed.
    pub(super) fn p_change(&self) -> f64 {
        if self.exact {
            return if self.m1 == self.m2 { 1.0 } else { 0.0 };
        }
        let g = self.below(1.0, 0.0);
        let p = 2.0 * g.min(1.0 - g);
        if self.sound && p.is_finite() { p } else { 1.0 }
    }
}

/// The components of "Noise model", weights normalised.
fn components(one: &Side<'_>, two: &Side<'_>, m1: f64, m2: f64) -> Vec<Component> {
    let (calendar1, calendar2) = (Calendar::new(one.times), Calendar::new(two.times));
    let delta = (calendar2.centre - calendar1.centre) / calendar1.span;
    let around1 = residuals(one.y, m1);
    let around2 = residuals(two.y, m2);
    let (df1, df2) = (one.y.len() as f64 - 1.0, two.y.len() as f64 - 1.0);
    let mut rows = Vec::with_capacity(SHAPES.len() * DRIFTS.len());
    for ((shape, a), b) in SHAPES.iter().zip(&calendar1.tables).zip(&calendar2.tables) {
        let fit1 = around1.as_ref().map(|around| {
            let z = a.whiten(around);
            (a.squares(&z), a.drift(&z))
        });
        let r2 = around2.as_ref().map(|around| b.squares(&b.whiten(around)));
        let l2 = r2.map_or(0.0, |r2| likelihood(b, df2, r2));
        for (tau, prior) in DRIFTS {
            let mut weight = (shape.prior * prior).ln() + l2;
            let (mut r, mut drift, mut vd) = (0.0, 0.0, 0.0);
            if let Some((r1, b1)) = fit1 {
                r = r1;
                if tau > 0.0 {
                    let precision = a.gg + 1.0 / (tau * tau);
                    r = (r1 - b1 * b1 / precision).max(RESIDUE * r1);
                    weight -= 0.5 * (1.0 + tau * tau * a.gg).ln();
                    (drift, vd) = (b1 / precision * delta, delta * delta / precision);
                }
                weight += likelihood(a, df1, r);
            }
            let (s1, s2) = (r / df1, r2.unwrap_or(0.0) / df2);
            rows.push(Component {
                weight,
                drift,
                v1: (s1 * a.vm).max(one.floor) + s1 * vd,
                v2: (s2 * b.vm).max(two.floor),
                calm: s1 * b.vm,
            });
        }
    }
    normalise(&mut rows);
    rows
}

/// Deviations from the mean; `None` for a still period.
fn residuals(y: &[f64], mean: f64) -> Option<Vec<f64>> {
    (!is_still(y)).then(|| y.iter().map(|value| value - mean).collect())
}

/// Marginal log likelihood of a period, up to a constant ("Noise model", `l1` and `l2`).
pub(super) fn likelihood(table: &Table, df: f64, squares: f64) -> f64 {
    -0.5 * table.logdet - 0.5 * table.uu.ln() - 0.5 * df * squares.ln()
}

fn normalise(rows: &mut [Component]) {
    let top = rows
        .iter()
        .map(|row| row.weight)
        .fold(f64::NEG_INFINITY, f64::max);
    rows.iter_mut()
        .for_each(|row| row.weight = (row.weight - top).exp());
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    rows.iter_mut().for_each(|row| row.weight /= total);
}

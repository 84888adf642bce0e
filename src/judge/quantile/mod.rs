//! Quantiles from classic histogram buckets ("Quantiles").

mod histogram;

pub(super) use histogram::Histogram;

use super::{
    Change, Interval,
    constants::{ALPHA, KAPPA},
    model::{Component, Model, Side},
    root,
    sparse::Scaling,
    student,
};

/// `x` with `Σ w T(df, (x - centre) / √var) = p`; infinitely far out where it cannot be computed
/// ("Quantiles", "Before the start").
pub(super) fn mixed_point(mixed: &[(f64, f64, f64)], df: f64, p: f64) -> f64 {
    let centre: f64 = mixed.iter().map(|(weight, centre, _)| weight * centre).sum();
    let widest = mixed
        .iter()
        .map(|(_, _, variance)| *variance)
        .fold(0.0, f64::max)
        .sqrt();
    let below = |x: f64| {
        let one = |(weight, centre, variance): &(f64, f64, f64)| {
            let distance = x - centre;
            let share = if *variance == 0.0 {
                student::step(distance)
            } else {
                student::cdf(df, distance / variance.sqrt())
            };
            weight * share
        };
        mixed.iter().map(one).sum::<f64>()
    };
    let beyond = if p < 0.5 { f64::NEG_INFINITY } else { f64::INFINITY };
    root::increasing(|x| below(x) - p, centre, widest).unwrap_or(beyond)
}

/// The change of a quantile: bounds from the buckets, narrowed where the ends lie in neighbouring ones.
pub(super) fn change(
    (t1, one): (&[usize], &Histogram<'_>),
    (t2, two): (&[usize], &Histogram<'_>),
    q: f64,
) -> Change {
    let model = Model::new(
        &Side {
            times: t1,
            y: &one.y,
            floor: one.floor,
        },
        &Side {
            times: t2,
            y: &two.y,
            floor: two.floor,
        },
        Scaling::NONE,
    );
    let ends = |mixed: Vec<(f64, f64, f64)>, df: f64| {
        if model.is_sound() {
            Interval {
                lo: mixed_point(&mixed, df, ALPHA),
                hi: mixed_point(&mixed, df, 1.0 - ALPHA),
            }
        } else {
            Interval::EVERYTHING
        }
    };
    let mix = |f: fn(&Component) -> (f64, f64), inside: f64| {
        model
            .parts
            .iter()
            .map(|part| (part.weight, f(part).0, f(part).1 + inside))
            .collect::<Vec<_>>()
    };
    let d = ends(mix(|part| (part.drift, part.v1), one.inside), model.df1);
    let e = ends(mix(|part| (0.0, part.v2.max(part.calm)), two.inside), model.df2);
    bound(&Ends::new(one, q, d), &Ends::new(two, q, e))
}

/// A quantile with the ends of its interval and the outer edges of their buckets.
struct Ends<'a> {
    edges: &'a [f64],
    x: f64,
    low: f64,
    high: f64,
    low_edge: f64,
    high_edge: f64,
}

impl<'a> Ends<'a> {
    fn new(histogram: &Histogram<'a>, q: f64, share: Interval) -> Self {
        let (low, low_bucket) = histogram.inverse(q - share.hi);
        let (high, high_bucket) = histogram.inverse(q - share.lo);
        Self {
            edges: histogram.edges,
            x: histogram.value,
            low,
            high,
            low_edge: histogram.low_edge(low_bucket),
            high_edge: histogram.high_edge(high_bucket),
        }
    }

    fn ln(&self) -> (f64, f64, f64) {
        (self.x.ln(), self.low.ln(), self.high.ln())
    }
}

fn bound(one: &Ends<'_>, two: &Ends<'_>) -> Change {
    let hard = Interval {
        lo: two.low_edge - one.high_edge,
        hi: two.high_edge - one.low_edge,
    };
    let hard_factor = Interval {
        lo: if one.high_edge > 0.0 {
            (two.low_edge / one.high_edge).max(0.0)
        } else {
            0.0
        },
        hi: if one.low_edge > 0.0 {
            two.high_edge / one.low_edge
        } else {
            f64::INFINITY
        },
    };
    let (mut change, mut factor) = (hard, hard_factor);
    if are_near(one, two) {
        change = difference((one.x, one.low, one.high), (two.x, two.low, two.high))
            .stretched()
            .cut(hard);
        if one.low.min(two.low) > 0.0 {
            let logs = difference(one.ln(), two.ln()).stretched();
            factor = Interval {
                lo: logs.lo.exp(),
                hi: logs.hi.exp(),
            }
            .cut(hard_factor);
        }
    }
    Change {
        base: one.x,
        level: two.x,
        abs: change,
        // Of a level that is wholly below zero no share of the one before can be told: no factor is negative.
        rel: (two.high_edge >= 0.0).then_some(Interval {
            lo: factor.lo - 1.0,
            hi: factor.hi - 1.0,
        }),
        level_ci: Interval {
            lo: two.low_edge,
            hi: two.high_edge,
        },
    }
}

/// All four ends finite, and at most one edge between them.
fn are_near(one: &Ends<'_>, two: &Ends<'_>) -> bool {
    let (low, high) = (one.low.min(two.low), one.high.max(two.high));
    [one.low, one.high, two.low, two.high]
        .iter()
        .all(|end| end.is_finite())
        && one
            .edges
            .iter()
            .filter(|edge| low < **edge && **edge < high)
            .count()
            <= 1
}

/// Interval of `x2 - x1` from the two intervals (G. Y. Zou and A. Donner 2008).
fn difference((x1, l1, u1): (f64, f64, f64), (x2, l2, u2): (f64, f64, f64)) -> Interval {
    let d = x2 - x1;
    Interval {
        lo: d - (x2 - l2).hypot(u1 - x1),
        hi: d + (u2 - x2).hypot(x1 - l1),
    }
}

impl Interval {
    /// Widened for the unknown shape inside the buckets.
    fn stretched(self) -> Self {
        Self {
            lo: if self.lo >= 0.0 {
                self.lo / KAPPA
            } else {
                self.lo * KAPPA
            },
            hi: if self.hi >= 0.0 {
                self.hi * KAPPA
            } else {
                self.hi / KAPPA
            },
        }
    }

    /// Cut to what is certain; an end that is no number becomes the certain one.
    fn cut(self, hard: Self) -> Self {
        Self {
            lo: self.lo.max(hard.lo),
            hi: self.hi.min(hard.hi),
        }
    }
}

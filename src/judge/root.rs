//! Roots of increasing functions without a derivative.

/// Widest bracket, in first steps, before a root counts as out of reach ("Intervals").
const REACH: f64 = 1e12;
/// Relative precision of a root.
const PRECISION: f64 = 1e-13;
/// Brent's method halves the bracket at least every few steps; 200 exhaust any pair of doubles.
const STEPS: usize = 200;

/// Root of the increasing `f`, searched from `start` in steps that double from `unit` ("Intervals").
/// Infinite if it is out of reach. `None` if `f` cannot be computed on the way.
pub(super) fn increasing(f: impl Fn(f64) -> f64, start: f64, unit: f64) -> Option<f64> {
    if f(start).is_nan() {
        return None;
    }
    let Some(lo) = walk(|x| f(x) > 0.0, start, -unit)? else {
        return Some(f64::NEG_INFINITY);
    };
    let Some(hi) = walk(|x| f(x) < 0.0, start, unit)? else {
        return Some(f64::INFINITY);
    };
    if lo < hi {
        brent(f, lo, hi, PRECISION * lo.abs().max(hi.abs()), PRECISION)
    } else {
        Some(start)
    }
}

/// First point from `start` where `beyond` is false: `Some(None)` if it is out of reach, `None` for a
/// step or a point that is no number.
fn walk(beyond: impl Fn(f64) -> bool, start: f64, unit: f64) -> Option<Option<f64>> {
    let (mut x, mut step) = (start, unit);
    if !x.is_finite() || !step.is_finite() {
        return None;
    }
    while beyond(x) {
        x += step;
        step *= 2.0;
        if step.abs() > REACH * unit.abs() || !x.is_finite() {
            return Some(None);
        }
    }
    Some(Some(x))
}

/// Root of `f` between `a` and `b`, where its signs differ: inverse quadratic interpolation, secant and
/// bisection, whichever is safe (R. P. Brent, Algorithms for Minimization without Derivatives, 1973, ch. 4).
/// `None` if the signs do not differ or a value is no number.
pub(super) fn brent(f: impl Fn(f64) -> f64, a: f64, b: f64, xtol: f64, rtol: f64) -> Option<f64> {
    let number = |x: f64| Some(f(x)).filter(|y| !y.is_nan());
    let (mut a, mut b) = (a, b);
    let (mut fa, mut fb) = (number(a)?, number(b)?);
    if fa == 0.0 {
        return Some(a);
    }
    if fb != 0.0 && (fa > 0.0) == (fb > 0.0) {
        return None;
    }
    let (mut c, mut fc) = (a, fa);
    let mut step = b - a;
    let mut before = step;
    for _ in 0..STEPS {
        if (fb > 0.0) == (fc > 0.0) {
            (c, fc) = (a, fa);
            step = b - a;
            before = step;
        }
        if fc.abs() < fb.abs() {
            (a, b, c) = (b, c, b);
            (fa, fb, fc) = (fb, fc, fb);
        }
        let close = 0.5 * (xtol + rtol * b.abs()).max(f64::MIN_POSITIVE);
        let half = 0.5 * (c - b);
        if half.abs() <= close || fb == 0.0 {
            return Some(b);
        }
        (step, before) = match interpolate((a, fa), (b, fb), (c, fc)) {
            Some(jump)
                if before.abs() >= close
                    && 2.0 * jump.abs() < (3.0 * half.abs() - close).min(before.abs()) =>
            {
                (jump, step)
            }
            _ => (half, half),
        };
        (a, fa) = (b, fb);
        b += if step.abs() > close {
            step
        } else {
            close.copysign(half)
        };
        fb = number(b)?;
    }
    Some(b)
}

/// The step from `b` proposed by the last points, towards `c`; `None` where it would leave the bracket.
fn interpolate(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> Option<f64> {
    if a.1.abs() <= b.1.abs() {
        return None;
    }
    let half = 0.5 * (c.0 - b.0);
    let s = b.1 / a.1;
    let (p, q) = if a.0 == c.0 {
        (2.0 * half * s, 1.0 - s)
    } else {
        let (t, r) = (a.1 / c.1, b.1 / c.1);
        (
            s * (2.0 * half * t * (t - r) - (b.0 - a.0) * (r - 1.0)),
            (t - 1.0) * (r - 1.0) * (s - 1.0),
        )
    };
    let jump = -(p / q);
    (jump.is_finite() && jump.signum() == half.signum()).then_some(jump)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_found_to_twelve_digits() {
        let root = increasing(|x| x.powi(3) - 2.0, -50.0, 1.0).unwrap();
        assert!((root - 2f64.cbrt()).abs() < 1e-12, "{root}");
        let root = increasing(|x| (x / 40.0).tanh() - 0.999, 0.0, 0.1).unwrap();
        assert!((root - 40.0 * 0.999f64.atanh()).abs() < 1e-9, "{root}");
    }

    #[test]
    fn interpolation_needs_far_fewer_steps_than_halving() {
        let calls = std::cell::Cell::new(0);
        let f = |x: f64| {
            calls.set(calls.get() + 1);
            x.exp() - 10.0
        };
        let root = brent(f, 0.0, 4.0, 1e-14, 1e-14).unwrap();
        assert!((root - 10f64.ln()).abs() < 1e-12);
        assert!(calls.get() < 15, "{} calls", calls.get());
    }

    #[test]
    fn a_flat_step_is_still_bracketed() {
        let root = increasing(|x| if x < 3.25 { -1.0 } else { 1.0 }, 0.0, 1.0).unwrap();
        assert!((root - 3.25).abs() < 1e-11, "{root}");
    }

    #[test]
    fn a_root_out_of_reach_is_infinite() {
        assert_eq!(increasing(|_| -0.5, 0.0, 1.0), Some(f64::INFINITY));
        assert_eq!(increasing(|_| 0.5, 0.0, 1.0), Some(f64::NEG_INFINITY));
    }

    #[test]
    fn what_cannot_be_computed_is_no_root() {
        assert_eq!(
            increasing(|x| if x > 1.0 { f64::NAN } else { x - 2.0 }, 0.0, 1.0),
            None
        );
        assert_eq!(increasing(|x| x, f64::NAN, 1.0), None);
        assert_eq!(brent(|x| x + 10.0, 0.0, 1.0, 1e-9, 1e-9), None);
    }
}

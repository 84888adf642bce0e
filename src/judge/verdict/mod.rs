//! The verdict of one row ("Expectations").

#[cfg(test)]
mod tests;

use super::change::{Interval, Measured};
use super::constants::STILL;
use super::expect::{Bounds, Case, Expect, Unit};
use super::judgement::{End, Judgement, Reason, Straddled};
use super::predict::smallest_detectable_after;
use crate::model::sheet::Verdict;

/// Judges one row. Never AS EXPECTED unless the whole interval lies inside what was declared.
pub fn verdict(case: &Case) -> Judgement {
    let measured = match Measured::of(&case.periods) {
        Ok(measured) => measured,
        Err(reason) => return Judgement::no_data(reason),
    };
    let (base, level) = (measured.base(), measured.level());
    let is_relative = case.expect.unit() == Unit::Rel;
    let interval = match case.expect {
        Expect::Level { .. } => Some(measured.level_interval()),
        _ if is_relative => measured.relative(),
        _ => Some(measured.absolute()),
    };
    let estimate = match case.expect {
        _ if !base.is_finite() || !level.is_finite() => None,
        Expect::Level { .. } => Some(level),
        _ if !is_relative => Some(level - base),
        _ => (base > 0.0).then(|| level / base - 1.0),
    };
    let scale = if is_relative {
        1.0 + (level / base).abs()
    } else {
        base.abs().max(level.abs())
    };
    let sdc = || {
        case.sdc.or_else(|| {
            let periods = &case.periods;
            let planned = periods.injection().len();
            let size = smallest_detectable_after(periods.baseline(), periods.pause, planned, periods.settle)?;
            Some(if is_relative { size / base } else { size })
        })
    };
    let (verdict, reason) = match interval {
        None => (Verdict::Undecided, Reason::NoRelativeChange),
        Some(interval) => decide(&case.expect, interval, STILL * scale, sdc),
    };
    let straddled = match (reason, interval) {
        (Reason::Straddles, Some(interval)) => straddled(&case.expect, interval),
        _ => Vec::new(),
    };
    let drift_taken_out = matches!((estimate, interval), (Some(x), Some(interval)) if !interval.contains(x));
    Judgement {
        verdict,
        reason,
        estimate,
        base: Some(base).filter(|base| !base.is_nan()),
        level: Some(level).filter(|level| !level.is_nan()),
        lo: interval.map(|interval| interval.lo),
        hi: interval.map(|interval| interval.hi),
        straddled,
        drift_taken_out,
    }
}

/// The interval in the declared direction: a fall is a rise of the mirrored metric.
fn directed(expect: &Expect, interval: Interval) -> Interval {
    match expect {
        Expect::Falls { .. } => Interval {
            lo: -interval.hi,
            hi: -interval.lo,
        },
        _ => interval,
    }
}

/// An exact change that differs from a bound by no more than `rounding` lies on it: two still periods know their levels
/// only as far as each agrees with itself ("Noise model"), and the exact difference of 0.3 and 0.1 is
/// 0.2 whatever floats say.
fn on_bound(measured: Interval, allowed: Interval, rounding: f64) -> Interval {
    if measured.lo != measured.hi {
        return measured;
    }
    let bound = [allowed.lo, allowed.hi]
        .into_iter()
        .find(|bound| (measured.lo - bound).abs() <= rounding);
    bound.map_or(measured, |bound| Interval { lo: bound, hi: bound })
}

/// The declared interval, open ends infinite; for a row without bounds: any move.
fn declared(expect: &Expect) -> Interval {
    let ends = |bounds: &Bounds| Interval {
        lo: bounds.at_least.unwrap_or(f64::NEG_INFINITY),
        hi: bounds.at_most.unwrap_or(f64::INFINITY),
    };
    match expect {
        Expect::Level { bounds } => ends(bounds),
        Expect::Stays { within, .. } => Interval {
            lo: -within,
            hi: *within,
        },
        Expect::Rises { bounds, .. } | Expect::Falls { bounds, .. } => match bounds.at_most {
            None if bounds.is_open() => Interval {
                lo: 0.0,
                hi: f64::INFINITY,
            },
            Some(most) if bounds.at_least.is_none() => Interval { lo: -most, hi: most },
            _ => ends(bounds),
        },
    }
}

fn decide(
    expect: &Expect,
    interval: Interval,
    rounding: f64,
    sdc: impl Fn() -> Option<f64>,
) -> (Verdict, Reason) {
    if !expect.is_checkable() {
        return (Verdict::Undecided, Reason::NoBound);
    }
    let allowed = declared(expect);
    let Interval { lo, hi } = on_bound(directed(expect, interval), allowed, rounding);
    let is_move = matches!(expect, Expect::Rises { .. } | Expect::Falls { .. });
    if is_move && hi < 0.0 {
        return (Verdict::Unexpected, Reason::WrongDirection);
    }
    if matches!(expect, Expect::Rises { bounds, .. } | Expect::Falls { bounds, .. } if bounds.is_open()) {
        return if lo > 0.0 {
            (Verdict::AsExpected, Reason::MovedAsDeclared)
        } else if hi == 0.0 || sdc().is_some_and(|sdc| hi < sdc) {
            (Verdict::Unexpected, Reason::NoDetectableMove)
        } else {
            (Verdict::Undecided, Reason::Straddles)
        };
    }
    if lo >= allowed.lo && hi <= allowed.hi {
        (Verdict::AsExpected, Reason::Inside)
    } else if hi < allowed.lo {
        (
            Verdict::Unexpected,
            if is_move { Reason::TooSmall } else { Reason::Below },
        )
    } else if lo > allowed.hi {
        (
            Verdict::Unexpected,
            if is_move { Reason::TooLarge } else { Reason::Above },
        )
    } else {
        (Verdict::Undecided, Reason::Straddles)
    }
}

fn straddled(expect: &Expect, interval: Interval) -> Vec<Straddled> {
    let measured = directed(expect, interval);
    let allowed = declared(expect);
    let ends = [
        (End::Lower, allowed.lo, allowed.lo - measured.lo),
        (End::Upper, allowed.hi, measured.hi - allowed.hi),
    ];
    ends.into_iter()
        .filter(|(_, bound, past)| bound.is_finite() && *past > 0.0)
        .map(|(end, bound, past)| Straddled { end, bound, past })
        .collect()
}

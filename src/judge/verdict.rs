//! The verdict of one row (§8).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::change::{Interval, Measured};
use super::expect::{Bounds, Case, Expect, Unit};
use super::predict::smallest_detectable_after;

/// What is said about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// The whole interval lies inside the declared one.
    #[serde(rename = "AS EXPECTED")]
    AsExpected,
    /// The whole interval lies outside the declared one.
    #[serde(rename = "UNEXPECTED")]
    Unexpected,
    /// The interval straddles a bound, or there is no interval.
    #[serde(rename = "UNDECIDED")]
    Undecided,
    /// Too few usable windows.
    #[serde(rename = "NO DATA")]
    NoData,
    /// The fault hit nothing; the engine says so, never the judge.
    #[serde(rename = "NOT EXERCISED")]
    NotExercised,
    /// A fault of another group was live; the engine says so, never the judge.
    #[serde(rename = "CONFOUNDED")]
    Confounded,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AsExpected => "AS EXPECTED",
            Self::Unexpected => "UNEXPECTED",
            Self::Undecided => "UNDECIDED",
            Self::NoData => "NO DATA",
            Self::NotExercised => "NOT EXERCISED",
            Self::Confounded => "CONFOUNDED",
        })
    }
}

/// Which of the two periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// The silent observation.
    Baseline,
    /// The time with the fault.
    Injection,
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Baseline => "baseline",
            Self::Injection => "injection",
        })
    }
}

/// Why a verdict was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// NO DATA: too few usable windows.
    FewWindows {
        /// Where they are missing.
        period: Period,
        /// How many there are.
        usable: usize,
    },
    /// NO DATA: too few observations for the quantile.
    FewObservations {
        /// Where they are missing.
        period: Period,
        /// How many there are.
        observations: u64,
    },
    /// UNDECIDED: a relative bound, and no baseline to relate to.
    NoRelativeChange,
    /// UNDECIDED: the row has no bound, or none that is a number, where it needs one.
    NoBound,
    /// UNEXPECTED: a fall instead of a rise, or a rise instead of a fall.
    WrongDirection,
    /// AS EXPECTED: a row without bounds moved its way.
    MovedAsDeclared,
    /// UNEXPECTED: a row without bounds did not move by what could have been seen.
    NoDetectableMove,
    /// UNDECIDED: a bound lies inside the interval.
    Straddles,
    /// AS EXPECTED: the interval lies inside the bounds.
    Inside,
    /// UNEXPECTED: moved less than declared.
    TooSmall,
    /// UNEXPECTED: moved more than declared.
    TooLarge,
    /// UNEXPECTED: below the allowed band.
    Below,
    /// UNEXPECTED: above the allowed band.
    Above,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FewWindows { period, usable } => {
                return write!(f, "{period} too thin: {usable} usable windows");
            }
            Self::FewObservations { period, observations } => {
                return write!(f, "{period} too thin: {observations} observations for this quantile");
            }
            Self::NoRelativeChange => "no relative change: baseline zero, too sparse, or signed",
            Self::NoBound => "no bound to judge by",
            Self::WrongDirection => "wrong direction",
            Self::MovedAsDeclared => "moved as declared",
            Self::NoDetectableMove => "no detectable move",
            Self::Straddles => "straddles",
            Self::Inside => "inside",
            Self::TooSmall => "too small",
            Self::TooLarge => "too large",
            Self::Below => "below",
            Self::Above => "above",
        })
    }
}

/// An end of the declared interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The smallest allowed.
    Lower,
    /// The largest allowed.
    Upper,
}

/// A bound inside the measured interval, counted in the declared direction: a fall's bounds are sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Straddled {
    /// Which end of the declared interval.
    pub end: End,
    /// The bound, in the row's unit.
    pub bound: f64,
    /// How far the measured interval reaches past it, positive, perhaps infinite.
    pub past: f64,
}

/// A row's verdict with all that the sheet shows beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The change, or the level for a level row, in the row's unit. `None` where it cannot be told.
    pub estimate: Option<f64>,
    /// Level of the baseline; infinite for a quantile in the +Inf bucket. `None` without data.
    pub base: Option<f64>,
    /// Level of the injection.
    pub level: Option<f64>,
    /// Lower end of the 98 % interval, in the row's unit; may be infinite.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// With UNDECIDED: the bounds inside the interval.
    pub straddled: Vec<Straddled>,
    /// The estimate lies outside the interval, because the baseline's drift was taken out of the latter.
    pub drift_taken_out: bool,
}

impl Judgement {
    /// The output line of the specification; infinities are the strings `inf` and `-inf`.
    pub fn to_json(&self, id: Option<&Value>) -> Value {
        let mut line = Map::new();
        line.insert("id".into(), id.cloned().unwrap_or(Value::Null));
        if self.verdict != Verdict::NoData {
            let numbers = [
                ("estimate", self.estimate),
                ("base", self.base),
                ("level", self.level),
                ("lo", self.lo),
                ("hi", self.hi),
            ];
            for (key, number) in numbers {
                line.insert(key.into(), json_number(number));
            }
        }
        line.insert("verdict".into(), json!(self.verdict.to_string()));
        line.insert("reason".into(), json!(self.reason.to_string()));
        Value::Object(line)
    }
}

fn json_number(number: Option<f64>) -> Value {
    match number {
        Some(x) if x == f64::INFINITY => json!("inf"),
        Some(x) if x == f64::NEG_INFINITY => json!("-inf"),
        Some(x) if x.is_finite() => json!(x),
        _ => Value::Null,
    }
}

/// Judges one row. Never AS EXPECTED unless the whole interval lies inside what was declared.
pub fn verdict(case: &Case) -> Judgement {
    let measured = match Measured::of(&case.periods) {
        Ok(measured) => measured,
        Err(reason) => return no_data(reason),
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
    let sdc = || {
        case.sdc.or_else(|| {
            let periods = &case.periods;
            let planned = periods.injection().len();
            let size =
                smallest_detectable_after(periods.baseline(), periods.pause, planned, periods.settle)?;
            Some(if is_relative { size / base } else { size })
        })
    };
    let (verdict, reason) = match interval {
        None => (Verdict::Undecided, Reason::NoRelativeChange),
        Some(interval) => decide(&case.expect, interval, sdc),
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
        base: Some(base),
        level: Some(level),
        lo: interval.map(|interval| interval.lo),
        hi: interval.map(|interval| interval.hi),
        straddled,
        drift_taken_out,
    }
}

fn no_data(reason: Reason) -> Judgement {
    Judgement {
        verdict: Verdict::NoData,
        reason,
        estimate: None,
        base: None,
        level: None,
        lo: None,
        hi: None,
        straddled: Vec::new(),
        drift_taken_out: false,
    }
}

/// The interval in the declared direction: a fall is a rise of the mirrored metric.
fn directed(expect: &Expect, interval: Interval) -> Interval {
    match expect {
        Expect::Falls { .. } => Interval { lo: -interval.hi, hi: -interval.lo },
        _ => interval,
    }
}

/// The declared interval, open ends infinite; for a row without bounds: any move.
fn declared(expect: &Expect) -> Interval {
    let ends = |bounds: &Bounds| Interval {
        lo: bounds.at_least.unwrap_or(f64::NEG_INFINITY),
        hi: bounds.at_most.unwrap_or(f64::INFINITY),
    };
    match expect {
        Expect::Level { bounds } => ends(bounds),
        Expect::Stays { within, .. } => Interval { lo: -within, hi: *within },
        Expect::Rises { bounds, .. } | Expect::Falls { bounds, .. } => match bounds.at_most {
            None if bounds.is_open() => Interval { lo: 0.0, hi: f64::INFINITY },
            Some(most) if bounds.at_least.is_none() => Interval { lo: -most, hi: most },
            _ => ends(bounds),
        },
    }
}

fn decide(expect: &Expect, interval: Interval, sdc: impl Fn() -> Option<f64>) -> (Verdict, Reason) {
    if !expect.is_checkable() {
        return (Verdict::Undecided, Reason::NoBound);
    }
    let Interval { lo, hi } = directed(expect, interval);
    let allowed = declared(expect);
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
        (Verdict::Unexpected, if is_move { Reason::TooSmall } else { Reason::Below })
    } else if lo > allowed.hi {
        (Verdict::Unexpected, if is_move { Reason::TooLarge } else { Reason::Above })
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

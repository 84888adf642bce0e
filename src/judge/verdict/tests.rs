//! Verdicts, case by case.

use super::*;
use crate::judge::{Periods, Windows};

fn wavy(n: usize, level: f64) -> Windows {
    Windows::Gauge((0..n).map(|k| Some(level + (k as f64 * 2.3).sin())).collect())
}

fn judge(base: f64, level: f64, expect: Expect) -> Judgement {
    verdict(&Case::new(
        Periods::new(wavy(60, base), wavy(18, level)).unwrap(),
        expect,
    ))
}

fn at_least(size: f64) -> Bounds {
    Bounds {
        at_least: Some(size),
        at_most: None,
    }
}

#[test]
fn undecided_tells_the_bound_and_how_far_the_interval_reaches_past_it() {
    let got = judge(
        100.0,
        110.0,
        Expect::Rises {
            bounds: at_least(10.0),
            unit: Unit::Abs,
        },
    );
    assert_eq!((got.verdict, got.reason), (Verdict::Undecided, Reason::Straddles));
    let [straddled] = got.straddled.as_slice() else {
        panic!("{:?}", got.straddled)
    };
    assert_eq!((straddled.end, straddled.bound), (End::Lower, 10.0));
    assert!((straddled.past - (10.0 - got.lo.unwrap())).abs() < 1e-12);
}

#[test]
fn the_bound_of_a_fall_is_told_as_a_size() {
    let got = judge(
        110.0,
        100.0,
        Expect::Falls {
            bounds: at_least(10.0),
            unit: Unit::Abs,
        },
    );
    let [straddled] = got.straddled.as_slice() else {
        panic!("{:?}", got.straddled)
    };
    assert_eq!((straddled.end, straddled.bound), (End::Lower, 10.0));
    assert!((straddled.past - (10.0 + got.hi.unwrap())).abs() < 1e-12);
}

fn still(base: f64, level: f64, expect: Expect) -> (Verdict, Reason) {
    let windows = |n, level| Windows::Gauge(vec![Some(level); n]);
    let periods = Periods::new(windows(60, base), windows(18, level)).unwrap();
    let got = verdict(&Case::new(periods, expect));
    (got.verdict, got.reason)
}

#[test]
fn a_still_change_of_just_the_declared_size_is_as_declared_whatever_floats_say() {
    let rises = |size, unit| Expect::Rises {
        bounds: at_least(size),
        unit,
    };
    let stays = |within, unit| Expect::Stays { within, unit };
    let inside = (Verdict::AsExpected, Reason::Inside);
    assert_eq!(still(0.1, 0.3, rises(0.2, Unit::Abs)), inside);
    assert_eq!(still(10.0, 12.0, rises(0.2, Unit::Rel)), inside);
    assert_eq!(still(10.0, 11.0, stays(0.1, Unit::Rel)), inside);
    assert_eq!(still(0.3, 0.1, stays(0.2, Unit::Abs)), inside);
    let falls = Expect::Falls {
        bounds: at_least(0.2),
        unit: Unit::Abs,
    };
    assert_eq!(still(0.3, 0.1, falls), inside);
}

#[test]
fn a_still_change_that_misses_its_bound_by_more_than_rounding_is_unexpected() {
    let rises = Expect::Rises {
        bounds: at_least(0.2),
        unit: Unit::Abs,
    };
    let too_small = (Verdict::Unexpected, Reason::TooSmall);
    assert_eq!(still(0.1, 0.299_999, rises), too_small);
}

#[test]
fn nothing_is_expected_without_a_bound_to_judge_by() {
    let open = Bounds::default();
    let endless = Bounds {
        at_least: Some(f64::NEG_INFINITY),
        at_most: None,
    };
    let unit = Unit::Abs;
    for expect in [
        Expect::Level { bounds: open },
        Expect::Stays {
            within: f64::INFINITY,
            unit,
        },
        Expect::Stays {
            within: f64::NAN,
            unit,
        },
        Expect::Rises {
            bounds: endless,
            unit,
        },
    ] {
        let got = judge(100.0, 101.0, expect);
        assert_eq!(
            (got.verdict, got.reason),
            (Verdict::Undecided, Reason::NoBound),
            "{expect:?}"
        );
    }
}

#[test]
fn a_constant_that_stays_has_not_moved_by_a_rounding_error() {
    for value in [0.1, 0.3, 1e-7, 1.1e9] {
        let still = |n: usize| Windows::Gauge(vec![Some(value); n]);
        for unit in [Unit::Abs, Unit::Rel] {
            let rises = Expect::Rises {
                bounds: Bounds::default(),
                unit,
            };
            let got = verdict(&Case::new(Periods::new(still(61), still(18)).unwrap(), rises));
            assert_eq!(got.reason, Reason::NoDetectableMove, "{value} {unit:?} {got:?}");
            assert_eq!((got.lo, got.hi), (Some(0.0), Some(0.0)));
        }
    }
}

#[test]
fn a_drift_that_was_taken_out_is_said() {
    let line = |from: usize, n: usize| {
        Windows::Gauge(
            (from..from + n)
                .map(|k| Some(k as f64 + (k as f64 * 2.3).sin()))
                .collect(),
        )
    };
    let stays = Expect::Stays {
        within: 3.0,
        unit: Unit::Abs,
    };
    let got = verdict(&Case::new(
        Periods::new(line(0, 60), line(60, 18)).unwrap(),
        stays,
    ));
    assert!(got.drift_taken_out, "{got:?}");
    assert!(!judge(100.0, 110.0, stays).drift_taken_out);
}

#[test]
fn a_later_injection_is_known_less_well() {
    let stays = Expect::Stays {
        within: 3.0,
        unit: Unit::Abs,
    };
    let mut case = Case::new(Periods::new(wavy(60, 100.0), wavy(18, 100.0)).unwrap(), stays);
    let soon = verdict(&case);
    case.periods.pause = 120;
    let late = verdict(&case);
    assert!(late.hi > soon.hi && late.lo < soon.lo, "{soon:?} {late:?}");
}

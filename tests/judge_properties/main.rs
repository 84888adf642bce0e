//! What holds of every judgement, whatever the windows.

mod cases;

use allclear::judge::{
    Bounds, Case, Change, Expect, Interval, Judgement, Periods, Reason, Unit, Verdict, Windows, change,
    moved, movers, must_refuse, parse_case, smallest_detectable_after, steadiness, too_thin, verdict,
};
use proptest::{collection::vec, prelude::*, test_runner::Config};

use self::cases::{any_case, plain_gauge};

fn gauge(y: &[f64]) -> Windows {
    Windows::Gauge(y.iter().copied().map(Some).collect())
}

fn periods(one: &[f64], two: &[f64]) -> Periods {
    Periods::new(gauge(one), gauge(two)).expect("two gauges")
}

fn measured(one: &[f64], two: &[f64]) -> Change {
    change(&periods(one, two)).expect("enough windows")
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * scale
}

/// What a row declares, as the table in docs/judge.md has it; `None` if it declares nothing.
fn allowed(expect: &Expect) -> Option<Interval> {
    let infinite = f64::INFINITY;
    let of = |bounds: &Bounds| match (bounds.at_least, bounds.at_most) {
        (None, None) => Interval {
            lo: 0.0,
            hi: infinite,
        },
        (None, Some(most)) => Interval { lo: -most, hi: most },
        (Some(least), most) => Interval {
            lo: least,
            hi: most.unwrap_or(infinite),
        },
    };
    match expect {
        Expect::Rises { bounds, .. } => Some(of(bounds)),
        Expect::Falls { bounds, .. } => Some(of(bounds)).map(|ends| Interval {
            lo: -ends.hi,
            hi: -ends.lo,
        }),
        Expect::Stays { within, .. } => Some(Interval {
            lo: -within,
            hi: *within,
        }),
        Expect::Level {
            bounds: Bounds {
                at_least: None,
                at_most: None,
            },
        } => None,
        Expect::Level { bounds } => Some(Interval {
            lo: bounds.at_least.unwrap_or(-infinite),
            hi: bounds.at_most.unwrap_or(infinite),
        }),
    }
}

fn check(case: &Case, got: &Judgement) -> Result<(), TestCaseError> {
    prop_assert!(!matches!(
        got.verdict,
        Verdict::NotExercised | Verdict::Confounded
    ));
    let (Some(lo), Some(hi)) = (got.lo, got.hi) else {
        prop_assert!(
            matches!(got.verdict, Verdict::NoData | Verdict::Undecided),
            "{:?}",
            got
        );
        return Ok(());
    };
    prop_assert!(lo <= hi, "{:?}", got);
    if let Some(estimate) = got.estimate {
        prop_assert_eq!(got.drift_taken_out, !(lo <= estimate && estimate <= hi));
    }
    match got.verdict {
        Verdict::AsExpected => {
            let allowed = allowed(&case.expect).expect("a row that declares nothing is never as expected");
            prop_assert!(
                allowed.lo <= lo && hi <= allowed.hi,
                "{:?} {:?}",
                case.expect,
                got
            );
        }
        Verdict::Unexpected if got.reason != Reason::NoDetectableMove => {
            let allowed = allowed(&case.expect).expect("a row that declares nothing is never unexpected");
            prop_assert!(
                hi < allowed.lo.max(0.0) || allowed.hi.min(0.0) < lo || hi < allowed.lo || allowed.hi < lo
            );
        }
        _ => {}
    }
    Ok(())
}

#[test]
fn a_p_that_rounding_would_take_below_zero_is_zero() {
    let mut before = vec![Some([3.0, 1.0]); 20];
    before[3] = Some([1e100, 2.2278355668029133e114]);
    let after = [
        (3, [2.268327522586615, 1.0]),
        (5, [3.385037399170043, 3.9481309094482305e-140]),
        (6, [25.0, 2.2250738585072014e-308]),
        (7, [21.0, 5.070370469231827]),
        (8, [327.0, 2.2250738585072014e-308]),
        (9, [0.0, 7.21763777000952e87]),
        (10, [3.0, 0.0001552140194763628]),
        (11, [3.0, 1.0]),
        (12, [2.2250738585072014e-308, 1.0]),
        (13, [0.0, 2.8763982422069434]),
        (14, [0.0, 1.0]),
        (20, [1.0, 5.9044319547417884e-67]),
    ];
    let mut injection = vec![None; 21];
    for (at, window) in after {
        injection[at] = Some(window);
    }
    let periods = Periods::new(Windows::Rate(before), Windows::Rate(injection)).expect("two rates");
    assert_eq!(moved(&periods).map(|moved| moved.p), Some(0.0));
}

#[test]
fn a_quantile_that_falls_below_zero_has_no_relative_change() {
    let of = |cum: [f64; 4], count| Windows::Quantile {
        edges: vec![-1.0, 0.5, 2.0],
        q: 0.5,
        cum: vec![Some(cum.to_vec()); count],
    };
    // From between 0.5 and 2 to -1 or less.
    let (before, after) = ([0.0, 0.0, 40.0, 40.0], [40.0, 40.0, 40.0, 40.0]);
    let periods = Periods::new(of(before, 20), of(after, 13)).expect("two histograms");
    let all = change(&periods).expect("there are data");
    assert_eq!(all.rel, None);
    assert!(all.abs.hi < 0.0, "{all:?}");
}

proptest! {
    #![proptest_config(Config { cases: 500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_windows_make_it_panic_or_claim_what_they_do_not_show(case in any_case()) {
        let got = verdict(&case);
        check(&case, &got)?;
        let line = got.to_json(case.id.as_ref());
        prop_assert!(line.to_string().len() < 2000);
        if let Ok(all) = change(&case.periods) {
            prop_assert!(all.abs.lo <= all.abs.hi && all.level_ci.lo <= all.level_ci.hi, "{:?}", all);
            prop_assert!(all.rel.is_none_or(|rel| -1.0 <= rel.lo && rel.lo <= rel.hi), "{:?}", all);
        }
        if let Some(moved) = moved(&case.periods) {
            prop_assert!((0.0..=1.0).contains(&moved.p));
        }
        let baseline = case.periods.baseline();
        let sdc = smallest_detectable_after(baseline, case.periods.pause, 18, case.periods.settle);
        prop_assert!(sdc.is_none_or(|sdc| sdc >= 0.0), "{:?}", sdc);
        let steady = steadiness(baseline);
        let refused = must_refuse(baseline, &case.expect, sdc);
        prop_assert!(!refused || steady.is_some_and(|steady| steady.is_unsteady()));
        if too_thin(baseline).is_some() {
            prop_assert_eq!(got.verdict, Verdict::NoData);
        }
    }

    #[test]
    fn no_line_makes_the_parser_panic(line in "[\\PC\u{0}-\u{1f}]{0,200}") {
        prop_assert!(parse_case(&line).is_err());
    }

    #[test]
    fn no_json_makes_the_parser_panic(
        kind in "gauge|rate|ratio|quantile|x",
        window in "1|null|NaN|\"inf\"|-Infinity|\\[1,2\\]|\\[2\\]|\\[null,1\\]|\\[NaN,1\\]|\\{\\}|\"a\"|1e999",
        expect in "\\{\"dir\":\"(rises|falls|stays|level)\",\"(at_least|at_most|within|unit)\":(1|null|NaN|\"abs\"|-3)\\}|7",
        edges in "\\[1\\]|\\[\\]|\\[NaN\\]|null",
    ) {
        let line = format!(
            r#"{{"kind":"{kind}","baseline":[{window}],"injection":[{window}],"edges":{edges},"q":0.5,"expect":{expect}}}"#
        );
        match parse_case(&line) {
            Ok(case) => prop_assert_eq!(verdict(&case).verdict, Verdict::NoData),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 200, failure_persistence: None, ..Config::default() })]

    #[test]
    fn another_unit_changes_nothing_but_the_unit(
        (one, two) in plain_gauge(),
        scale in prop_oneof![Just(1000.0), Just(1e-9), Just(1e60), Just(1e-60), 0.001..1000.0f64],
    ) {
        let by = |y: &[f64]| y.iter().map(|value| value * scale).collect::<Vec<f64>>();
        let (a, b) = (measured(&one, &two), measured(&by(&one), &by(&two)));
        let spread = (a.abs.hi - a.abs.lo + a.base.abs()) * scale;
        prop_assert!(close(a.abs.lo * scale, b.abs.lo, spread) && close(a.abs.hi * scale, b.abs.hi, spread));
        prop_assert!(close(a.level_ci.lo * scale, b.level_ci.lo, spread));
        prop_assert_eq!(a.rel.is_some(), b.rel.is_some());
        if let (Some(a), Some(b)) = (a.rel, b.rel) {
            prop_assert!(close(a.lo, b.lo, 1.0 + a.lo.abs()) && close(a.hi, b.hi, 1.0 + a.hi.abs()), "{:?} {:?}", a, b);
        }
    }

    #[test]
    fn another_zero_of_a_signed_gauge_moves_the_level_and_not_the_change((one, two) in plain_gauge(), by in -5.0..5.0f64) {
        let signed = |y: &[f64], by: f64| y.iter().map(|value| value - 40.0 + by).collect::<Vec<f64>>();
        let (a, b) = (measured(&signed(&one, 0.0), &signed(&two, 0.0)), measured(&signed(&one, by), &signed(&two, by)));
        prop_assert!(close(a.abs.lo, b.abs.lo, 100.0) && close(a.abs.hi, b.abs.hi, 100.0));
        prop_assert!(close(a.level_ci.lo + by, b.level_ci.lo, 100.0));
    }

    #[test]
    fn a_fall_is_the_rise_of_the_mirrored_metric((one, two) in plain_gauge(), size in 0.0..6.0f64) {
        // Windows on both sides of zero, so that both are signed gauges.
        let (mut one, two) = (one, two);
        (one[0], one[1]) = (-41.0, 41.0);
        let mirrored = |y: &[f64]| y.iter().map(|value| -value).collect::<Vec<f64>>();
        let bounds = Bounds { at_least: Some(size), at_most: None };
        let unit = Unit::Abs;
        let rise = verdict(&Case::new(periods(&one, &two), Expect::Rises { bounds, unit }));
        let fall = verdict(&Case::new(periods(&mirrored(&one), &mirrored(&two)), Expect::Falls { bounds, unit }));
        prop_assert_eq!((rise.verdict, rise.reason), (fall.verdict, fall.reason));
        let (lo, hi) = (rise.lo.expect("an interval"), rise.hi.expect("an interval"));
        prop_assert!(close(lo, -fall.hi.expect("an interval"), 100.0) && close(hi, -fall.lo.expect("an interval"), 100.0));
    }

    #[test]
    fn good_and_bad_are_the_two_sides_of_one_ratio(
        windows in vec((200..400u32, 0.0..0.3f64), 78),
    ) {
        let pick = |is_good: bool, range: std::ops::Range<usize>| {
            let one = |(total, part): &(u32, f64)| {
                let bad = (f64::from(*total) * part).floor();
                Some([if is_good { f64::from(*total) - bad } else { bad }, f64::from(*total)])
            };
            Windows::Ratio(windows[range].iter().map(one).collect())
        };
        let both = |is_good| Periods::new(pick(is_good, 0..60), pick(is_good, 60..78)).expect("two ratios");
        let good = change(&both(true)).expect("enough windows");
        let bad = change(&both(false)).expect("enough windows");
        prop_assert!(close(good.abs.lo, -bad.abs.hi, 1.0) && close(good.abs.hi, -bad.abs.lo, 1.0));
        prop_assert!(close(good.level_ci.lo, 1.0 - bad.level_ci.hi, 1.0));
    }

    #[test]
    fn a_wider_bound_never_undoes_as_expected((one, two) in plain_gauge(), within in 0.0..10.0f64) {
        let stays = |within| verdict(&Case::new(periods(&one, &two), Expect::Stays { within, unit: Unit::Abs }));
        if stays(within).verdict == Verdict::AsExpected {
            prop_assert_eq!(stays(2.0 * within).verdict, Verdict::AsExpected);
        }
    }

    #[test]
    fn an_unmoved_copy_hides_no_mover((one, two) in plain_gauge()) {
        let moved: Vec<f64> = two.iter().map(|value| value + 500.0).collect();
        let list = [periods(&one, &moved), periods(&one, &one[..18]), periods(&one, &moved)];
        let found = movers(&list);
        prop_assert!(found.starts_with(&[0, 2]), "{:?}", found);
    }
}

#[test]
fn a_day_of_one_second_windows_is_judged_at_once() {
    let wave = |n: u32, level: f64| {
        Windows::Gauge(
            (0..n)
                .map(|k| Some(level + (f64::from(k) * 2.3).sin() + (f64::from(k) * 0.7).cos()))
                .collect(),
        )
    };
    let pair = Periods::new(wave(86_400, 100.0), wave(3_600, 103.0)).expect("two gauges");
    let expect = Expect::Rises {
        bounds: Bounds {
            at_least: Some(2.0),
            at_most: None,
        },
        unit: Unit::Abs,
    };
    assert_eq!(verdict(&Case::new(pair, expect)).verdict, Verdict::AsExpected);
    assert!(Periods::new(wave(100_001, 1.0), wave(18, 1.0)).is_err());
    assert!(Periods::new(wave(60, 1.0), Windows::Rate(vec![])).is_err());
}

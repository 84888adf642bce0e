//! Any case that the judge may get.

use allclear::judge::{Bounds, Case, Expect, Periods, Unit, Windows};
use proptest::{collection::vec, prelude::*};

/// Any double, the odd ones often.
fn odd() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>(),
        2 => proptest::sample::select(vec![
            0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324,
            1e160, 1e-160, 1e100, -1e100,
        ]),
        4 => -10.0..10.0f64,
        2 => Just(3.0),
    ]
}

fn gaps<T: Clone + std::fmt::Debug>(window: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop_oneof![1 => Just(None), 12 => window.prop_map(Some)]
}

fn gauges() -> impl Strategy<Value = (Windows, Windows)> {
    let list = || vec(gaps(odd()), 0..70).prop_map(Windows::Gauge);
    (list(), list())
}

fn pairs() -> impl Strategy<Value = (Windows, Windows)> {
    let count = || prop_oneof![2 => odd(), 3 => (0..500u32).prop_map(f64::from)];
    let list = move || vec(gaps([count(), count()]), 0..70);
    (list(), list(), any::<bool>()).prop_map(|(one, two, is_rate)| {
        if is_rate {
            (Windows::Rate(one), Windows::Rate(two))
        } else {
            (Windows::Ratio(one), Windows::Ratio(two))
        }
    })
}

/// Counts of 0..4 buckets under any edges and any quantile.
fn quantiles() -> impl Strategy<Value = (Windows, Windows)> {
    let edges =
        prop_oneof![1 => vec(odd(), 0..4), 3 => Just(vec![-1.0, 0.5, 2.0]), 3 => Just(vec![0.1, 0.5, 2.0])];
    let q = prop_oneof![1 => odd(), 4 => 0.0..1.0f64];
    (edges, q).prop_flat_map(|(edges, q)| {
        let size = edges.len() + 1;
        let rising = vec((0..40u32).prop_map(f64::from), size).prop_map(|steps| {
            steps
                .iter()
                .scan(0.0, |sum, step| {
                    *sum += step;
                    Some(*sum)
                })
                .collect::<Vec<f64>>()
        });
        let counts = prop_oneof![1 => vec(odd(), 0..6), 8 => rising];
        let list = vec(gaps(counts), 0..70).boxed();
        (list.clone(), list).prop_map(move |(one, two)| {
            let of = |cum| Windows::Quantile {
                edges: edges.clone(),
                q,
                cum,
            };
            (of(one), of(two))
        })
    })
}

pub(super) fn unit() -> impl Strategy<Value = Unit> {
    prop_oneof![Just(Unit::Abs), Just(Unit::Rel)]
}

fn expectation() -> impl Strategy<Value = Expect> {
    let bounds = || {
        let end = || proptest::option::of(prop_oneof![1 => odd(), 3 => 0.0..5.0f64]);
        (end(), end()).prop_map(|(at_least, at_most)| Bounds { at_least, at_most })
    };
    prop_oneof![
        (bounds(), unit()).prop_map(|(bounds, unit)| Expect::Rises { bounds, unit }),
        (bounds(), unit()).prop_map(|(bounds, unit)| Expect::Falls { bounds, unit }),
        (odd(), unit()).prop_map(|(within, unit)| Expect::Stays { within, unit }),
        bounds().prop_map(|bounds| Expect::Level { bounds }),
    ]
}

pub(super) fn any_case() -> impl Strategy<Value = Case> {
    let windows = prop_oneof![gauges(), pairs(), quantiles()];
    let settle = proptest::option::of(prop_oneof![9 => 0..9usize, 1 => any::<usize>()]);
    let pause = prop_oneof![8 => Just(0usize), 2 => 0..300usize, 1 => any::<usize>()];
    (windows, expectation(), settle, pause, proptest::option::of(odd())).prop_filter_map(
        "quantiles whose edges or q are no numbers are not the same metric",
        |((one, two), expect, settle, pause, sdc)| {
            let mut periods = Periods::new(one, two).ok()?;
            periods.settle = settle;
            periods.pause = pause;
            let mut case = Case::new(periods, expect);
            case.sdc = sdc;
            Some(case)
        },
    )
}

/// Sixty windows before and eighteen after that can always be judged; the noise resembles itself by `memory`.
pub(super) fn plain_gauge() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    (vec(-1.0..1.0f64, 78), 0.0..0.9f64, -20.0..20.0f64, -3.0..3.0f64).prop_map(
        |(noise, memory, level, change)| {
            let mut carried = 0.0;
            let mut y: Vec<f64> = noise
                .iter()
                .map(|step| {
                    carried = memory * carried + step;
                    level + carried
                })
                .collect();
            let after = y.split_off(60).into_iter().map(|value| value + change).collect();
            (y, after)
        },
    )
}

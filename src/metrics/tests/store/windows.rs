//! When a window is complete, and how much of it is whole.

use super::{KEEP, each_5s, numbers, store, told, window};
use crate::{
    metrics::testing::{rate, round, series},
    model::sample::{Gap, Numbers},
};

#[test]
fn a_window_stands_on_the_last_samples_at_or_before_its_edges() {
    let wanted = rate("r");
    let samples = each_5s(1_000, &[100.0, 110.0, 130.0, 160.0, 200.0]); // 1, 6, 11, 16, 21 s
    let store = told(&wanted, 21_000, vec![series("a", "", &samples)]);
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([50.0, 10.0])));
}

#[test]
fn a_window_waits_until_every_live_series_is_past_its_end() {
    let wanted = rate("r");
    let (a, b) = (
        series("a", "", &[(1_000, 0.0), (9_000, 8.0), (11_000, 10.0)]),
        series("b", "", &[(2_000, 0.0), (9_000, 7.0)]),
    );
    let mut store = told(&wanted, 11_000, vec![a, b]);
    assert_eq!(window(&store, &wanted, 0), None);
    store.add(round(
        12_000,
        &[(&wanted, 0, vec![series("b", "", &[(12_000, 10.0)])])],
    ));
    assert!(window(&store, &wanted, 0).is_some());
}

#[test]
fn a_source_that_falls_silent_ends_in_a_gap_once_patience_is_over() {
    let wanted = rate("r");
    let mut store = told(
        &wanted,
        10_000,
        vec![series("a", "", &each_5s(0, &[1.0, 2.0, 3.0]))],
    );
    store.add(round(34_900, &[(&wanted, 0, vec![])]));
    assert_eq!(
        window(&store, &wanted, 10_000),
        None,
        "three intervals after its end are not over"
    );
    store.add(round(35_000, &[(&wanted, 0, vec![])]));
    assert_eq!(numbers(&store, &wanted, 10_000), Err(Gap::NoSample));
}

#[test]
fn windows_that_a_warning_touches_are_partial_and_later_ones_are_not() {
    let wanted = rate("r");
    let mut store = store(&wanted);
    for i in 0..=8 {
        let sample = series("a", "", &[(i * 5_000, i as f64)]);
        let mut fetch = round(i * 5_000, &[(&wanted, 0, vec![sample])]);
        fetch.raw[0].partial = i == 3;
        store.add(fetch);
    }
    let partial = |start| window(&store, &wanted, start).unwrap().marks.partial;
    assert_eq!([0, 10_000, 20_000].map(partial), [false, true, false]);
    assert!(store.reading(&wanted.query, KEEP).partial);
}

#[test]
fn a_rate_of_series_scraped_more_seldom_than_the_window_is_wide_keeps_its_level() {
    let wanted = rate("r");
    let every_15s = |phase: i64| {
        (0..9)
            .map(|i| (phase + 15_000 * i, 15.0 * i as f64))
            .collect::<Vec<_>>()
    };
    let all = (0..3).map(|k| series(&format!("i{k}"), "", &every_15s(5_000 * k)));
    let store = told(&wanted, 130_000, all.collect());
    let (mut events, mut seconds) = (0.0, 0.0);
    for k in 2..8 {
        let Ok(Numbers::Rate([x, d])) = numbers(&store, &wanted, 10_000 * k) else {
            panic!()
        };
        events += x;
        seconds += d;
    }
    assert!((events / seconds - 3.0).abs() < 1e-9, "{events} in {seconds}");
    assert!((seconds - 60.0).abs() < 1e-9);
}

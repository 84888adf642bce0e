//! The newest reading of a query, and why there is none.

use super::{KEEP, WIDTH, each_5s, numbers, store, told, window};
use crate::{
    metrics::{
        Fetch, Store,
        testing::{gauge, query, rate, round, series},
    },
    model::{dashboard::Agg, sample::Gap, time::Span},
};

#[test]
fn no_series_is_told_with_the_query() {
    let wanted = rate("r");
    let mut store = store(&wanted);
    store.add(round(0, &[(&wanted, 0, vec![])]));
    assert_eq!(window(&store, &wanted, 0), None);
    store.add(round(60_000, &[(&wanted, 0, vec![])]));
    let no_series = Gap::NoSeries { query: "r".into() };
    assert_eq!(numbers(&store, &wanted, 0), Err(no_series.clone()));
    assert_eq!(store.reading(&wanted.query, WIDTH).value, Err(no_series));
}

#[test]
fn a_reading_over_no_time_is_of_the_last_two_samples() {
    let wanted = rate("r");
    let store = told(
        &wanted,
        10_000,
        vec![series("a", "", &each_5s(0, &[0.0, 5.0, 30.0]))],
    );
    assert_eq!(store.reading(&wanted.query, Span::ZERO).value.unwrap().0, 5.0);
}

#[test]
fn a_stale_reading_keeps_its_time_and_grows_old() {
    let wanted = gauge("g", Agg::Max);
    let mut store = told(
        &wanted,
        10_000,
        vec![series("a", "", &each_5s(0, &[1.0, 2.0, 3.0]))],
    );
    store.add(round(18_000, &[(&wanted, 0, vec![])]));
    let reading = store.reading(&wanted.query, Span::ZERO);
    assert_eq!((reading.sampled, reading.age), (10_000, Span::seconds(8)));
}

#[test]
fn a_failing_query_is_a_gap_and_others_go_on() {
    let (a, b) = (gauge("a", Agg::Max), gauge("b", Agg::Max));
    let mut store = Store::new(&[a.clone(), b.clone()], KEEP);
    let mut fetch = round(5_000, &[(&b, 0, vec![series("x", "", &[(5_000, 4.0)])])]);
    fetch.problems = vec![(a.query.clone(), Gap::Source("HTTP 500".into()))];
    store.add(fetch);
    assert_eq!(
        store.reading(&a.query, Span::ZERO).value,
        Err(Gap::Source("HTTP 500".into()))
    );
    assert_eq!(store.reading(&b.query, Span::ZERO).value.unwrap().0, 4.0);
}

#[test]
fn what_nobody_asked_for_is_a_gap_and_never_a_value() {
    let mut store = store(&rate("r"));
    store.add(Fetch::default());
    let Err(Gap::Source(why)) = store.reading(&query("other"), WIDTH).value else {
        panic!()
    };
    assert!(why.starts_with("other is not read"), "{why}");
    assert!(
        store
            .window(&query("other"), 0, WIDTH, 0)
            .unwrap()
            .numbers
            .is_err()
    );
}

#[test]
fn memory_does_not_grow_with_time() {
    let wanted = rate("r");
    let mut store = store(&wanted);
    let mut sizes = Vec::new();
    for i in 0..4_000 {
        let one = series(&format!("pod-{}", i / 100), "", &[(i * 1_000, i as f64)]);
        store.add(round(i * 1_000, &[(&wanted, 0, vec![one])]));
        if i >= 1_000 && i % 1_000 == 0 {
            sizes.push(store.samples_held());
        }
    }
    assert!(sizes.iter().all(|n| *n <= 200), "{sizes:?}");
}

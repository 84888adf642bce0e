//! Ratios of two counters.

use super::{WIDTH, each_5s, numbers, store};
use crate::{
    metrics::testing::{ratio, round, series},
    model::sample::{Gap, Numbers},
};

#[test]
fn a_ratio_takes_both_counters_at_the_same_sample_times() {
    let wanted = ratio("r");
    let good = series("a", "good", &each_5s(0, &[0.0, 9.0, 18.0]));
    let total = series("a", "total", &each_5s(0, &[0.0, 10.0, 20.0, 30.0]));
    let mut store = store(&wanted);
    store.add(round(
        15_000,
        &[(&wanted, 0, vec![good]), (&wanted, 1, vec![total])],
    ));
    assert_eq!(numbers(&store, &wanted, 0), Ok(Numbers::Ratio([18.0, 20.0])));
    let reading = store.reading(&wanted.query, WIDTH);
    assert_eq!(reading.sampled, 10_000, "what only one of them has is not used");
    assert_eq!(reading.value.unwrap().0, 0.9);
}

#[test]
fn a_ratio_of_nothing_is_no_traffic_and_not_a_pass() {
    let wanted = ratio("r");
    let idle = |labels| series("a", labels, &each_5s(0, &[7.0, 7.0, 7.0]));
    let mut store = store(&wanted);
    store.add(round(
        10_000,
        &[(&wanted, 0, vec![idle("g")]), (&wanted, 1, vec![idle("t")])],
    ));
    assert_eq!(numbers(&store, &wanted, 0), Err(Gap::NoTraffic));
    assert_eq!(store.reading(&wanted.query, WIDTH).value, Err(Gap::NoTraffic));
}

#[test]
fn a_ratio_whose_good_selector_fails_has_no_value() {
    let wanted = ratio("r");
    let (g, t) = (each_5s(0, &[0.0, 9.0, 18.0]), each_5s(0, &[0.0, 10.0, 20.0]));
    let mut store = store(&wanted);
    store.add(round(
        10_000,
        &[
            (&wanted, 0, vec![series("a", "g", &g)]),
            (&wanted, 1, vec![series("a", "t", &t)]),
        ],
    ));
    for i in 3..12 {
        let total = series("a", "t", &[(i * 5_000, 10.0 * i as f64)]);
        let mut fetch = round(i * 5_000, &[(&wanted, 1, vec![total])]);
        fetch.problems = vec![(wanted.query.clone(), Gap::Source("HTTP 500".into()))];
        store.add(fetch);
    }
    assert_eq!(
        numbers(&store, &wanted, 20_000),
        Err(Gap::Source("HTTP 500".into()))
    );
    assert!(store.reading(&wanted.query, WIDTH).value.is_err());
}

#[test]
fn more_good_events_than_events_is_told_and_never_a_pass() {
    let wanted = ratio("r");
    let (good, total) = (each_5s(0, &[0.0, 20.0, 40.0]), each_5s(0, &[0.0, 10.0, 20.0]));
    let mut store = store(&wanted);
    store.add(round(
        10_000,
        &[
            (&wanted, 0, vec![series("a", "g", &good)]),
            (&wanted, 1, vec![series("a", "t", &total)]),
        ],
    ));
    let Err(Gap::Source(why)) = store.reading(&wanted.query, WIDTH).value else {
        panic!()
    };
    assert!(
        why.starts_with("more good events than events: r{code=~\"2..\"}"),
        "{why}"
    );
}

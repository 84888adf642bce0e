//! Quantiles and means of histograms.

use super::{WIDTH, each_5s, numbers, store, told};
use crate::{
    metrics::testing::{bucket, mean, quantile, round, series},
    model::sample::{Gap, Numbers},
};

#[test]
fn a_quantile_counts_at_or_below_each_edge_and_all_last() {
    let wanted = quantile("q", 0.5);
    let store = told(
        &wanted,
        10_000,
        vec![
            bucket("+Inf", &each_5s(0, &[10.0, 20.0, 110.0])),
            bucket("0.2", &each_5s(0, &[8.0, 15.0, 88.0])),
            bucket("0.1", &each_5s(0, &[2.0, 5.0, 42.0])),
        ],
    );
    assert_eq!(store.edges(&wanted.query), Some(&[0.1, 0.2][..]));
    assert_eq!(
        numbers(&store, &wanted, 0),
        Ok(Numbers::Quantile(vec![40.0, 80.0, 100.0]))
    );
    let p50 = store.reading(&wanted.query, WIDTH).value.unwrap().0;
    assert!((0.1..0.2).contains(&p50), "{p50}");
}

#[test]
fn a_mean_divides_what_was_added_by_how_often_and_without_traffic_there_is_none() {
    let wanted = mean("m");
    let mut store = store(&wanted);
    let sum = series("a", "sum", &each_5s(0, &[10.0, 10.0, 16.0, 16.0, 16.0]));
    let count = series("a", "count", &each_5s(0, &[4.0, 4.0, 8.0, 8.0, 8.0]));
    store.add(round(
        20_000,
        &[(&wanted, 0, vec![sum]), (&wanted, 1, vec![count])],
    ));
    assert_eq!(numbers(&store, &wanted, 0), Ok(Numbers::Gauge(1.5)));
    assert_eq!(numbers(&store, &wanted, 10_000), Err(Gap::NoTraffic));
}

#[test]
fn a_quantile_above_the_last_edge_is_infinite_so_that_no_limit_holds() {
    let wanted = quantile("q", 0.99);
    let store = told(
        &wanted,
        10_000,
        vec![
            bucket("0.1", &each_5s(0, &[0.0, 5.0, 50.0])),
            bucket("+Inf", &each_5s(0, &[0.0, 10.0, 100.0])),
        ],
    );
    assert_eq!(
        store.reading(&wanted.query, WIDTH).value.unwrap().0,
        f64::INFINITY
    );
}

#[test]
fn bucket_edges_that_change_are_a_gap() {
    let wanted = quantile("q", 0.5);
    let mut store = told(
        &wanted,
        10_000,
        vec![
            bucket("0.1", &each_5s(0, &[0.0, 5.0, 9.0])),
            bucket("+Inf", &each_5s(0, &[0.0, 9.0, 20.0])),
        ],
    );
    assert!(numbers(&store, &wanted, 0).is_ok());
    for i in 3..9 {
        let all = vec![
            bucket("0.3", &[(i * 5_000, 9.0)]),
            bucket("+Inf", &[(i * 5_000, 90.0)]),
        ];
        store.add(round(i * 5_000, &[(&wanted, 0, all)]));
    }
    let Err(Gap::Source(why)) = numbers(&store, &wanted, 10_000) else {
        panic!()
    };
    assert!(why.contains("bucket edges"), "{why}");
    assert!(store.reading(&wanted.query, WIDTH).value.is_err());
}

//! Gauges, folded and alone.

use super::{WIDTH, each_5s, numbers, store, told};
use crate::{
    metrics::testing::{gauge, promql, round, series},
    model::{
        dashboard::Agg,
        sample::{Gap, Numbers},
        time::Span,
    },
};

#[test]
fn a_gauge_of_several_targets_is_folded_round_by_round() {
    let sum = gauge("g", Agg::Sum);
    let all = vec![
        series("a", "", &each_5s(1_000, &[1.0, 2.0, 3.0])),
        series("b", "", &each_5s(3_000, &[10.0, 20.0, 30.0])),
    ];
    for (agg, want) in [(Agg::Sum, 16.5), (Agg::Max, 15.0), (Agg::Avg, 8.25)] {
        let wanted = gauge("g", agg);
        let store = told(&wanted, 13_000, all.clone());
        assert_eq!(numbers(&store, &wanted, 0), Ok(Numbers::Gauge(want)), "{agg:?}");
    }
    assert_eq!(
        told(&sum, 13_000, all)
            .reading(&sum.query, Span::ZERO)
            .value
            .unwrap()
            .0,
        33.0
    );
}

#[test]
fn one_missed_scrape_does_not_make_a_sum_of_gauges_dip() {
    let wanted = gauge("g", Agg::Sum);
    let b = vec![(1_000, 10.0), (11_000, 10.0)];
    let all = vec![
        series("a", "", &each_5s(1_000, &[1.0, 1.0, 1.0])),
        series("b", "", &b),
    ];
    assert_eq!(
        numbers(&told(&wanted, 11_000, all), &wanted, 0),
        Ok(Numbers::Gauge(11.0))
    );
}

#[test]
fn a_sum_with_a_nan_in_it_is_not_a_number() {
    let wanted = gauge("g", Agg::Sum);
    let all = vec![
        series("a", "", &each_5s(1_000, &[1.0, 1.0, 1.0])),
        series("b", "", &each_5s(1_000, &[1.0, f64::NAN, f64::NAN])),
    ];
    let store = told(&wanted, 11_000, all);
    let not_a_number = Gap::NotANumber { query: "g".into() };
    assert_eq!(
        numbers(&store, &wanted, 0),
        Ok(Numbers::Gauge(2.0)),
        "the finite round alone"
    );
    assert_eq!(
        store.reading(&wanted.query, Span::ZERO).value,
        Err(not_a_number.clone())
    );
    assert_eq!(store.reading(&wanted.query, WIDTH).value, Err(not_a_number));
}

#[test]
fn a_gauge_that_is_only_nan_is_a_gap() {
    let wanted = gauge("g", Agg::Max);
    let nan = series("a", "", &each_5s(0, &[f64::NAN, f64::INFINITY, f64::NAN]));
    let got = numbers(&told(&wanted, 10_000, vec![nan]), &wanted, 0);
    assert_eq!(got, Err(Gap::NotANumber { query: "g".into() }));
}

#[test]
fn a_promql_value_is_a_gauge_of_its_own_time() {
    let wanted = promql("p", "max(lag)");
    let mut store = store(&wanted);
    for i in 0..=3 {
        let value = series("", "", &[(i * 5_000, 2.0 * i as f64)]);
        store.add(round(i * 5_000, &[(&wanted, 0, vec![value])]));
    }
    assert_eq!(numbers(&store, &wanted, 0), Ok(Numbers::Gauge(3.0)));
}

use crate::metrics::fetch::RawSeries;
use crate::metrics::testing::{bucket, gauge, mean, promql, quantile, query, rate, ratio, round, series};
use crate::metrics::{Fetch, Store, Wanted};
use crate::model::dashboard::Agg;
use crate::model::sample::{Gap, Marks, Numbers, SourceMs, Window};
use crate::model::time::Span;

const WIDTH: Span = Span::seconds(10);
const KEEP: Span = Span::seconds(60);

fn store(wanted: &Wanted) -> Store {
    Store::new(std::slice::from_ref(wanted), KEEP)
}

/// A store that was told all series in one round, at `now`.
fn told(wanted: &Wanted, now: SourceMs, series: Vec<RawSeries>) -> Store {
    let mut store = store(wanted);
    store.add(round(now, &[(wanted, 0, series)]));
    store
}

fn window(store: &Store, wanted: &Wanted, start: SourceMs) -> Option<Window> {
    store.window(&wanted.query, start, WIDTH, 7)
}

fn numbers(store: &Store, wanted: &Wanted, start: SourceMs) -> Result<Numbers, Gap> {
    window(store, wanted, start).expect("a complete window").numbers
}

/// Samples each five seconds from `from`, the values one after the other.
fn each_5s(from: SourceMs, values: &[f64]) -> Vec<(SourceMs, f64)> {
    (0..)
        .map(|i| from + 5_000 * i)
        .zip(values.iter().copied())
        .collect()
}

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
fn a_reset_counts_the_new_value_and_marks_its_window_alone() {
    let wanted = rate("r");
    let samples = each_5s(0, &[500.0, 510.0, 520.0, 4.0, 9.0, 14.0, 19.0]);
    let store = told(&wanted, 30_000, vec![series("a", "", &samples)]);
    let marks = |start| window(&store, &wanted, start).unwrap().marks;
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([9.0, 10.0])));
    assert_eq!(
        marks(10_000),
        Marks {
            resets: 1,
            partial: false
        }
    );
    assert_eq!(marks(0), Marks::default());
    assert_eq!(marks(20_000), Marks::default());
}

#[test]
fn the_restart_of_a_target_is_one_reset_however_many_series_it_has() {
    let wanted = rate("r");
    let samples = each_5s(0, &[50.0, 60.0, 5.0]);
    let of = |labels| series("a", labels, &samples);
    let store = told(&wanted, 10_000, vec![of("code=200"), of("code=500")]);
    assert_eq!(window(&store, &wanted, 0).unwrap().marks.resets, 1);
}

#[test]
fn a_vanished_series_does_not_make_the_sum_fall() {
    let wanted = rate("r");
    let mut store = told(
        &wanted,
        10_000,
        vec![
            series("a", "", &each_5s(0, &[0.0, 5.0, 10.0])),
            series("b", "", &each_5s(0, &[900.0, 905.0, 910.0])),
        ],
    );
    for i in 3..=8 {
        let sample = (5_000 * i, 5.0 * i as f64);
        store.add(round(sample.0, &[(&wanted, 0, vec![series("a", "", &[sample])])]));
    }
    assert_eq!(numbers(&store, &wanted, 0), Ok(Numbers::Rate([20.0, 10.0])));
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([10.0, 10.0])));
    assert_eq!(numbers(&store, &wanted, 20_000), Ok(Numbers::Rate([10.0, 10.0])));
}

#[test]
fn a_target_that_appears_counts_from_its_first_sample() {
    let wanted = rate("r");
    let mut store = told(
        &wanted,
        10_000,
        vec![series("a", "", &each_5s(0, &[0.0, 5.0, 10.0]))],
    );
    let newcomer = series("b", "", &each_5s(15_000, &[70_000.0, 70_001.0]));
    let old = series("a", "", &each_5s(15_000, &[15.0, 20.0]));
    store.add(round(20_000, &[(&wanted, 0, vec![old, newcomer])]));
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([11.0, 10.0])));
}

#[test]
fn a_new_label_set_of_a_live_target_counts_from_zero() {
    let wanted = rate("r");
    let mut store = told(
        &wanted,
        10_000,
        vec![series("a", "code=200", &each_5s(0, &[0.0, 5.0, 10.0]))],
    );
    let old = series("a", "code=200", &each_5s(15_000, &[15.0, 20.0]));
    let errors = series("a", "code=500", &each_5s(15_000, &[3.0, 4.0]));
    store.add(round(20_000, &[(&wanted, 0, vec![old, errors])]));
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([14.0, 10.0])));
}

#[test]
fn a_series_that_was_not_looked_at_is_not_taken_for_new() {
    let wanted = rate("r");
    let mut store = told(
        &wanted,
        10_000,
        vec![series("a", "code=200", &each_5s(0, &[0.0, 5.0, 10.0]))],
    );
    let mut late = round(
        20_000,
        &[(
            &wanted,
            0,
            vec![
                series("a", "code=200", &each_5s(15_000, &[15.0, 20.0])),
                series("a", "code=500", &each_5s(15_000, &[3_000.0, 3_001.0])),
            ],
        )],
    );
    late.raw[0].since = 14_000; // nothing is known of the time from 10 s to 14 s
    store.add(late);
    assert_eq!(numbers(&store, &wanted, 10_000), Ok(Numbers::Rate([11.0, 10.0])));
}

#[test]
fn a_series_that_comes_back_is_not_new() {
    let wanted = rate("r");
    let mut store = store(&wanted);
    let a = |i: i64| series("a", "x", &[(i * 5_000, i as f64)]);
    for i in 0..=200 {
        let mut all = vec![a(i)];
        if !(3..=198).contains(&i) {
            all.push(series("a", "y", &[(i * 5_000, 1_000.0 + i as f64)]));
        }
        store.add(round(i * 5_000, &[(&wanted, 0, all)]));
    }
    assert_eq!(numbers(&store, &wanted, 990_000), Ok(Numbers::Rate([3.0, 10.0])));
}

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
fn a_promql_value_is_a_gauge_of_its_own_time() {
    let wanted = promql("p", "max(lag)");
    let mut store = store(&wanted);
    for i in 0..=3 {
        let value = series("", "", &[(i * 5_000, 2.0 * i as f64)]);
        store.add(round(i * 5_000, &[(&wanted, 0, vec![value])]));
    }
    assert_eq!(numbers(&store, &wanted, 0), Ok(Numbers::Gauge(3.0)));
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

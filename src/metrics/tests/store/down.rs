//! What is added up of several targets, of which one is down.

use std::collections::BTreeSet;

use super::{each_5s, store, window};
use crate::{
    metrics::{
        Fetch, Store, Wanted,
        testing::{gauge, rate, round, series, target},
    },
    model::{dashboard::Agg, sample::SourceMs, time::Span},
};

/// A round with samples each five seconds of these instances, from just after `from` up to `now`.
fn scraped(wanted: &Wanted, from: SourceMs, now: SourceMs, up: &[&str], down: &[&str]) -> Fetch {
    let times = each_5s(0, &[1.0; 40]);
    let samples: Vec<_> = times
        .into_iter()
        .filter(|(t, _)| *t > from && *t <= now)
        .collect();
    let all = up.iter().map(|name| series(name, "", &samples)).collect();
    let mut fetch = round(now, &[(wanted, 0, all)]);
    fetch.down = down.iter().map(|name| target(name)).collect::<BTreeSet<_>>();
    fetch
}

fn is_partial(store: &Store, wanted: &Wanted) -> bool {
    store.reading(&wanted.query, Span::seconds(10)).partial
}

#[test]
fn a_sum_without_a_target_that_is_down_is_incomplete_from_its_last_sample_on() {
    for wanted in [gauge("g", Agg::Sum), rate("r")] {
        let mut store = store(&wanted);
        store.add(scraped(&wanted, 0, 20_000, &["a", "b"], &[]));
        assert!(!is_partial(&store, &wanted));
        store.add(scraped(&wanted, 20_000, 30_000, &["a"], &["b"]));
        assert!(is_partial(&store, &wanted));
        for now in [40_000, 50_000, 60_000] {
            store.add(scraped(&wanted, now - 10_000, now, &["a"], &["b"]));
            assert!(is_partial(&store, &wanted), "it is still down at {now}");
        }
        let partial = |start| window(&store, &wanted, start).expect("complete").marks.partial;
        assert_eq!(
            [0, 10_000, 20_000, 30_000].map(partial),
            [false, false, true, true]
        );
    }
}

#[test]
fn a_scrape_that_was_missed_once_takes_nothing_away() {
    let wanted = gauge("g", Agg::Sum);
    let mut store = store(&wanted);
    store.add(scraped(&wanted, 0, 20_000, &["a", "b"], &[]));
    store.add(scraped(&wanted, 20_000, 25_000, &["a"], &["b"]));
    assert!(is_partial(&store, &wanted));
    // It is up again, and its sample comes with the next round.
    store.add(scraped(&wanted, 25_000, 28_000, &["a"], &[]));
    assert!(is_partial(&store, &wanted));
    store.add(scraped(&wanted, 25_000, 30_000, &["a", "b"], &[]));
    assert!(!is_partial(&store, &wanted));
}

#[test]
fn a_target_that_was_away_for_long_leaves_the_time_incomplete_and_not_what_comes_after() {
    let wanted = gauge("g", Agg::Sum);
    let mut store = store(&wanted);
    store.add(scraped(&wanted, 0, 20_000, &["a", "b"], &[]));
    store.add(scraped(&wanted, 20_000, 50_000, &["a"], &["b"]));
    store.add(scraped(&wanted, 50_000, 60_000, &["a", "b"], &[]));
    let partial = |store: &Store, start| window(store, &wanted, start).map(|w| w.marks.partial);
    assert_eq!(partial(&store, 20_000), Some(true));
    store.add(scraped(&wanted, 60_000, 80_000, &["a", "b"], &[]));
    assert_eq!(partial(&store, 60_000), Some(false));
    assert!(!is_partial(&store, &wanted));
}

#[test]
fn a_target_that_is_taken_out_while_it_is_down_is_lacked_no_longer() {
    let wanted = gauge("g", Agg::Sum);
    let mut store = store(&wanted);
    store.add(scraped(&wanted, 0, 20_000, &["a", "b"], &[]));
    store.add(scraped(&wanted, 20_000, 50_000, &["a"], &["b"]));
    store.add(scraped(&wanted, 50_000, 60_000, &["a"], &[]));
    store.add(scraped(&wanted, 60_000, 80_000, &["a"], &[]));
    assert!(!is_partial(&store, &wanted));
}

#[test]
fn a_target_that_was_down_when_it_was_first_seen_is_lacking_nowhere() {
    let wanted = gauge("g", Agg::Sum);
    let mut store = store(&wanted);
    // The first answer reaches back to before it went down.
    let mut first = scraped(&wanted, 10_000, 60_000, &["a"], &["b"]);
    let old = series("b", "", &[(5_000, 1.0)]);
    let answer = &mut first.raw[0];
    answer.series = std::sync::Arc::new(answer.series.iter().cloned().chain([old]).collect());
    store.add(first);
    store.add(scraped(&wanted, 60_000, 70_000, &["a"], &["b"]));
    assert!(!is_partial(&store, &wanted));
}

//! From samples to windows and readings: the store alone, told what a source would tell it.

mod counters;
mod down;
mod gauges;
mod quantiles;
mod ratios;
mod readings;
mod windows;

use crate::{
    metrics::{Store, Wanted, fetch::RawSeries, testing::round},
    model::{
        sample::{Gap, Numbers, SourceMs, Window},
        time::Span,
    },
};

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

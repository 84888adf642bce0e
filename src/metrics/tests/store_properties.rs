use proptest::prelude::*;

use crate::metrics::Store;
use crate::metrics::testing::{gauge, rate, round, series};
use crate::model::dashboard::Agg;
use crate::model::sample::{Numbers, SourceMs};
use crate::model::time::Span;

const WIDTH: i64 = 10_000;
const WINDOWS: usize = 12;

type Samples = Vec<(SourceMs, f64)>;

/// One instance: its phase, the jitter and increment of each scrape, which scrapes fail, and when it restarts.
#[derive(Debug, Clone)]
struct Instance {
    phase: i64,
    scrapes: Vec<(i64, u32, bool, bool)>,
}

fn instances(interval: i64) -> impl Strategy<Value = Vec<Instance>> {
    let count = (WIDTH * (WINDOWS as i64 + 2) / interval) as usize;
    let scrape = (
        0..interval / 4,
        0u32..50,
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.03),
    );
    let instance = (0..interval, prop::collection::vec(scrape, count..=count));
    let instance = instance.prop_map(|(phase, scrapes)| Instance { phase, scrapes });
    prop::collection::vec(instance, 1..5)
}

/// The samples of an instance as a source gives them, and how many events it really had after its first sample that a
/// scrape could see: those since the last scrape before a restart are lost to anyone.
fn samples(instance: &Instance, interval: i64) -> (Samples, Samples) {
    let (mut counter, mut shown, mut seen, mut first) = (1_000.0, 1_000.0, 0.0, true);
    let (mut out, mut cumulative, mut unseen) = (Vec::new(), Vec::new(), 0.0);
    for (i, (jitter, increment, fails, restarts)) in instance.scrapes.iter().enumerate() {
        // A restart that the next value hides (it is not below the last one shown) cannot be seen by any reader of
        // counters.
        if *restarts && shown > 60.0 && !fails {
            counter = 0.0;
            unseen = 0.0;
        }
        counter += f64::from(*increment);
        unseen += f64::from(*increment);
        if *fails {
            continue;
        }
        let time = instance.phase + i as i64 * interval + jitter;
        shown = counter;
        if !first {
            seen += unseen;
        }
        first = false;
        unseen = 0.0;
        out.push((time, counter));
        cumulative.push((time, seen));
    }
    (out, cumulative)
}

fn at(cumulative: &[(SourceMs, f64)], edge: SourceMs) -> f64 {
    let before = cumulative.iter().rev().find(|(t, _)| *t <= edge);
    before.map_or(0.0, |(_, events)| *events)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the phases, the jitter, the missed scrapes and the restarts, with scrapes as seldom as windows: the windows
    /// together hold each event once.
    #[test]
    fn windows_add_up_to_all_increments(
        (interval, instances) in prop::sample::select(vec![1_000, 3_000, 7_000, 10_000, 15_000])
            .prop_flat_map(|interval| (Just(interval), instances(interval))),
        batch in 1usize..4,
    ) {
        let wanted = rate("r");
        let mut store = Store::new(std::slice::from_ref(&wanted), Span::seconds(600));
        let all: Vec<_> = instances.iter().map(|i| samples(i, interval)).collect();
        let last = WIDTH * (WINDOWS as i64 + 2);
        // Rounds of several scrapes each, and each overlaps the one before, as ranges do.
        let step = interval * batch as i64;
        let mut now = step;
        while now <= last + step {
            let fresh = all.iter().enumerate().map(|(i, (samples, _))| {
                let inside: Vec<_> = samples.iter().copied()
                    .filter(|(t, _)| *t > now - 2 * step && *t <= now)
                    .collect();
                series(&format!("i{i}"), "", &inside)
            });
            let fresh = fresh.filter(|s| !s.samples.is_empty()).collect();
            store.add(round(now, &[(&wanted, 0, fresh)]));
            now += step;
        }
        store.add(round(last + 300_000, &[(&wanted, 0, vec![])]));
        let mut events = 0.0;
        for k in 0..WINDOWS {
            let start = k as i64 * WIDTH;
            let window = store.window(&wanted.query, start, Span(WIDTH as u64), k).expect("all samples are in");
            if let Ok(Numbers::Rate([x, d])) = window.numbers {
                prop_assert!(x >= 0.0 && d > 0.0);
                events += x;
            }
        }
        let end = WIDTH * WINDOWS as i64;
        let truth: f64 = all.iter().map(|(_, c)| at(c, end) - at(c, 0)).sum();
        prop_assert!((events - truth).abs() < 1e-6, "{events} in windows, {truth} in truth");
    }

    /// The mean of a gauge lies among its samples, and rounds fold what belongs together.
    #[test]
    fn a_folded_gauge_of_equal_values_is_their_sum(
        n in 1usize..6,
        value in -1e6f64..1e6,
        interval in 500i64..5_000,
    ) {
        let wanted = gauge("g", Agg::Sum);
        let mut store = Store::new(std::slice::from_ref(&wanted), Span::seconds(60));
        let all = (0..n).map(|i| {
            let phase = interval * i as i64 / n as i64;
            let samples: Vec<_> = (0..60).map(|k| (k * interval + phase, value)).collect();
            series(&format!("i{i}"), "", &samples)
        });
        store.add(round(60 * interval, &[(&wanted, 0, all.collect())]));
        let start = 30 * interval;
        let window = store.window(&wanted.query, start, Span(10 * interval as u64), 0).expect("complete");
        let Ok(Numbers::Gauge(mean)) = window.numbers else { panic!("{window:?}") };
        prop_assert!((mean - value * n as f64).abs() <= 1e-9 * value.abs() * n as f64);
    }
}

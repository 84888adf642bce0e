//! One instance's metrics, and their text for `GET /metrics` (Prometheus text format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::point::Locked;

/// Upper bounds, ms. Dense, so that two bounds of an interval lie in neighbouring buckets.
const BUCKETS_MS: [u64; 32] = [
    1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 60, 80, 100, 130, 160, 200, 250, 320, 400, 500, 650, 800, 1000, 1300,
    1600, 2000, 2500, 3200, 4000, 5000, 6500, 10_000,
];

/// A number that only rises.
#[derive(Debug, Clone, Default)]
pub(super) struct Counter(Arc<AtomicU64>);

impl Counter {
    pub(super) fn inc(&self) {
        self.add(1);
    }

    pub(super) fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Observed durations.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram(Arc<Observed>);

#[derive(Debug)]
struct Observed {
    buckets: [AtomicU64; BUCKETS_MS.len() + 1],
    sum_us: AtomicU64,
}

impl Default for Observed {
    fn default() -> Self {
        Self {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            sum_us: AtomicU64::new(0),
        }
    }
}

impl Histogram {
    pub(super) fn observe(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS_MS.partition_point(|bound| bound * 1000 < us);
        self.0.buckets[bucket].fetch_add(1, Relaxed);
        self.0.sum_us.fetch_add(us, Relaxed);
    }
}

enum Source {
    Counter(Counter),
    CounterRead(Box<dyn Fn() -> u64 + Send + Sync>),
    Gauge(Box<dyn Fn() -> f64 + Send + Sync>),
    Histogram(Histogram),
}

struct Family {
    help: &'static str,
    series: Vec<(String, Source)>,
}

/// The metrics of one instance. Every series carries its service and instance and exists from the start, at 0.
pub(super) struct Meters {
    own: String,
    families: Locked<BTreeMap<&'static str, Family>>,
}

/// Labels of a series, beside its service and instance.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

impl Meters {
    pub(super) fn new(service: &str, instance: &str) -> Self {
        Self {
            own: format!("service=\"{service}\",instance=\"{instance}\""),
            families: Locked::default(),
        }
    }

    fn register(&self, name: &'static str, help: &'static str, labels: Labels<'_>, source: Source) {
        let mut text = self.own.clone();
        for (key, value) in labels {
            let value = value
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            let _ = write!(text, ",{key}=\"{value}\"");
        }
        self.families.with(|families| {
            families
                .entry(name)
                .or_insert_with(|| Family {
                    help,
                    series: Vec::new(),
                })
                .series
                .push((text, source));
        });
    }

    pub(super) fn counter(&self, name: &'static str, help: &'static str, labels: Labels<'_>) -> Counter {
        let counter = Counter::default();
        self.register(name, help, labels, Source::Counter(counter.clone()));
        counter
    }

    /// A count that is kept elsewhere.
    pub(super) fn counter_fn(
        &self,
        name: &'static str,
        help: &'static str,
        labels: Labels<'_>,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        self.register(name, help, labels, Source::CounterRead(Box::new(read)));
    }

    /// A number read when it is asked for.
    pub(super) fn gauge(
        &self,
        name: &'static str,
        help: &'static str,
        labels: Labels<'_>,
        read: impl Fn() -> f64 + Send + Sync + 'static,
    ) {
        self.register(name, help, labels, Source::Gauge(Box::new(read)));
    }

    pub(super) fn histogram(&self, name: &'static str, help: &'static str, labels: Labels<'_>) -> Histogram {
        let histogram = Histogram::default();
        self.register(name, help, labels, Source::Histogram(histogram.clone()));
        histogram
    }

    /// All of it as text.
    pub(super) fn render(&self) -> String {
        let mut text = String::with_capacity(16 * 1024);
        self.families.with(|families| {
            for (name, family) in families.iter() {
                render_family(&mut text, name, family);
            }
        });
        text
    }
}

fn render_family(text: &mut String, name: &str, family: &Family) {
    let kind = match family.series.first() {
        Some((_, Source::Counter(_) | Source::CounterRead(_))) => "counter",
        Some((_, Source::Histogram(_))) => "histogram",
        Some((_, Source::Gauge(_))) | None => "gauge",
    };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", family.help);
    for (labels, source) in &family.series {
        match source {
            Source::Counter(counter) => {
                let _ = writeln!(text, "{name}{{{labels}}} {}", counter.get());
            }
            Source::CounterRead(read) => {
                let _ = writeln!(text, "{name}{{{labels}}} {}", read());
            }
            Source::Gauge(read) => {
                let _ = writeln!(text, "{name}{{{labels}}} {}", read());
            }
            Source::Histogram(histogram) => render_histogram(text, name, labels, &histogram.0),
        }
    }
}

fn render_histogram(text: &mut String, name: &str, labels: &str, observed: &Observed) {
    let mut count = 0;
    for (index, bucket) in observed.buckets.iter().enumerate() {
        count += bucket.load(Relaxed);
        let bound = match BUCKETS_MS.get(index) {
            Some(ms) => (*ms as f64 / 1000.0).to_string(),
            None => "+Inf".to_owned(),
        };
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
    }
    let sum = observed.sum_us.load(Relaxed) as f64 / 1e6;
    let _ = writeln!(
        text,
        "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}"
    );
}

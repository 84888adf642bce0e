//! What tests of the sheet judge: a mean that doubles under a step of thirty windows of a second.

use crate::{
    engine::meters::collected::Collected,
    model::{
        amount::{Basis, Bounds, Unit},
        dashboard::{Metric, MetricKind, Read},
        drill::{Change, Drill, Expectation, Start},
        event::Period,
        ids::MetricId,
        sample::{Marks, Numbers, Query, Window},
        testing::{drill, step},
        text::Localized,
    },
};

/// A step that expects the metric to rise by at least a tenth of a second.
pub(super) fn rises(metric: &MetricId, read: Read) -> Drill {
    let mut drill = drill(vec![step("a", 30, Start::InOrder, true)]);
    drill.dashboard.metrics.push(Metric {
        id: metric.clone(),
        title: Localized::plain("mean"),
        kind: MetricKind::Business,
        unit: Unit::Seconds,
        better: None,
        read,
        of: Vec::new(),
    });
    drill.steps[0].expect.push(Expectation {
        metric: metric.clone(),
        scope: None,
        change: Change::Rises(Bounds {
            at_least: Some(0.1),
            at_most: None,
            basis: Basis::Absolute,
        }),
        otherwise: None,
    });
    drill
}

/// The baseline's windows and the step's, under which the mean doubles.
pub(super) fn doubles() -> [(Period, i64, Vec<Window>); 2] {
    let windows = |start: i64, count: usize, level: f64| {
        let window = |index: usize| Window {
            index,
            start: start + index as i64 * 1000,
            numbers: Ok(Numbers::Gauge(level + 0.01 * ((index * 7 % 5) as f64 - 2.0))),
            marks: Marks::default(),
        };
        (0..count).map(window).collect()
    };
    [
        (Period::Baseline, 0, windows(0, 60, 0.2)),
        (Period::Step(0), 60_000, windows(60_000, 30, 0.4)),
    ]
}

/// The same, collected for a query.
pub(super) fn doubled(query: &Query) -> Collected {
    let mut collected = Collected::default();
    for (period, start, windows) in doubles() {
        collected.begin(period, start);
        for window in windows {
            collected.push(period, query, window);
        }
    }
    collected
}

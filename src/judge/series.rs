//! Usable windows ("Windows") and the series whose plain mean is the level ("Level, series and floor").

use super::constants::{MIN_BEYOND, MIN_COVER, MIN_N1, MIN_N2, PSEUDO};
use super::judgement::{Period, Reason};
use super::noise::mean;
use super::windows::{Periods, Windows};

/// The usable windows of one period.
pub(super) struct Used<'a> {
    /// Their indices, ascending.
    pub times: Vec<usize>,
    /// Their contents.
    pub data: Data<'a>,
}

/// Contents of usable windows.
pub(super) enum Data<'a> {
    /// Means.
    Gauge(Vec<f64>),
    /// Events and seconds.
    Rate(Vec<[f64; 2]>),
    /// Good and total.
    Ratio(Vec<[f64; 2]>),
    /// Cumulative counts and total.
    Quantile {
        /// Finite upper bounds.
        edges: &'a [f64],
        /// Which quantile.
        q: f64,
        /// Counts, window by window.
        cum: Vec<&'a [f64]>,
    },
}

/// A level, the series with that mean, and the floor of its variance.
pub(super) struct Series {
    /// The level.
    pub level: f64,
    /// One value a window.
    pub y: Vec<f64>,
    /// Least variance of the level; for a gauge it comes from [`super::sparse`].
    pub floor: f64,
}

/// Usable windows from `skip` on, their indices moved by `offset` ("Windows", rules 1 and 2).
pub(super) fn usable<'a>(windows: &'a Windows, skip: usize, offset: usize) -> Used<'a> {
    let mut times = Vec::new();
    let data = match windows {
        Windows::Gauge(list) => Data::Gauge(pick(list, skip, offset, &mut times, |value| {
            value.is_finite().then_some(*value)
        })),
        Windows::Rate(list) => Data::Rate(pick(list, skip, offset, &mut times, rate_window)),
        Windows::Ratio(list) => Data::Ratio(pick(list, skip, offset, &mut times, ratio_window)),
        Windows::Quantile { edges, q, cum } => {
            let sound = are_edges(edges) && *q > 0.0 && *q < 1.0;
            let edges = edges.as_slice();
            let window = |counts: &'a Vec<f64>| bucket_window(counts, edges.len()).filter(|_| sound);
            Data::Quantile {
                edges,
                q: *q,
                cum: pick(cum, skip, offset, &mut times, window),
            }
        }
    };
    Used { times, data }
}

fn pick<'a, W, T>(
    list: &'a [Option<W>],
    skip: usize,
    offset: usize,
    times: &mut Vec<usize>,
    window: impl Fn(&'a W) -> Option<T>,
) -> Vec<T> {
    let mut kept = Vec::new();
    for (k, entry) in list.iter().enumerate().skip(skip) {
        if let Some(value) = entry.as_ref().and_then(&window) {
            times.push(k + offset);
            kept.push(value);
        }
    }
    kept
}

/// Negative events are a counter reset.
fn rate_window(window: &[f64; 2]) -> Option<[f64; 2]> {
    let [events, seconds] = *window;
    (events.is_finite() && seconds.is_finite() && events >= 0.0 && seconds > 0.0).then_some(*window)
}

fn ratio_window(window: &[f64; 2]) -> Option<[f64; 2]> {
    let [good, total] = *window;
    (good.is_finite() && total.is_finite() && total > 0.0 && (0.0..=total).contains(&good)).then_some(*window)
}

fn bucket_window(counts: &[f64], edges: usize) -> Option<&[f64]> {
    let sound = counts.len() == edges + 1
        && counts.iter().all(|count| count.is_finite() && *count >= 0.0)
        && counts.windows(2).all(|pair| pair[0] <= pair[1])
        && counts[edges] > 0.0;
    sound.then_some(counts)
}

/// Whether these can be bucket bounds: finite, ascending, at least one.
pub(super) fn are_edges(edges: &[f64]) -> bool {
    !edges.is_empty()
        && edges.iter().all(|edge| edge.is_finite())
        && edges.windows(2).all(|pair| pair[0] < pair[1])
}

impl Used<'_> {
    /// Number of usable windows.
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    /// Observations on either side of the quantile are too few ("Windows", rule 3).
    fn thin_quantile(&self, period: Period) -> Option<Reason> {
        let Data::Quantile { q, cum, .. } = &self.data else {
            return None;
        };
        let observations: f64 = cum.iter().filter_map(|counts| counts.last()).sum();
        let enough = observations * q.min(1.0 - q) >= MIN_BEYOND;
        (!enough).then_some(Reason::FewObservations {
            period,
            observations: observations as u64,
        })
    }

    /// The series of a gauge, rate or ratio; `None` for a quantile, which needs its buckets ("Quantiles").
    pub(super) fn series(&self) -> Option<Series> {
        Some(match &self.data {
            Data::Gauge(y) => Series {
                level: mean(y),
                y: y.clone(),
                floor: 0.0,
            },
            Data::Rate(windows) => {
                let (events, seconds) = totals(windows);
                let (level, y) = linearise(windows.iter().copied(), events, seconds);
                Series {
                    level,
                    y,
                    floor: (events + PSEUDO) / (seconds * seconds),
                }
            }
            Data::Ratio(windows) => {
                let (good, total) = totals(windows);
                let (level, y) = linearise(windows.iter().copied(), good, total);
                let p = (total - good + PSEUDO) / (total + 2.0 * PSEUDO);
                Series {
                    level,
                    y,
                    floor: p * (1.0 - p) / total,
                }
            }
            Data::Quantile { .. } => return None,
        })
    }
}

fn totals(windows: &[[f64; 2]]) -> (f64, f64) {
    windows
        .iter()
        .fold((0.0, 0.0), |(x, n), window| (x + window[0], n + window[1]))
}

/// `Σx / Σn` and its influence, window by window ("Level, series and floor").
pub(super) fn linearise(windows: impl ExactSizeIterator<Item = [f64; 2]>, x: f64, n: f64) -> (f64, Vec<f64>) {
    let (level, mean_n) = (x / n, n / windows.len() as f64);
    (
        level,
        windows
            .map(|[xt, nt]| level + (xt - level * nt) / mean_n)
            .collect(),
    )
}

/// Whether the baseline has too few usable windows or observations.
pub(super) fn thin_baseline(used: &Used<'_>, windows: usize) -> Option<Reason> {
    if covers(used.len(), MIN_N1, windows) {
        return used.thin_quantile(Period::Baseline);
    }
    Some(Reason::FewWindows {
        period: Period::Baseline,
        usable: used.len(),
    })
}

/// Whether `usable` windows are enough of `windows`.
pub(super) fn covers(usable: usize, least: usize, windows: usize) -> bool {
    usable as f64 >= (least as f64).max(MIN_COVER * windows as f64)
}

/// The usable windows of both periods, or why there is no data ("Windows").
pub(super) fn parts(periods: &Periods) -> Result<(Used<'_>, Used<'_>), Reason> {
    let (n1, n2) = (periods.baseline().len(), periods.injection().len());
    let settle = periods.settle_windows();
    let one = usable(periods.baseline(), 0, 0);
    let two = usable(periods.injection(), settle, n1.saturating_add(periods.pause));
    if !covers(one.len(), MIN_N1, n1) {
        return Err(Reason::FewWindows {
            period: Period::Baseline,
            usable: one.len(),
        });
    }
    if !covers(two.len(), MIN_N2, n2.saturating_sub(settle)) {
        return Err(Reason::FewWindows {
            period: Period::Injection,
            usable: two.len(),
        });
    }
    let thin = one
        .thin_quantile(Period::Baseline)
        .or_else(|| two.thin_quantile(Period::Injection));
    thin.map_or(Ok((one, two)), Err)
}

//! Several gauges as one value over time.

use super::{
    part::{Part, earlier},
    track::Track,
};
use crate::model::{dashboard::Agg, sample::SourceMs};

/// The folded value at the end of each round of samples after `start` and up to `end`; NaN where a series was not a
/// number: a sum without one of its series would be a wrong sum.
///
/// Targets are scraped one after the other. A round ends where a series comes again; a series that missed a round keeps
/// its value for as long as late samples are waited for.
pub(super) fn rounds(part: &Part, agg: Agg, start: SourceMs, end: SourceMs) -> Vec<f64> {
    let tracks: Vec<&Track> = part.tracks().collect();
    let mut present: Vec<Option<(SourceMs, f64)>> = tracks.iter().map(|t| last(t, start)).collect();
    let mut samples: Vec<(SourceMs, usize, f64)> = tracks
        .iter()
        .enumerate()
        .flat_map(|(i, t)| t.inside(start, end).map(move |(time, value)| (time, i, value)))
        .collect();
    samples.sort_by_key(|(time, i, _)| (*time, *i));
    let mut out = Vec::new();
    let mut seen = vec![false; tracks.len()];
    let mut round_end = None;
    for (time, i, value) in samples {
        if seen[i]
            && let Some(at) = round_end
        {
            out.extend(fold(part, agg, &present, at));
            seen.fill(false);
        }
        seen[i] = true;
        present[i] = Some((time, value));
        round_end = Some(time);
    }
    if let Some(at) = round_end {
        out.extend(fold(part, agg, &present, at));
    }
    out
}

/// The folded value at `time`, from the last sample of each series. `None` if no series was there.
pub(super) fn at(part: &Part, agg: Agg, time: SourceMs) -> Option<f64> {
    let present: Vec<Option<(SourceMs, f64)>> = part.tracks().map(|t| last(t, time)).collect();
    fold(part, agg, &present, time)
}

/// The mean of what is finite.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    let finite: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
    (!finite.is_empty()).then(|| finite.iter().sum::<f64>() / finite.len() as f64)
}

fn last(track: &Track, time: SourceMs) -> Option<(SourceMs, f64)> {
    let place = track.last_at(time)?;
    Some((track.time(place), track.value(place, 0)))
}

fn fold(part: &Part, agg: Agg, present: &[Option<(SourceMs, f64)>], at: SourceMs) -> Option<f64> {
    let since = earlier(at, part.patience());
    let (mut n, mut sum, mut max) = (0u32, 0.0, f64::NEG_INFINITY);
    for (_, value) in present.iter().flatten().filter(|(time, _)| *time >= since) {
        n += 1;
        sum += value;
        max = f64::max(max, *value);
    }
    match agg {
        _ if n == 0 => None,
        _ if sum.is_nan() => Some(f64::NAN),
        Agg::Sum => Some(sum),
        Agg::Max => Some(max),
        Agg::Avg => Some(sum / f64::from(n)),
    }
}

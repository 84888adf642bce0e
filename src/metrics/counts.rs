//! What counters counted between two edges.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    fetch::TargetId,
    part::{Part, earlier},
    track::Track,
};
use crate::model::{sample::SourceMs, time::Span};

/// What the series of one selector counted between two edges, all of them together.
#[derive(Debug, PartialEq)]
pub(super) struct Counts {
    /// Events; for a histogram at or below each edge, and all of them last.
    pub(super) events: Vec<f64>,
    /// The real time between the samples that counted them.
    pub(super) seconds: f64,
    /// Restarts of counters: one for each target and time, however many series it has.
    pub(super) resets: u32,
}

/// Where the samples of a target end although some selector has newer ones: the selectors of a ratio are asked one after
/// the other, and a scrape may fall between.
pub(super) type Limits = BTreeMap<Option<TargetId>, SourceMs>;

/// Adds up what was counted after `start` and up to `end`, from the last samples at or before these edges. `None` if
/// no series has a new sample there.
///
/// The seconds are the mean over the series that were there all the time and have not ended (one whose sample falls into
/// the next window has none now and two shares then); if none was, they are what all series together span.
pub(super) fn between(part: &Part, start: SourceMs, end: SourceMs, limits: &Limits) -> Option<Counts> {
    let width = part.edges().map_or(1, |edges| edges.len() + 1);
    let mut events = vec![0.0; width];
    let mut resets = BTreeSet::new();
    let (mut steady, mut steady_ms) = (0u32, 0i64);
    let (mut from, mut to) = (SourceMs::MAX, SourceMs::MIN);
    let present = earlier(part.newest()?, Span(part.interval().0 * 3 / 2));
    for track in part.tracks() {
        let limit = limits.get(&track.target()).copied().unwrap_or(SourceMs::MAX);
        let Some((a, b)) = places(track, start.min(limit), end.min(limit)) else {
            continue;
        };
        let (first, last) = (track.time(a), track.time(b));
        let was_there = track.oldest().is_some_and(|t| t <= start);
        if was_there && track.newest().is_some_and(|t| t >= end || t >= present) {
            steady += 1;
            steady_ms += last - first;
        }
        if last > first {
            from = from.min(first);
            to = to.max(last);
            for (i, sum) in events.iter_mut().enumerate() {
                *sum += track.value(b, i) - track.value(a, i);
            }
            resets.extend(track.resets(first, last).map(|t| (track.target(), t)));
        }
    }
    let ms = match steady {
        0 => (to > from).then(|| (to - from) as f64)?,
        n => steady_ms as f64 / f64::from(n),
    };
    (to > from).then(|| Counts {
        events,
        // Steady series without a new sample beside a newborn with one: its own time is all there is.
        seconds: if ms > 0.0 { ms } else { (to - from) as f64 } / 1000.0,
        resets: u32::try_from(resets.len()).unwrap_or(u32::MAX),
    })
}

/// The samples that the edges stand on. A series that began inside counts from its first sample.
fn places(track: &Track, start: SourceMs, end: SourceMs) -> Option<(usize, usize)> {
    let b = track.last_at(end)?;
    Some((track.last_at(start).unwrap_or(0).min(b), b))
}

/// Per target the time up to which all selectors have samples. A selector whose series of a target have ended does not
/// hold the others back.
pub(super) fn common_limits(parts: &[Part]) -> Limits {
    let overall = parts
        .iter()
        .filter_map(|part| part.live().filter_map(Track::newest).max())
        .min();
    let mut limits = Limits::new();
    for part in parts {
        let mut newest = Limits::new();
        for track in part.live() {
            let n = track.newest().unwrap_or(SourceMs::MIN);
            let entry = newest.entry(track.target()).or_insert(n);
            *entry = n.max(*entry);
        }
        for (target, n) in newest {
            let n = overall.map_or(n, |overall| n.min(overall));
            let entry = limits.entry(target).or_insert(n);
            *entry = n.min(*entry);
        }
    }
    limits
}

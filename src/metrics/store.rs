//! Raw samples become windows and readings: here, and nowhere else. Pure: no clock, no network.

use std::collections::{BTreeMap, VecDeque};

use super::{
    fetch::{Fetch, TargetId},
    part::{Alive, earlier, later},
    wanted::Wanted,
    watched::Watched,
};
use crate::model::{
    amount::Level,
    sample::{Gap, Marks, Query, Reading, SourceMs, Window},
    time::Span,
};

/// How many sightings of a target are kept, to tell a new series from one that was not looked at.
const SIGHTINGS: usize = 8;

/// The samples of a run, as far back as they are needed, and what they say.
///
/// - Counters count increments between consecutive samples of a series; a value that falls is a reset, its new value
///   is the increment, and the window is marked. A vanished series never makes a sum fall.
/// - A series counts from its first sample, unless the selector was answered before without it while its target was
///   alive: then it is a new label set, and counts from zero.
/// - A window stands on the last samples at or before its edges, so that no event is counted in two windows.
/// - NaN is no observation. Where a gauge of several is NaN, their sum is not known.
#[derive(Debug)]
pub struct Store {
    keep: Span,
    source_now: Option<SourceMs>,
    began: SourceMs,
    watched: BTreeMap<Query, Watched>,
    sightings: BTreeMap<TargetId, VecDeque<SourceMs>>,
}

impl Store {
    /// An empty store. `keep` is the longest reading window or window width that will be asked for; samples older than
    /// that (and the time that late ones are waited for) are forgotten.
    pub fn new(wanted: &[Wanted], keep: Span) -> Self {
        let watched = wanted.iter().map(|w| (w.query.clone(), Watched::new(w)));
        Self {
            keep,
            source_now: None,
            began: 0,
            watched: watched.collect(),
            sightings: BTreeMap::new(),
        }
    }

    /// Takes in a round. Samples that were there already change nothing.
    pub fn add(&mut self, fetch: Fetch) {
        if self.source_now.is_none() {
            self.began = fetch.source_now;
        }
        let now = self
            .source_now
            .map_or(fetch.source_now, |n| n.max(fetch.source_now));
        self.source_now = Some(now);
        let alive = Alive {
            earlier: &self.sightings,
            now: &fetch.up,
            down: &fetch.down,
        };
        for answer in &fetch.raw {
            if let Some(part) = self
                .watched
                .get_mut(&answer.query)
                .and_then(|w| w.parts.get_mut(answer.part))
            {
                part.add(answer, now, fetch.interval, &alive);
            }
        }
        for (query, gap) in fetch.problems {
            if let Some(watched) = self.watched.get_mut(&query) {
                watched.problem = Some((now, gap));
            }
        }
        self.remember_sightings(&fetch.up);
        self.forget(now);
    }

    fn remember_sightings(&mut self, up: &[(TargetId, Vec<SourceMs>)]) {
        for (target, times) in up {
            let seen = self.sightings.entry(*target).or_default();
            let newest = seen.back().copied().unwrap_or(SourceMs::MIN);
            seen.extend(times.iter().filter(|t| **t > newest));
            let surplus = seen.len().saturating_sub(SIGHTINGS);
            seen.drain(..surplus);
        }
    }

    fn forget(&mut self, now: SourceMs) {
        for watched in self.watched.values_mut() {
            for part in &mut watched.parts {
                let edge = earlier(earlier(now, self.keep * 2), part.patience() * 2);
                part.forget_before(edge);
            }
        }
        let longest = earlier(now, self.keep * 2 + Span::seconds(600));
        self.sightings
            .retain(|_, times| times.back().is_some_and(|t| *t > longest));
    }

    /// How many sample times are held, over all series.
    #[cfg(test)]
    pub(super) fn samples_held(&self) -> usize {
        let parts = self.watched.values().flat_map(|w| &w.parts);
        parts
            .flat_map(|part| part.tracks())
            .map(super::track::Track::len)
            .sum()
    }

    /// The source's clock at the newest round; `None` before the first.
    pub fn source_now(&self) -> Option<SourceMs> {
        self.source_now
    }

    /// The finite bucket edges of a quantile, as they were first seen: what [`Numbers::Quantile`] counts by.
    pub fn edges(&self, query: &Query) -> Option<&[f64]> {
        self.watched.get(query)?.parts.first()?.edges()
    }

    /// How often the query has new samples, in the source's own time; the median of the last ones.
    pub fn interval(&self, query: &Query) -> Option<Span> {
        Some(self.watched.get(query)?.interval())
    }

    /// The window of `width` from `start`. `None` while samples for it may still come: until every live series has
    /// one past the window's end, at most three scrape intervals (3 s to 3 min) longer. Then it is a gap, or made
    /// of the samples there are.
    pub fn window(&self, query: &Query, start: SourceMs, width: Span, index: usize) -> Option<Window> {
        let now = self.source_now?;
        let end = later(start, width);
        let window = |numbers, marks| Window {
            index,
            start,
            numbers,
            marks,
        };
        let Some(watched) = self.watched.get(query) else {
            return Some(window(Err(not_asked(query)), Marks::default()));
        };
        let complete = watched.parts.iter().all(|part| part.has_reached(end));
        if !complete && now < later(end, watched.patience()) {
            return None;
        }
        let (numbers, resets) = match watched.numbers(start, end) {
            Ok((numbers, resets)) => (Ok(numbers), resets),
            Err(gap) => (Err(gap), 0),
        };
        let partial = watched.parts.iter().any(|part| part.is_partial(start, end));
        Some(window(numbers, Marks { resets, partial }))
    }

    /// The present value over the last `window` before the newest sample: rate, ratio and quantile of what was
    /// counted, the mean of a gauge. If `window` is no longer than the interval of the samples: what was counted
    /// between the last two, and the newest of a gauge. Early in a run the value is of as much time as there is. If the
    /// last round went wrong, that is what it says.
    pub fn reading(&self, query: &Query, window: Span) -> Reading {
        let now = self.source_now.unwrap_or(0);
        let Some(watched) = self.watched.get(query) else {
            return Reading {
                value: Err(not_asked(query)),
                age: Span::ZERO,
                sampled: 0,
                partial: false,
            };
        };
        let sampled = watched.newest();
        let end = sampled.unwrap_or(now);
        let start = earlier(end, window.max(watched.interval()));
        let value = match &watched.problem {
            Some((at, gap)) if *at >= now => Err(gap.clone()),
            _ => watched.value(start, end, window).map(Level),
        };
        Reading {
            value,
            age: Span(u64::try_from(now - sampled.unwrap_or(self.began)).unwrap_or(0)),
            sampled: sampled.unwrap_or(0),
            partial: watched.parts.iter().any(|part| part.is_partial(start, now)),
        }
    }
}

fn not_asked(query: &Query) -> Gap {
    let scope = query
        .scope
        .as_ref()
        .map(|s| format!(" in scope {s}"))
        .unwrap_or_default();
    Gap::Source(format!(
        "{}{scope} is not read: the dashboard lacks it, or it is promql, which takes no scope",
        query.metric
    ))
}

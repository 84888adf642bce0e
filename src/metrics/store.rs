//! Raw samples become windows and readings: here, and nowhere else. Pure: no clock, no network.

use std::collections::{BTreeMap, VecDeque};

use super::{
    counts::{self, Counts, Limits},
    fetch::{Fetch, TargetId},
    gauges,
    part::{Alive, Form, Part, earlier, later},
    quantile,
    wanted::Wanted,
};
use crate::model::{
    amount::Level,
    dashboard::{Agg, Read},
    sample::{Gap, Marks, Numbers, Query, Reading, SourceMs, Window},
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

#[derive(Debug)]
struct Watched {
    wanted: Wanted,
    parts: Vec<Part>,
    /// The last time something went wrong, and what.
    problem: Option<(SourceMs, Gap)>,
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
        self.watched.get(query)?.parts.iter().map(Part::interval).max()
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
    /// counted, the mean of a gauge; the newest sample of a gauge if `window` is no longer than the interval of its
    /// samples. Early in a run the value is of as much time as there is. If the last round went wrong, that is what it says.
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
        let start = earlier(end, window);
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

impl Watched {
    fn new(wanted: &Wanted) -> Self {
        let form = match wanted.read {
            Read::Ratio { .. } | Read::Rate { .. } => Form::Counter,
            Read::Quantile { .. } => Form::Histogram,
            Read::Gauge { .. } | Read::Promql { .. } => Form::Gauge,
        };
        let parts = wanted.selectors().len().max(1);
        Self {
            wanted: wanted.clone(),
            parts: (0..parts).map(|_| Part::new(form)).collect(),
            problem: None,
        }
    }

    fn patience(&self) -> Span {
        self.parts.iter().map(Part::patience).max().unwrap_or(Span::ZERO)
    }

    /// The newest time up to which every selector has samples.
    fn newest(&self) -> Option<SourceMs> {
        let limits = self.limits();
        match limits.values().max() {
            Some(newest) => Some(*newest),
            None => self.parts.iter().filter_map(Part::newest).min(),
        }
    }

    fn limits(&self) -> Limits {
        counts::common_limits(&self.parts)
    }

    fn numbers(&self, start: SourceMs, end: SourceMs) -> Result<(Numbers, u32), Gap> {
        Ok(match &self.wanted.read {
            Read::Rate { .. } => {
                let counts = self.count(0, start, end, &Limits::new())?;
                (Numbers::Rate([counts.events[0], counts.seconds]), counts.resets)
            }
            Read::Ratio { .. } => {
                let (good, total, resets) = self.shares(start, end)?;
                (Numbers::Ratio([good, total]), resets)
            }
            Read::Quantile { .. } => {
                let counts = self.histogram(start, end)?;
                (Numbers::Quantile(counts.events), counts.resets)
            }
            Read::Gauge { agg, .. } => (Numbers::Gauge(self.mean(*agg, start, end)?), 0),
            Read::Promql { .. } => (Numbers::Gauge(self.mean(Agg::Max, start, end)?), 0),
        })
    }

    fn value(&self, start: SourceMs, end: SourceMs, window: Span) -> Result<f64, Gap> {
        match &self.wanted.read {
            Read::Rate { .. } => {
                let counts = self.count(0, start, end, &Limits::new())?;
                Ok(counts.events[0] / counts.seconds)
            }
            Read::Ratio { .. } => self.shares(start, end).map(|(good, total, _)| good / total),
            Read::Quantile { q, .. } => {
                let counts = self.histogram(start, end)?;
                let edges = self.parts[0].edges().unwrap_or_default();
                quantile::quantile(edges, &counts.events, *q).ok_or(Gap::NoTraffic)
            }
            Read::Gauge { agg, .. } => self.gauge(*agg, start, end, window),
            Read::Promql { .. } => self.gauge(Agg::Max, start, end, window),
        }
    }

    fn count(&self, part: usize, start: SourceMs, end: SourceMs, limits: &Limits) -> Result<Counts, Gap> {
        if self.parts[part].has_forgotten(start) {
            return Err(Gap::Source(
                "asked for too late: its samples are forgotten".to_owned(),
            ));
        }
        counts::between(&self.parts[part], start, end, limits).ok_or_else(|| self.silence(part, start))
    }

    fn shares(&self, start: SourceMs, end: SourceMs) -> Result<(f64, f64, u32), Gap> {
        let limits = self.limits();
        let total = self.count(1, start, end, &limits)?;
        // Label sets of good events that are idle may end while the others go on: then none of the events was good.
        let good = match self.count(0, start, end, &limits) {
            Ok(good) => good.events[0],
            Err(gap) if self.parts[0].never_seen() || self.failed_since(start) => return Err(gap),
            Err(_) => 0.0,
        };
        let all = total.events[0];
        if all <= 0.0 {
            return Err(Gap::NoTraffic);
        }
        if good > all * (1.0 + 1e-9) {
            return Err(Gap::Source(format!(
                "more good events than events: {} against {}",
                self.wanted.text(0),
                self.wanted.text(1)
            )));
        }
        Ok((good.min(all), all, total.resets))
    }

    fn histogram(&self, start: SourceMs, end: SourceMs) -> Result<Counts, Gap> {
        if let Some(why) = self.parts[0].spoiled(start, end) {
            return Err(Gap::Source(format!("{why}: {}", self.wanted.text(0))));
        }
        let counts = self.count(0, start, end, &Limits::new())?;
        match counts.events.last() {
            Some(all) if *all > 0.0 => {}
            _ => return Err(Gap::NoTraffic),
        }
        if !quantile::rise(&counts.events) {
            let text = self.wanted.text(0);
            return Err(Gap::Source(format!(
                "bucket counts that fall along the buckets: {text}"
            )));
        }
        Ok(counts)
    }

    fn mean(&self, agg: Agg, start: SourceMs, end: SourceMs) -> Result<f64, Gap> {
        if self.parts[0].has_forgotten(start) {
            return Err(Gap::Source(
                "asked for too late: its samples are forgotten".to_owned(),
            ));
        }
        let values = gauges::rounds(&self.parts[0], agg, start, end);
        gauges::mean(&values).ok_or_else(|| self.silence(0, start))
    }

    fn gauge(&self, agg: Agg, start: SourceMs, end: SourceMs, window: Span) -> Result<f64, Gap> {
        let newest = gauges::at(&self.parts[0], agg, end).ok_or_else(|| self.silence(0, start))?;
        if !newest.is_finite() {
            return Err(self.not_a_number(0));
        }
        if window <= self.parts[0].interval() {
            return Ok(newest);
        }
        self.mean(agg, start, end)
    }

    /// Why there is nothing after `start`.
    fn silence(&self, part: usize, start: SourceMs) -> Gap {
        match &self.problem {
            Some((at, gap)) if *at > start => gap.clone(),
            _ if self.parts[part].was_not_a_number(start) => self.not_a_number(part),
            _ if self.parts[part].never_seen() => Gap::NoSeries {
                query: self.wanted.text(part),
            },
            _ => Gap::NoSample,
        }
    }

    fn not_a_number(&self, part: usize) -> Gap {
        Gap::NotANumber {
            query: self.wanted.text(part),
        }
    }

    fn failed_since(&self, start: SourceMs) -> bool {
        self.problem.as_ref().is_some_and(|(at, _)| *at > start)
    }
}

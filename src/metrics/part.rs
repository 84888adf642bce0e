//! The series of one selector.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::{
    fetch::{Answer, MAX_SERIES, RawSeries, SeriesId, TargetId},
    quantile::Histogram,
    track::Track,
};
use crate::model::{sample::SourceMs, time::Span};

/// How the samples of a selector are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Counter,
    Histogram,
    Gauge,
}

/// How long between two samples, while nothing is known of it.
const UNKNOWN_INTERVAL: Span = Span::seconds(15);

/// The shortest and the longest time that late samples are waited for.
const PATIENCE: (Span, Span) = (Span::seconds(3), Span::seconds(180));

/// The series of one selector.
#[derive(Debug)]
pub(super) struct Part {
    form: Form,
    tracks: BTreeMap<SeriesId, Track>,
    /// Every series ever seen: one that comes back is not new.
    known: HashSet<SeriesId>,
    answered: Option<SourceMs>,
    rhythm: VecDeque<i64>,
    told_interval: Option<Span>,
    partial: VecDeque<(SourceMs, SourceMs)>,
    /// Every target that had samples here while it was up.
    targets: HashSet<TargetId>,
    /// Those of them that are down now, or have no sample yet since, with their last one before.
    lacking: BTreeMap<TargetId, SourceMs>,
    edges: Option<Vec<f64>>,
    /// First and last time at which a histogram could not be read, and why.
    spoiled: Option<(SourceMs, SourceMs, String)>,
    forgotten: SourceMs,
}

/// When targets were seen alive, in earlier rounds and in this one.
pub(super) struct Alive<'a> {
    pub(super) earlier: &'a BTreeMap<TargetId, VecDeque<SourceMs>>,
    pub(super) now: &'a [(TargetId, Vec<SourceMs>)],
    /// Those that do not answer their scrape now.
    pub(super) down: &'a BTreeSet<TargetId>,
}

impl Alive<'_> {
    /// The last time before `first` at which the target was scraped without the series: in an earlier round, or in
    /// this one at a time that the answer covers.
    fn without_it(&self, target: TargetId, first: SourceMs, covered: SourceMs) -> Option<SourceMs> {
        let earlier = self.earlier.get(&target).into_iter().flatten();
        let now = self.now.iter().filter(|(t, _)| *t == target);
        let now = now.flat_map(|(_, times)| times).filter(|t| **t >= covered);
        earlier.chain(now).copied().filter(|t| *t < first).max()
    }
}

impl Part {
    pub(super) fn new(form: Form) -> Self {
        Self {
            form,
            tracks: BTreeMap::new(),
            known: HashSet::new(),
            answered: None,
            rhythm: VecDeque::new(),
            told_interval: None,
            partial: VecDeque::new(),
            targets: HashSet::new(),
            lacking: BTreeMap::new(),
            edges: None,
            spoiled: None,
            forgotten: SourceMs::MIN,
        }
    }

    /// Takes in an answer that was asked at `asked` on the source's clock.
    pub(super) fn add(
        &mut self,
        answer: &Answer,
        asked: SourceMs,
        interval: Option<Span>,
        alive: &Alive<'_>,
    ) {
        self.told_interval = interval.or(self.told_interval);
        if answer.partial {
            let since = self.answered.unwrap_or(answer.since).max(asked - 600_000);
            self.partial.push_back((since, asked));
        }
        // A series is only new if no moment between the answer before and this one went unseen.
        let seamless = !answer.summed && self.answered.is_some_and(|before| answer.since <= before);
        let from_zero = |series: &RawSeries, first: SourceMs| {
            let target = series.target.filter(|_| seamless)?;
            alive.without_it(target, first, answer.since)
        };
        match self.form {
            Form::Histogram => self.add_histograms(&answer.series, from_zero),
            Form::Counter | Form::Gauge => self.add_single(&answer.series, from_zero),
        }
        self.answered = Some(asked);
        self.note_down(answer, asked, alive.down);
    }

    /// A target that had samples here and is down now is lacked from its last sample on. If its next one comes before it would be
    /// taken for gone, nothing was missed. One that was down when it was first seen was never part of the whole.
    fn note_down(&mut self, answer: &Answer, asked: SourceMs, down: &BTreeSet<TargetId>) {
        let up = answer.series.iter().filter(|s| !s.samples.is_empty());
        for target in up.filter_map(|s| s.target).filter(|t| !down.contains(t)) {
            if self.targets.len() < MAX_SERIES {
                self.targets.insert(target);
            }
        }
        for target in down.iter().filter(|t| self.targets.contains(*t)) {
            if !self.lacking.contains_key(target) {
                let last = self.of(*target).filter_map(Track::newest).max();
                self.lacking.insert(*target, last.unwrap_or(asked));
            }
        }
        for (target, since) in std::mem::take(&mut self.lacking) {
            let gone_at = later(since, self.patience());
            let again = self
                .of(target)
                .filter_map(|t| t.inside(since, SourceMs::MAX).next());
            match again.map(|(time, _)| time).min() {
                _ if down.contains(&target) => {
                    self.lacking.insert(target, since);
                }
                Some(time) if time <= gone_at => {}
                None if asked <= gone_at => {
                    self.lacking.insert(target, since);
                }
                _ => self.partial.push_back((since, asked)),
            }
        }
    }

    fn of(&self, target: TargetId) -> impl Iterator<Item = &Track> {
        self.tracks().filter(move |t| t.target() == Some(target))
    }

    fn add_single(
        &mut self,
        series: &[RawSeries],
        from_zero: impl Fn(&RawSeries, SourceMs) -> Option<SourceMs>,
    ) {
        for one in series {
            let Some(first) = one.samples.first() else {
                continue;
            };
            let counter = self.form == Form::Counter;
            let Some(track) = self.track(one, 1, || from_zero(one, first.0).filter(|_| counter)) else {
                continue;
            };
            let mut gaps = Vec::new();
            for (time, value) in &one.samples {
                gaps.extend(match counter {
                    true => track.count(*time, &[*value]),
                    false => track.gauge(*time, *value),
                });
            }
            self.learn(&gaps);
        }
    }

    fn add_histograms(
        &mut self,
        series: &[RawSeries],
        from_zero: impl Fn(&RawSeries, SourceMs) -> Option<SourceMs>,
    ) {
        let mut groups: BTreeMap<SeriesId, Vec<&RawSeries>> = BTreeMap::new();
        for one in series {
            groups.entry(one.id).or_default().push(one);
        }
        for buckets in groups.into_values() {
            let newest = buckets.iter().filter_map(|b| b.samples.last()).map(|s| s.0).max();
            let Some(newest) = newest else { continue };
            let histogram = match Histogram::of(&buckets, self.edges.as_deref()) {
                Ok(histogram) => histogram,
                Err(why) => {
                    let first = self.spoiled.as_ref().map_or(newest, |s| s.0);
                    self.spoiled = Some((first, newest, why));
                    continue;
                }
            };
            let edges = self.edges.get_or_insert_with(|| histogram.edges.clone());
            let width = edges.len() + 1;
            let Some(first) = histogram.rows.first().map(|r| r.0) else {
                continue;
            };
            let Some(track) = self.track(buckets[0], width, || from_zero(buckets[0], first)) else {
                continue;
            };
            let gaps: Vec<i64> = histogram
                .rows
                .iter()
                .filter_map(|(time, row)| track.count(*time, row))
                .collect();
            self.learn(&gaps);
        }
    }

    /// The track of a series; a new one begins at zero if `zero_at` says when it stood there.
    fn track(
        &mut self,
        series: &RawSeries,
        width: usize,
        zero_at: impl FnOnce() -> Option<SourceMs>,
    ) -> Option<&mut Track> {
        let room = self.tracks.len() < MAX_SERIES;
        match self.tracks.entry(series.id) {
            std::collections::btree_map::Entry::Occupied(entry) => Some(entry.into_mut()),
            std::collections::btree_map::Entry::Vacant(_) if !room => None,
            std::collections::btree_map::Entry::Vacant(entry) => {
                let mut track = Track::new(series.target, width);
                // Past the bound nobody knows any more which series are new, so none is taken for new.
                let countable = self.known.len() < MAX_SERIES;
                if countable
                    && self.known.insert(series.id)
                    && let Some(zero) = zero_at()
                {
                    track.count_from_zero(zero);
                }
                Some(entry.insert(track))
            }
        }
    }

    fn learn(&mut self, gaps: &[i64]) {
        // Nine are enough for a median that one or two missed scrapes cannot move.
        self.rhythm.extend(gaps);
        let surplus = self.rhythm.len().saturating_sub(9);
        self.rhythm.drain(..surplus);
    }

    /// How often there are new samples: the median of the last gaps, or what the source told.
    pub(super) fn interval(&self) -> Span {
        let mut gaps: Vec<i64> = self.rhythm.iter().copied().collect();
        gaps.sort_unstable();
        match gaps.get(gaps.len() / 2) {
            Some(gap) => Span(gap.unsigned_abs()),
            None => self.told_interval.unwrap_or(UNKNOWN_INTERVAL),
        }
    }

    /// How long late samples are waited for, and how long a silent series is taken to be still there.
    pub(super) fn patience(&self) -> Span {
        (self.interval() * 3).clamp(PATIENCE.0, PATIENCE.1)
    }

    /// The time from which on a series must have a sample to be alive.
    pub(super) fn alive_since(&self) -> SourceMs {
        self.answered
            .map_or(SourceMs::MAX, |asked| earlier(asked, self.patience()))
    }

    pub(super) fn tracks(&self) -> impl Iterator<Item = &Track> {
        self.tracks.values()
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &Track> {
        let since = self.alive_since();
        self.tracks()
            .filter(move |t| t.newest().is_some_and(|n| n >= since))
    }

    pub(super) fn never_seen(&self) -> bool {
        self.known.is_empty()
    }

    pub(super) fn newest(&self) -> Option<SourceMs> {
        self.tracks().filter_map(Track::newest).max()
    }

    /// Whether every live series has reached `end`, so that nothing before it can come any more.
    pub(super) fn has_reached(&self, end: SourceMs) -> bool {
        let mut live = self.live().peekable();
        live.peek().is_some() && live.all(|t| t.newest().is_some_and(|n| n >= end))
    }

    /// Whether an incomplete answer, or a target that is down, touches the time between.
    pub(super) fn is_partial(&self, start: SourceMs, end: SourceMs) -> bool {
        self.partial.iter().any(|(from, to)| *from < end && *to > start)
            || self.lacking.values().any(|since| *since < end)
    }

    pub(super) fn was_not_a_number(&self, start: SourceMs) -> bool {
        self.tracks()
            .any(|t| t.not_a_number().is_some_and(|at| at > start))
    }

    /// The finite bucket edges, fixed at first sight.
    pub(super) fn edges(&self) -> Option<&[f64]> {
        self.edges.as_deref()
    }

    /// Why the histogram cannot be read between these times.
    pub(super) fn spoiled(&self, start: SourceMs, end: SourceMs) -> Option<&str> {
        let (first, last, why) = self.spoiled.as_ref()?;
        (*first <= end && *last > start).then_some(why)
    }

    /// Whether samples after `start` may be gone already.
    pub(super) fn has_forgotten(&self, start: SourceMs) -> bool {
        start < self.forgotten
    }

    /// Drops what no window to come needs; series without a sample since then are dropped whole.
    pub(super) fn forget_before(&mut self, edge: SourceMs) {
        self.forgotten = self.forgotten.max(edge);
        self.tracks
            .retain(|_, track| track.newest().is_some_and(|n| n > edge));
        for track in self.tracks.values_mut() {
            track.forget_before(edge);
        }
        while self.partial.front().is_some_and(|(_, to)| *to <= edge) {
            self.partial.pop_front();
        }
    }
}

/// `time` less `span`.
pub(super) fn earlier(time: SourceMs, span: Span) -> SourceMs {
    time.saturating_sub(SourceMs::try_from(span.0).unwrap_or(SourceMs::MAX))
}

/// `time` and `span` more.
pub(super) fn later(time: SourceMs, span: Span) -> SourceMs {
    time.saturating_add(SourceMs::try_from(span.0).unwrap_or(SourceMs::MAX))
}

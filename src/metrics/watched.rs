//! One query: from the samples of its selectors to numbers.

use super::{
    counts::{self, Counts, Limits},
    gauges,
    part::{Form, Part},
    quantile,
    wanted::Wanted,
};
use crate::model::{
    dashboard::{Agg, Read},
    sample::{Gap, Numbers, SourceMs},
    time::Span,
};

/// A query, its samples, and what they say.
#[derive(Debug)]
pub(super) struct Watched {
    wanted: Wanted,
    pub(super) parts: Vec<Part>,
    /// The last time something went wrong, and what.
    pub(super) problem: Option<(SourceMs, Gap)>,
}

impl Watched {
    pub(super) fn new(wanted: &Wanted) -> Self {
        let form = match wanted.read {
            Read::Ratio { .. } | Read::Rate { .. } | Read::Mean { .. } => Form::Counter,
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

    pub(super) fn interval(&self) -> Span {
        self.parts.iter().map(Part::interval).max().unwrap_or(Span::ZERO)
    }

    pub(super) fn patience(&self) -> Span {
        self.parts.iter().map(Part::patience).max().unwrap_or(Span::ZERO)
    }

    /// The newest time up to which every selector has samples.
    pub(super) fn newest(&self) -> Option<SourceMs> {
        let limits = self.limits();
        match limits.values().max() {
            Some(newest) => Some(*newest),
            None => self.parts.iter().filter_map(Part::newest).min(),
        }
    }

    fn limits(&self) -> Limits {
        counts::common_limits(&self.parts)
    }

    pub(super) fn numbers(&self, start: SourceMs, end: SourceMs) -> Result<(Numbers, u32), Gap> {
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
            Read::Mean { .. } => {
                let (mean, resets) = self.per_event(start, end)?;
                (Numbers::Gauge(mean), resets)
            }
            Read::Gauge { agg, .. } => (Numbers::Gauge(self.mean(*agg, start, end)?), 0),
            Read::Promql { .. } => (Numbers::Gauge(self.mean(Agg::Max, start, end)?), 0),
        })
    }

    pub(super) fn value(&self, start: SourceMs, end: SourceMs, window: Span) -> Result<f64, Gap> {
        match &self.wanted.read {
            Read::Rate { .. } => {
                let counts = self.count(0, start, end, &Limits::new())?;
                Ok(counts.events[0] / counts.seconds)
            }
            Read::Ratio { .. } => self.shares(start, end).map(|(good, total, _)| good / total),
            Read::Quantile { q, .. } => {
                self.unspoiled(start, SourceMs::MAX)?;
                let counts = self.histogram(start, end)?;
                let edges = self.parts[0].edges().unwrap_or_default();
                quantile::quantile(edges, &counts.events, *q).ok_or(Gap::NoTraffic)
            }
            Read::Mean { .. } => self.per_event(start, end).map(|(mean, _)| mean),
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

    /// The mean of what a histogram observed, and the resets of its counters.
    fn per_event(&self, start: SourceMs, end: SourceMs) -> Result<(f64, u32), Gap> {
        let limits = self.limits();
        let sum = self.count(0, start, end, &limits)?;
        let count = self.count(1, start, end, &limits)?;
        if count.events[0] <= 0.0 {
            return Err(Gap::NoTraffic);
        }
        Ok((sum.events[0] / count.events[0], count.resets))
    }

    fn histogram(&self, start: SourceMs, end: SourceMs) -> Result<Counts, Gap> {
        self.unspoiled(start, end)?;
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

    fn unspoiled(&self, start: SourceMs, end: SourceMs) -> Result<(), Gap> {
        match self.parts[0].spoiled(start, end) {
            Some(why) => Err(Gap::Source(format!("{why}: {}", self.wanted.text(0)))),
            None => Ok(()),
        }
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

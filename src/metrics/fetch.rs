//! What one round of a source gives: raw samples, and what went wrong.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use crate::model::{
    said::Said,
    sample::{Gap, Query, SourceMs},
    time::Span,
};

/// The most series that are read raw for one selector; above it a Prometheus server is asked to add them up.
pub(super) const MAX_RAW_SERIES: usize = 2_000;

/// The most series that are kept for one selector, however they come.
pub(super) const MAX_SERIES: usize = 20_000;

/// One round. It never fails as a whole: what went wrong is told per query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fetch {
    /// The source's clock when the round was asked. While a server cannot be reached it is carried on from its last answer.
    pub source_now: SourceMs,
    /// How often the source has new samples, as far as it is known.
    pub interval: Option<Span>,
    /// The answers, one a selector of a query.
    pub raw: Vec<Answer>,
    /// When scrape targets were seen alive.
    pub up: Vec<(TargetId, Vec<SourceMs>)>,
    /// The targets that do not answer their scrape now: what is added up of them and others lacks them. Empty when scraping:
    /// there the answers themselves say so.
    pub down: BTreeSet<TargetId>,
    /// What went wrong, by query.
    pub problems: Vec<(Query, Gap)>,
    /// Some answer was incomplete.
    pub partial: bool,
    /// What the source said besides, cut and cleaned for a screen.
    pub warnings: Vec<Said>,
}

/// The answer to one selector of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The query.
    pub query: Query,
    /// Which selector: 0, or for a ratio 0 good and 1 total.
    pub part: usize,
    /// Every sample since this time is in here (as far as the source had it). `SourceMs::MIN` if each scrape is seen whole.
    pub since: SourceMs,
    /// The server added the series up: they may not be taken for single ones.
    pub summed: bool,
    /// The source said that the answer is incomplete.
    pub partial: bool,
    /// The series. Shared, because many queries read the same selector.
    pub series: Arc<Vec<RawSeries>>,
}

/// One series and its samples, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct RawSeries {
    /// Its identity; for a histogram without `le`, so that the buckets of one histogram share it.
    pub id: SeriesId,
    /// The scrape target it comes from, if that is known.
    pub target: Option<TargetId>,
    /// The upper edge, for a bucket.
    pub le: Option<f64>,
    /// Time on the source's clock, and value. NaN is kept: it says that there was no observation.
    pub samples: Vec<(SourceMs, f64)>,
}

/// A series, by a 64-bit hash of its labels: among 100,000 series two share one once in four billion runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeriesId(u64);

/// A scrape target, by a 64-bit hash of what names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetId(u64);

impl SeriesId {
    /// The identity of a series with these labels, in this order.
    pub fn of<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self(hash_of(labels))
    }
}

impl TargetId {
    /// The target with these names, in this order.
    pub fn of<'a>(names: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self(hash_of(names))
    }
}

fn hash_of<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> u64 {
    // Fixed keys: the same series must have the same identity in every round.
    let mut hasher = DefaultHasher::new();
    for (name, value) in pairs {
        name.hash(&mut hasher);
        value.hash(&mut hasher);
    }
    hasher.finish()
}

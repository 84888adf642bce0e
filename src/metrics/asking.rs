//! What a Prometheus server is asked, and what becomes of its series.

use std::collections::BTreeMap;

use super::{
    answer::Series,
    fetch::{RawSeries, SeriesId, TargetId},
    wanted::Wanted,
};
use crate::model::{
    dashboard::{Agg, Read},
    said::Said,
    sample::SourceMs,
    time::Span,
};

/// A question, asked once however many queries need it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Ask {
    Raw { selector: String, form: RawForm },
    Promql(String),
}

/// What a selector's series are, as far as the question depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum RawForm {
    Counter,
    Histogram,
    Sum,
    Max,
    Avg,
}

impl RawForm {
    pub(super) fn agg(self) -> Option<Agg> {
        match self {
            RawForm::Counter | RawForm::Histogram => None,
            RawForm::Sum => Some(Agg::Sum),
            RawForm::Max => Some(Agg::Max),
            RawForm::Avg => Some(Agg::Avg),
        }
    }
}

/// The answer to a question.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) series: Vec<RawSeries>,
    pub(super) since: SourceMs,
    pub(super) summed: bool,
    pub(super) notes: Vec<Said>,
    pub(super) partial: bool,
}

/// The queries, by their place among the wanted, and the parts of them that use an answer.
pub(super) type Users = Vec<(usize, usize)>;

/// The questions behind the queries, each once, with the queries and parts that use its answer.
pub(super) fn asks(wanted: &[Wanted]) -> Vec<(Ask, Users)> {
    let mut out: BTreeMap<Ask, Users> = BTreeMap::new();
    for (i, w) in wanted.iter().enumerate() {
        let form = match &w.read {
            Read::Promql { query } => {
                out.entry(Ask::Promql(query.clone())).or_default().push((i, 0));
                continue;
            }
            Read::Ratio { .. } | Read::Rate { .. } | Read::Mean { .. } => RawForm::Counter,
            Read::Quantile { .. } => RawForm::Histogram,
            Read::Gauge { agg: Agg::Sum, .. } => RawForm::Sum,
            Read::Gauge { agg: Agg::Max, .. } => RawForm::Max,
            Read::Gauge { agg: Agg::Avg, .. } => RawForm::Avg,
        };
        for (part, selector) in w.selectors().into_iter().enumerate() {
            let selector = selector.promql();
            out.entry(Ask::Raw { selector, form })
                .or_default()
                .push((i, part));
        }
    }
    out.into_iter().collect()
}

pub(super) fn raw_series(series: Vec<Series>, form: RawForm) -> Vec<RawSeries> {
    let raw = |s: Series| {
        let label = |name: &str| s.labels.get(name).map(String::as_str);
        let in_id = |name: &str| !(form == RawForm::Histogram && name == "le");
        let pairs = s.labels.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        RawSeries {
            id: SeriesId::of(pairs.filter(|(n, _)| in_id(n))),
            target: target_of(&s),
            le: label("le").and_then(super::exposition::number),
            samples: s.samples,
        }
    };
    series.into_iter().map(raw).collect()
}

/// The scrape target of a series, as its labels name it.
pub(super) fn target_of(series: &Series) -> Option<TargetId> {
    let label = |name: &str| series.labels.get(name).map(String::as_str);
    let instance = label("instance").filter(|i| !i.is_empty())?;
    let names = [("job", label("job").unwrap_or("")), ("instance", instance)];
    Some(TargetId::of(names.into_iter()))
}

/// Each sample of a series is a sighting of its target.
pub(super) fn note_sightings(up: &mut BTreeMap<TargetId, Vec<SourceMs>>, reply: &Reply) {
    if reply.summed {
        return;
    }
    for series in &reply.series {
        let Some(target) = series.target else { continue };
        let seen = up.entry(target).or_default();
        for (time, _) in series.samples.iter().rev().take(4).rev() {
            if let Err(place) = seen.binary_search(time) {
                seen.insert(place, *time);
            }
        }
    }
}

pub(super) fn median_gap<'a>(series: impl Iterator<Item = &'a [(SourceMs, f64)]>) -> Option<Span> {
    let mut gaps: Vec<SourceMs> = series
        .filter_map(|s| match s {
            [.., a, b] => Some(b.0 - a.0),
            _ => None,
        })
        .collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).map(|gap| Span(gap.unsigned_abs()))
}

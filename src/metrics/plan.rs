//! What is looked for on the pages of instances.

use std::collections::HashMap;

use reqwest::Url;

use super::{
    error::MetricsError,
    exposition::{self, Line},
    fetch::{RawSeries, SeriesId, TargetId},
    matching::Matching,
    wanted::Wanted,
};
use crate::model::{
    dashboard::Read,
    ids::{InstanceName, ServiceName},
    sample::{Query, SourceMs},
    text::harmless,
};

/// An instance to scrape.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) service: ServiceName,
    pub(super) instance: InstanceName,
    pub(super) url: Url,
    pub(super) id: TargetId,
}

/// What is looked for on a page; made anew only when other things are wanted.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) wanted: Vec<Wanted>,
    pub(super) lookups: Vec<Lookup>,
    by_name: HashMap<String, Vec<usize>>,
    pub(super) problems: Vec<(Query, MetricsError)>,
}

/// One selector, and the queries and parts that need it.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) text: String,
    histogram: bool,
    matching: Matching,
    pub(super) users: Vec<(Query, usize)>,
}

impl Plan {
    pub(super) fn of(wanted: &[Wanted]) -> Self {
        let mut plan = Self {
            wanted: wanted.to_vec(),
            ..Self::default()
        };
        let mut places: HashMap<(String, bool), usize> = HashMap::new();
        for w in wanted {
            if let Read::Promql { query } = &w.read {
                let query = harmless(query, 200);
                plan.problems
                    .push((w.query.clone(), MetricsError::NeedsServer { query }));
            }
            let histogram = matches!(w.read, Read::Quantile { .. });
            for (part, selector) in w.selectors().into_iter().enumerate() {
                let text = selector.promql();
                let user = (w.query.clone(), part);
                if let Some(place) = places.get(&(text.clone(), histogram)) {
                    plan.lookups[*place].users.push(user);
                    continue;
                }
                match Matching::of(selector) {
                    Ok(matching) => {
                        let place = plan.lookups.len();
                        places.insert((text.clone(), histogram), place);
                        plan.by_name.entry(selector.name.clone()).or_default().push(place);
                        plan.lookups.push(Lookup {
                            text,
                            histogram,
                            matching,
                            users: vec![user],
                        });
                    }
                    Err(error) => plan.problems.push((w.query.clone(), error)),
                }
            }
        }
        plan
    }

    /// The series on a page, with the lookup that each is for. A page with a malformed line is not trusted at all.
    pub(super) fn read(
        &self,
        target: &Target,
        page: &str,
        now: SourceMs,
    ) -> Result<Vec<(usize, RawSeries)>, String> {
        let mut out = Vec::new();
        for line in exposition::samples(page, |name| self.by_name.contains_key(name)) {
            let line = line.map_err(|e| e.to_string())?;
            for place in &self.by_name[line.name] {
                let lookup = &self.lookups[*place];
                if lookup.matching.matches(|name| label(&line, target, name)) {
                    out.push((*place, raw(&line, target, lookup.histogram, now)));
                }
            }
        }
        Ok(out)
    }
}

/// A label of a line; `instance` and `service` are the target's if the line has none.
fn label<'a>(line: &'a Line<'_>, target: &'a Target, name: &str) -> Option<&'a str> {
    line.label(name).or(match name {
        "instance" => Some(target.instance.as_str()),
        "service" => Some(target.service.as_str()),
        "__name__" => Some(line.name),
        _ => None,
    })
}

fn raw(line: &Line<'_>, target: &Target, histogram: bool, now: SourceMs) -> RawSeries {
    let mut labels: Vec<(&str, &str)> = line
        .labels
        .iter()
        .map(|(name, value)| (*name, value.as_ref()))
        .filter(|(name, _)| !(histogram && *name == "le"))
        .collect();
    labels.sort_unstable();
    let names = [
        ("service", target.service.as_str()),
        ("instance", target.instance.as_str()),
        ("", line.name),
    ];
    // A target's clock may run ahead; a sample from the future would end windows too early.
    let time = line.time.unwrap_or(now).clamp(0, now.max(0));
    RawSeries {
        id: SeriesId::of(names.into_iter().chain(labels)),
        target: Some(target.id),
        le: line.label("le").and_then(exposition::number),
        samples: vec![(time, line.value)],
    }
}

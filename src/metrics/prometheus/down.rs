//! Which targets do not answer their scrape now. Their series end without a word, and a sum of several goes on without them.

use std::collections::{BTreeMap, HashSet};

use crate::{
    metrics::{
        answer::Series,
        asking::{Reply, Users, target_of},
        error::MetricsError,
        fetch::{MAX_SERIES, TargetId},
    },
    model::said::{Said, said},
};

/// What is asked for it, once a round. A target that was taken out of discovery has no `up`.
pub(super) const QUESTION: &str = "up == 0";

/// As many are told by their names in a round.
const TOLD: usize = 20;

/// The targets behind the answers, and which of them are down.
#[derive(Debug, Default)]
pub(super) struct Targets {
    seen: HashSet<TargetId>,
    down: BTreeMap<TargetId, Said>,
}

impl Targets {
    /// Takes in whose samples the answers have.
    pub(super) fn note(&mut self, replies: &[(Users, Result<Reply, MetricsError>)]) {
        let series = replies.iter().filter_map(|(_, r)| r.as_ref().ok());
        for target in series.flat_map(|r| &r.series).filter_map(|s| s.target) {
            if self.seen.len() < MAX_SERIES {
                self.seen.insert(target);
            }
        }
    }

    /// Whether there is anyone who could be down.
    pub(super) fn any(&self) -> bool {
        !self.seen.is_empty()
    }

    /// Takes in the answer to the question.
    pub(super) fn told(&mut self, series: &[Series], clean: impl Fn(&str) -> String) {
        let down = |s: &Series| s.samples.last().is_some_and(|(_, up)| *up == 0.0);
        let told = series.iter().filter(|s| down(s)).filter_map(|s| {
            let target = target_of(s).filter(|t| self.seen.contains(t))?;
            let label = |name: &str| clean(s.labels.get(name).map_or("", String::as_str));
            let (job, instance) = (label("job"), label("instance"));
            let said = said!(
                "{instance} of job `{job}` does not answer its scrape",
                "job `{job}` 的 {instance} 采集无应答"
            );
            Some((target, said))
        });
        self.down = told.collect();
    }

    /// Those that are down, by the last answer there was.
    pub(super) fn down(&self) -> impl Iterator<Item = TargetId> + '_ {
        self.down.keys().copied()
    }

    /// The same in words.
    pub(super) fn words(&self) -> impl Iterator<Item = Said> + '_ {
        self.down.values().take(TOLD).cloned()
    }
}

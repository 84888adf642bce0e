//! Quota changes that nobody answered: they may still take effect.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use tokio::time::Instant;

use crate::model::ids::ServerName;

/// A broker that has lost its controller keeps a change for a minute, and hands it on as soon as there is one again (KIP-590); the
/// rest is for the way.
pub const LANDS_WITHIN: Duration = Duration::from_secs(65);

/// By cluster, until when a change without an answer may land. One for all clients of a process.
#[derive(Debug, Clone, Default)]
pub struct Unanswered(Arc<RwLock<BTreeMap<ServerName, Instant>>>);

impl Unanswered {
    /// A change was sent just now, or may have been, and nobody knows what became of it.
    pub fn note(&self, cluster: &ServerName) {
        let until = Instant::now() + LANDS_WITHIN;
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(cluster.clone(), until);
    }

    /// For how long such a change may still take effect. `None`: what is read now stays so.
    pub fn may_land_for(&self, cluster: &ServerName) -> Option<Duration> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let until = all.get(cluster).copied()?;
        Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_without_an_answer_is_in_doubt_for_a_minute_and_no_other_cluster_with_it() {
        let (main, other) = (
            ServerName::new("main").unwrap(),
            ServerName::new("other").unwrap(),
        );
        let unanswered = Unanswered::default();
        assert_eq!(unanswered.may_land_for(&main), None);
        unanswered.clone().note(&main);
        assert_eq!(unanswered.may_land_for(&main), Some(LANDS_WITHIN));
        assert_eq!(unanswered.may_land_for(&other), None);
        tokio::time::advance(LANDS_WITHIN).await;
        assert_eq!(unanswered.may_land_for(&main), None);
    }
}

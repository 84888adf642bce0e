//! Changes at a cluster that nobody answered: they may still take effect.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use tokio::time::Instant;

use crate::model::ids::ClusterName;

/// A Kafka broker that has lost its controller keeps a change for a minute, and hands it on as soon as there is one again (KIP-590);
/// a change at a RocketMQ broker may wait as long on a way that is cut. The rest is for the way.
pub const LANDS_WITHIN: Duration = Duration::from_secs(65);

/// By cluster, until when a change without an answer may land. One for all clients of a process.
#[derive(Debug, Clone, Default)]
pub struct Unanswered(Arc<RwLock<BTreeMap<ClusterName, Instant>>>);

impl Unanswered {
    /// A change was sent just now, or may have been, and nobody knows what became of it.
    pub fn note(&self, cluster: &ClusterName) {
        let until = Instant::now() + LANDS_WITHIN;
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(cluster.clone(), until);
    }

    /// For how long such a change may still take effect. `None`: what is read now stays so.
    pub fn may_land_for(&self, cluster: &ClusterName) -> Option<Duration> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let until = all.get(cluster).copied()?;
        Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Waits until no such change can take effect any more.
    pub async fn landed(&self, cluster: &ClusterName) {
        while let Some(left) = self.may_land_for(cluster) {
            tokio::time::sleep(left).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::ServerName;

    #[tokio::test(start_paused = true)]
    async fn a_change_without_an_answer_is_in_doubt_for_a_minute_and_no_other_cluster_with_it() {
        let named = |name| ServerName::new(name).unwrap();
        let main = ClusterName::Kafka(named("main"));
        let others = [
            ClusterName::Kafka(named("other")),
            ClusterName::Rocketmq(named("main")),
        ];
        let unanswered = Unanswered::default();
        assert_eq!(unanswered.may_land_for(&main), None);
        unanswered.clone().note(&main);
        assert_eq!(unanswered.may_land_for(&main), Some(LANDS_WITHIN));
        for other in &others {
            assert_eq!(unanswered.may_land_for(other), None);
        }
        let begin = Instant::now();
        unanswered.landed(&main).await;
        assert!(begin.elapsed() >= LANDS_WITHIN);
        assert_eq!(unanswered.may_land_for(&main), None);
    }
}

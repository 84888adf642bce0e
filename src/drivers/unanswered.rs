//! Changes at a cluster that nobody answered: they may still take effect.
#![expect(
    clippy::disallowed_types,
    reason = "notes are taken and looked up where nothing waits, from a drop as well; poison is taken off"
)]

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use futures::{StreamExt, stream};
use tokio::time::Instant;

use super::error::{DriverError, Landing};
use crate::model::{ids::ClusterName, undo};

/// [`undo::LANDS_WITHIN`], for this module's clock.
pub const LANDS_WITHIN: Duration = Duration::from_millis(undo::LANDS_WITHIN.0);

/// How often it is looked whether a change can still take effect.
const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// How many changes are looked at at the same time.
const TOGETHER: usize = 32;

/// Until when each change without an answer may land: those of a cluster taken together, or each alone. One for all clients of a
/// process.
#[derive(Debug, Clone)]
pub struct Unanswered<K = ClusterName>(Arc<RwLock<BTreeMap<K, Instant>>>);

impl<K> Default for Unanswered<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Ord + Clone> Unanswered<K> {
    /// A change was sent just now, or may have been, and nobody knows what became of it.
    pub fn note(&self, change: &K) {
        let until = Instant::now() + LANDS_WITHIN;
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(change.clone(), until);
    }

    /// Sends a change, and notes it unless its answer tells what became of it: where that answer does not come, and where nobody waits
    /// for it any more.
    ///
    /// # Errors
    /// As `sending`.
    pub async fn sent<T>(
        &self,
        change: &K,
        sending: impl Future<Output = Result<T, DriverError>>,
    ) -> Result<T, DriverError> {
        let mut sent = Sent {
            by: self,
            unanswered: Some(change),
        };
        let ended = sending.await;
        if !ended.as_ref().is_err_and(|e| e.landing() == Landing::Unknown) {
            sent.unanswered = None;
        }
        ended
    }

    /// For how long such a change may still take effect. `None`: what is read now stays so.
    pub fn may_land_for(&self, change: &K) -> Option<Duration> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let until = all.get(change).copied()?;
        Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Waits until no such change can take effect any more.
    pub async fn landed(&self, change: &K) {
        while let Some(left) = self.may_land_for(change) {
            tokio::time::sleep(left).await;
        }
    }

    /// Waits until none of all changes can take effect any more: its time is over, or `may_land` has seen that it is not possible.
    pub async fn all_landed<F: Future<Output = bool>>(&self, may_land: impl Fn(K) -> F) {
        loop {
            let look = |change: K| self.rule_out(change.clone(), may_land(change));
            let looks: Vec<_> = self.all().into_iter().map(look).collect();
            stream::iter(looks)
                .buffer_unordered(TOGETHER)
                .collect::<Vec<()>>()
                .await;
            if self.all().is_empty() {
                return;
            }
            tokio::time::sleep(LOOKS_EVERY).await;
        }
    }

    /// What is ruled out once will not take effect later either.
    async fn rule_out(&self, change: K, may_land: impl Future<Output = bool>) {
        let Some(left) = self.may_land_for(&change) else {
            return;
        };
        if tokio::time::timeout(left, may_land).await == Ok(false) {
            self.0
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&change);
        }
    }

    /// All that may still take effect.
    fn all(&self) -> Vec<K> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let open = all.iter().filter(|(_, until)| **until > now);
        open.map(|(change, _)| change.clone()).collect()
    }
}

/// A change on its way. Whoever stops waiting for it leaves it unanswered.
struct Sent<'a, K: Ord + Clone> {
    by: &'a Unanswered<K>,
    unanswered: Option<&'a K>,
}

impl<K: Ord + Clone> Drop for Sent<'_, K> {
    fn drop(&mut self) {
        if let Some(change) = self.unanswered {
            self.by.note(change);
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

    #[tokio::test(start_paused = true)]
    async fn what_is_ruled_out_is_not_waited_for_and_what_is_not_only_for_a_minute() {
        let took = async |changes: &[&str], may_land: &dyn Fn(&str, Duration) -> bool| {
            let unanswered = Unanswered::<String>::default();
            for change in changes {
                unanswered.note(&(*change).to_owned());
            }
            let begin = Instant::now();
            unanswered
                .all_landed(async |change: String| may_land(&change, begin.elapsed()))
                .await;
            begin.elapsed()
        };
        let at_once = Duration::ZERO;
        assert_eq!(took(&[], &|_, _| true).await, at_once);
        assert_eq!(took(&["a", "b"], &|_, _| false).await, at_once);
        let ten = Duration::from_secs(10);
        assert_eq!(
            took(&["a", "b"], &|which, now| which == "b" && now < ten).await,
            ten
        );
        let for_ever = took(&["a", "b"], &|which, _| which == "b").await;
        assert!(for_ever >= LANDS_WITHIN && for_ever <= LANDS_WITHIN + LOOKS_EVERY);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_never_ends_keeps_nobody_waiting_longer() {
        let unanswered = Unanswered::<u8>::default();
        unanswered.note(&1);
        let begin = Instant::now();
        unanswered
            .all_landed(async |_| std::future::pending().await)
            .await;
        assert!(begin.elapsed() <= LANDS_WITHIN + LOOKS_EVERY);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_in_doubt_unless_its_answer_says_what_became_of_it() {
        let error = |why: fn(String) -> DriverError| Err::<(), _>(why("a change".into()));
        let timed_out = error(|what| DriverError::TimedOut {
            what,
            after: crate::model::time::Span::seconds(1),
        });
        let conflict = error(|what| DriverError::Setup {
            what,
            why: String::new(),
        });
        for (answer, in_doubt) in [(Ok(()), false), (conflict, false), (timed_out, true)] {
            let unanswered = Unanswered::<u8>::default();
            let shown = format!("{answer:?}");
            let ended = unanswered.sent(&1, async { answer }).await;
            assert_eq!(unanswered.may_land_for(&1).is_some(), in_doubt, "{shown}");
            assert_eq!(format!("{ended:?}"), shown);
        }
        let unanswered = Unanswered::<u8>::default();
        let nobody_waits = unanswered.sent(&1, std::future::pending::<Result<(), _>>());
        let waited = tokio::time::timeout(Duration::from_secs(1), nobody_waits).await;
        assert!(waited.is_err());
        assert_eq!(unanswered.may_land_for(&1), Some(LANDS_WITHIN));
    }
}

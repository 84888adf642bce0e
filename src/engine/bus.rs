//! What recovery steps, which run beside the engine, ask of it.
#![expect(
    clippy::disallowed_types,
    reason = "what is seen is written or copied and never held across a wait; poison is taken off"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock},
};

use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::{
    Done,
    recovery::{Bus, StepEnd},
};
use crate::model::{
    ids::{FaultId, InstanceName},
    playbook::SentinelRules,
    recovery::{StepId, StepState},
    said::{Said, said},
    sample::{Query, Reading},
    undo::ChangeIntent,
};

/// What steps may read at any moment: written by the engine, never held across a wait.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared(Arc<RwLock<Seen>>);

#[derive(Debug)]
struct Seen {
    readings: BTreeMap<Query, Reading>,
    bad_guard: Option<Said>,
    restarted: BTreeSet<InstanceName>,
    answered: BTreeSet<FaultId>,
    /// Lists of rules that were set, and whose set was not answered with success.
    unproved: BTreeSet<(InstanceName, SentinelRules)>,
    /// Pools that were given up.
    stuck: BTreeSet<Query>,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            readings: BTreeMap::new(),
            // Nothing has been read yet: that is no guard that holds.
            bad_guard: Some(said!("not read yet", "尚未读取")),
            restarted: BTreeSet::new(),
            answered: BTreeSet::new(),
            unproved: BTreeSet::new(),
            stuck: BTreeSet::new(),
        }
    }
}

impl Shared {
    fn write(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn read<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn set_readings(&self, readings: BTreeMap<Query, Reading>) {
        self.write(|seen| seen.readings = readings);
    }

    pub fn set_bad_guard(&self, which: Option<Said>) {
        self.write(|seen| seen.bad_guard = which);
    }

    pub fn note_restarted(&self, instances: impl IntoIterator<Item = InstanceName>) {
        self.write(|seen| seen.restarted.extend(instances));
    }

    pub fn note_unproved(&self, lists: impl IntoIterator<Item = (InstanceName, SentinelRules)>) {
        self.write(|seen| seen.unproved.extend(lists));
    }

    pub fn note_answered(&self, fault: &FaultId) {
        self.write(|seen| {
            seen.answered.insert(fault.clone());
        });
    }
}

pub(super) struct EngineBus {
    done: mpsc::UnboundedSender<Done>,
    shared: Shared,
}

impl EngineBus {
    pub fn new(done: mpsc::UnboundedSender<Done>, shared: Shared) -> Self {
        Self { done, shared }
    }
}

impl Bus for EngineBus {
    fn intend(&self, change: ChangeIntent) -> BoxFuture<'_, ()> {
        match &change {
            ChangeIntent::Restart { instance, .. } | ChangeIntent::Rollout { instance, .. } => {
                self.shared.note_restarted([instance.clone()]);
            }
            ChangeIntent::Rules { instance, rules, .. } => {
                self.shared.note_unproved([(instance.clone(), *rules)]);
            }
            _ => {}
        }
        Box::pin(async move {
            let (written, durable) = oneshot::channel();
            // An engine that is gone has no step left to run.
            let _ = self.done.send(Done::Intended { change, written });
            let _ = durable.await;
        })
    }

    fn progress(&self, step: StepId, state: StepState, detail: Said) {
        let _ = self.done.send(Done::Progress { step, state, detail });
    }

    fn go_on(&self, step: StepId, so_far: StepEnd) {
        let _ = self.done.send(Done::GoOn { step, so_far });
    }

    fn reading(&self, query: &Query) -> Option<Reading> {
        self.shared.read(|seen| seen.readings.get(query).cloned())
    }

    fn bad_guard(&self) -> Option<Said> {
        self.shared.read(|seen| seen.bad_guard.clone())
    }

    fn restarted(&self, instance: &InstanceName) -> bool {
        self.shared.read(|seen| seen.restarted.contains(instance))
    }

    fn rules_unproved(&self, instance: &InstanceName, rules: SentinelRules) -> bool {
        let list = (instance.clone(), rules);
        self.shared.read(|seen| seen.unproved.contains(&list))
    }

    fn rules_proved(&self, instance: &InstanceName, rules: SentinelRules) {
        let list = (instance.clone(), rules);
        self.shared
            .write(|seen| seen.unproved.retain(|known| *known != list));
    }

    fn is_stuck(&self, pool: &Query) -> bool {
        self.shared.read(|seen| seen.stuck.contains(pool))
    }

    fn stuck(&self, pool: &Query, stuck: bool) {
        self.shared.write(|seen| {
            seen.stuck.retain(|known| known != pool);
            seen.stuck.extend(stuck.then(|| pool.clone()));
        });
    }

    fn answered(&self, fault: &FaultId) -> bool {
        self.shared.read(|seen| seen.answered.contains(fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::MetricId;

    fn bus() -> EngineBus {
        EngineBus::new(mpsc::unbounded_channel().0, Shared::default())
    }

    #[tokio::test]
    async fn a_list_of_rules_is_unproved_from_its_intent_until_a_set_succeeds() {
        let (bus, order) = (bus(), InstanceName::new("order-0").unwrap());
        let rules = SentinelRules::Degrade;
        let change = ChangeIntent::Rules {
            instance: order.clone(),
            rules,
            count: 1,
        };
        assert!(!bus.rules_unproved(&order, rules));
        bus.intend(change).await;
        assert!(bus.rules_unproved(&order, rules));
        bus.rules_proved(&order, SentinelRules::Flow);
        assert!(bus.rules_unproved(&order, rules), "that was another list");
        bus.rules_proved(&order, rules);
        assert!(!bus.rules_unproved(&order, rules));
    }

    #[test]
    fn a_pool_that_was_given_up_is_stuck_until_it_is_seen_idle() {
        let (bus, pool) = (bus(), Query::new(&MetricId::new("busy").unwrap(), None));
        assert!(!bus.is_stuck(&pool));
        bus.stuck(&pool, true);
        assert!(bus.is_stuck(&pool));
        bus.stuck(&pool, false);
        assert!(!bus.is_stuck(&pool));
    }
}

//! A keeper in memory.

#![expect(
    clippy::disallowed_types,
    reason = "short locks that are held over no await: recovery tells its intents from plain code"
)]

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering::Relaxed},
    },
};

use allclear::{
    engine::recovery::{Bus, StepEnd},
    model::{
        amount::Level,
        ids::InstanceName,
        recovery::{StepId, StepState},
        said::Said,
        sample::{Query, Reading},
        time::Span,
        undo::ChangeIntent,
    },
};
use futures::future::BoxFuture;
use tokio::sync::Notify;

/// A keeper that writes everything down in memory, and can die at a change: then that change is written down and never made.
#[derive(Default)]
pub struct Ledger {
    pub(super) intents: Mutex<Vec<ChangeIntent>>,
    pub(super) said: Mutex<Vec<String>>,
    restarted: Mutex<BTreeSet<InstanceName>>,
    pub guard_is_bad: AtomicBool,
    /// What the metric of a pool says. Nothing else in recovery reads one.
    pub busy: AtomicI64,
    samples: AtomicI64,
    /// Changes until it dies; 0: it does not.
    pub(super) left: AtomicU32,
    pub(super) died: Notify,
    /// What happens right before a change is made.
    pub at_change: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Bus for Ledger {
    fn intend(&self, change: ChangeIntent) -> BoxFuture<'_, ()> {
        if let ChangeIntent::Restart { instance, .. } | ChangeIntent::Rollout { instance, .. } = &change {
            self.restarted.lock().unwrap().insert(instance.clone());
        }
        self.intents.lock().unwrap().push(change);
        if self.left.fetch_sub(1, Relaxed) == 1 {
            self.died.notify_one();
            return Box::pin(std::future::pending());
        }
        if let Some(happens) = self.at_change.get() {
            happens();
        }
        Box::pin(async {})
    }
    fn progress(&self, _: StepId, _: StepState, detail: Said) {
        self.said.lock().unwrap().push(detail.en().to_owned());
    }
    fn go_on(&self, _: StepId, _: StepEnd) {}
    fn reading(&self, _: &Query) -> Option<Reading> {
        Some(Reading {
            value: Ok(Level(self.busy.load(Relaxed) as f64)),
            age: Span::ZERO,
            sampled: self.samples.fetch_add(1, Relaxed),
            partial: false,
        })
    }
    fn bad_guard(&self) -> Option<Said> {
        let is_bad = self.guard_is_bad.load(Relaxed);
        is_bad.then(|| Said::as_it_is("order_success users 98%"))
    }
    fn restarted(&self, instance: &InstanceName) -> bool {
        self.restarted.lock().unwrap().contains(instance)
    }
}

//! Recovery's scene on real parts.

use std::{
    mem::take,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use allclear::{
    drivers::{Drivers, Patience},
    engine::recovery::{Scene, read_snapshot},
    model::{
        event::{Check, CheckOutcome},
        plan::Plan,
        secret::Secrets,
        snapshot::Snapshot,
        time::Span,
        undo::ChangeIntent,
    },
};

use super::Ledger;

/// Recovery's time limits as people have them, but for the looks.
pub const PATIENCE: Patience = Patience {
    connect: Span::seconds(2),
    call: Span::seconds(5),
    late: Span::seconds(6),
    step: Span::seconds(20),
    confirm: Span::seconds(60),
    guard: Span::seconds(120),
    poll: Span::millis(250),
};

/// Recovery's scene, and what was intended in it.
pub struct Staged {
    pub scene: Scene,
    pub ledger: Arc<Ledger>,
}

impl Staged {
    pub fn of(plan: Plan, secrets: Secrets, patience: Patience) -> Self {
        let ledger = Arc::new(Ledger::default());
        let scene = Scene {
            drivers: Arc::new(Drivers::with_patience(&plan, secrets, patience).unwrap()),
            plan: Arc::new(plan),
            snapshot: Arc::new(Snapshot::default()),
            bus: ledger.clone(),
        };
        Self { scene, ledger }
    }

    /// The keeper dies at the nth change from now on.
    pub fn dies_at(&self, nth: u32) {
        self.ledger.left.store(nth, Relaxed);
    }

    pub async fn died(&self) {
        self.ledger.died.notified().await;
    }

    pub fn lives(&self) {
        self.ledger.left.store(0, Relaxed);
    }

    /// All intents since the last call.
    pub fn intents(&self) -> Vec<ChangeIntent> {
        take(&mut *self.ledger.intents.lock().unwrap())
    }

    /// What was told while it worked.
    pub fn said(&self) -> Vec<String> {
        self.ledger.said.lock().unwrap().clone()
    }

    /// After preflight; its checks.
    pub async fn prepare(&mut self) -> Vec<Check> {
        let (snapshot, checks) = read_snapshot(&self.scene.plan, &self.scene.drivers).await;
        self.scene.snapshot = Arc::new(snapshot);
        checks
    }

    /// After a preflight that refused nothing.
    pub async fn ready(mut self) -> Self {
        let checks = self.prepare().await;
        assert!(
            checks.iter().all(|c| c.outcome != CheckOutcome::Refused),
            "{checks:?}"
        );
        self
    }

    /// What preflight refuses, each in one line.
    pub async fn refusals(mut self) -> Vec<String> {
        let checks = self.prepare().await.into_iter();
        let refused = checks.filter(|c| c.outcome == CheckOutcome::Refused);
        refused
            .map(|c| format!("{}: {}", c.what.en(), c.found.en()))
            .collect()
    }
}

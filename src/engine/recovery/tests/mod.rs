//! Recovery against real systems (Redis, HAProxy, nginx) and against services that answer as the documented ones do.

mod again;
mod bad_luck;
mod breakers;
mod commands;
mod documented;
mod faults;
mod faults_silent;
mod flags;
mod gateway;
mod gateway_luck;
mod gateway_nginx;
mod gateway_reload;
mod gateway_restore;
mod gateway_unseen;
mod haproxy_part;
mod pool_restarts;
mod pools;
mod pools_left;
mod preflight;
mod redis_luck;
mod redis_memory;
mod redis_moments;
mod redis_places;
mod redis_rights;
mod refused_restart;
mod registries;
mod retry;
mod rules;
mod stand;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::sync::{Semaphore, mpsc};

use super::*;
use crate::{
    drivers::{
        Patience,
        testing::{environment, nothing_to_do, plan},
    },
    model::{
        environment::Environment,
        ids::{RunId, ServiceName, StepName},
        playbook::Playbook,
        recovery::Certainty,
        secret::Secrets,
    },
};

/// What the keeper knows of a query.
type Readings = Box<dyn Fn(&Query) -> Option<Reading> + Send + Sync>;

/// A set that its readers share.
#[expect(clippy::disallowed_types, reason = "never held across a wait")]
pub(super) struct SharedSet<T>(std::sync::RwLock<std::collections::BTreeSet<T>>);

#[expect(clippy::disallowed_types, reason = "never held across a wait")]
impl<T: Ord> Default for SharedSet<T> {
    fn default() -> Self {
        Self(std::sync::RwLock::default())
    }
}

impl<T: Ord> SharedSet<T> {
    fn has(&self, item: &T) -> bool {
        self.0.read().unwrap().contains(item)
    }

    fn put(&self, item: T, there: bool) {
        let mut set = self.0.write().unwrap();
        set.retain(|known| *known != item);
        set.extend(there.then_some(item));
    }
}

/// A keeper that writes everything down in memory.
pub(super) struct Ledger {
    intents: mpsc::UnboundedSender<ChangeIntent>,
    went_on: mpsc::UnboundedSender<(StepId, StepEnd)>,
    reading: Readings,
    guard: Box<dyn Fn() -> Option<Said> + Send + Sync>,
    restarted: SharedSet<InstanceName>,
    unproved: SharedSet<(InstanceName, SentinelRules)>,
    stuck: SharedSet<Query>,
    answered: bool,
    /// A change goes on once it gets a permit.
    gate: Arc<Semaphore>,
    /// Whether the keeper dies at this intent.
    dies: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Bus for Ledger {
    fn intend(&self, change: ChangeIntent) -> BoxFuture<'_, ()> {
        if let ChangeIntent::Restart { instance, .. } | ChangeIntent::Rollout { instance, .. } = &change {
            self.restarted.put(instance.clone(), true);
        }
        if let ChangeIntent::Rules { instance, rules, .. } = &change {
            self.unproved.put((instance.clone(), *rules), true);
        }
        self.intents.send(change).unwrap();
        let dies = (self.dies)();
        Box::pin(async move {
            match dies {
                true => std::future::pending().await,
                false => self.gate.acquire().await.unwrap().forget(),
            }
        })
    }
    fn progress(&self, _: StepId, _: StepState, _: Said) {}
    fn go_on(&self, step: StepId, so_far: StepEnd) {
        // A test that does not look has dropped its end.
        let _ = self.went_on.send((step, so_far));
    }
    fn reading(&self, query: &Query) -> Option<Reading> {
        (self.reading)(query)
    }
    fn bad_guard(&self) -> Option<Said> {
        (self.guard)()
    }
    fn restarted(&self, instance: &InstanceName) -> bool {
        self.restarted.has(instance)
    }
    fn rules_unproved(&self, instance: &InstanceName, rules: SentinelRules) -> bool {
        self.unproved.has(&(instance.clone(), rules))
    }
    fn rules_proved(&self, instance: &InstanceName, rules: SentinelRules) {
        self.unproved.put((instance.clone(), rules), false);
    }
    fn is_stuck(&self, pool: &Query) -> bool {
        self.stuck.has(pool)
    }
    fn stuck(&self, pool: &Query, stuck: bool) {
        self.stuck.put(pool.clone(), stuck);
    }
    fn answered(&self, _: &FaultId) -> bool {
        self.answered
    }
}

/// A scene, and what was intended in it.
pub(super) struct Stage {
    pub scene: Scene,
    intents: mpsc::UnboundedReceiver<ChangeIntent>,
    pub went_on: mpsc::UnboundedReceiver<(StepId, StepEnd)>,
}

impl Stage {
    /// All intents since the last call.
    pub fn intents(&mut self) -> Vec<ChangeIntent> {
        std::iter::from_fn(|| self.intents.try_recv().ok()).collect()
    }

    /// The same scene after preflight.
    pub async fn with_snapshot_read(mut self) -> Self {
        let (snapshot, checks) = read_snapshot(&self.scene.plan, &self.scene.drivers).await;
        let refused: Vec<_> = checks
            .iter()
            .filter(|c| c.outcome == crate::model::event::CheckOutcome::Refused)
            .collect();
        assert!(refused.is_empty(), "{refused:?}");
        self.scene.snapshot = Arc::new(snapshot);
        self
    }
}

/// What the tests wait for: all of it short.
pub(super) const SHORT: Patience = Patience {
    connect: Span::millis(500),
    call: Span::millis(500),
    late: Span::millis(300),
    step: Span::millis(1500),
    confirm: Span::millis(1500),
    guard: Span::millis(600),
    poll: Span::millis(25),
};

pub(super) fn stage(environment: Environment, recovery: Playbook) -> Stage {
    stage_with(environment, recovery, |_| {}, Secrets::none(), SHORT)
}

pub(super) fn stage_with(
    environment: Environment,
    recovery: Playbook,
    change: impl FnOnce(&mut Ledger),
    secrets: Secrets,
    patience: Patience,
) -> Stage {
    staged(plan(environment, recovery), change, secrets, patience)
}

pub(super) fn staged(
    plan: Plan,
    change: impl FnOnce(&mut Ledger),
    secrets: Secrets,
    patience: Patience,
) -> Stage {
    let (sender, intents) = mpsc::unbounded_channel();
    let (go_on, went_on) = mpsc::unbounded_channel();
    let mut ledger = Ledger {
        intents: sender,
        went_on: go_on,
        reading: Box::new(|_| None),
        guard: Box::new(|| None),
        restarted: SharedSet::default(),
        unproved: SharedSet::default(),
        stuck: SharedSet::default(),
        answered: true,
        gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
        dies: Box::new(|| false),
    };
    change(&mut ledger);
    let scene = Scene {
        drivers: Arc::new(Drivers::with_patience(&plan, secrets, patience).unwrap()),
        plan: Arc::new(plan),
        snapshot: Arc::new(Snapshot::default()),
        bus: Arc::new(ledger),
    };
    Stage {
        scene,
        intents,
        went_on,
    }
}

pub(super) fn instance(name: &str) -> InstanceName {
    InstanceName::new(name).unwrap()
}

/// Types a command as a person would; its output.
pub(super) async fn type_by_hand(command: &str) -> String {
    let output = tokio::process::Command::new("sh")
        .args(["-c", command])
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(
        output.status.success(),
        "`{command}` failed: {text}\n(the tests need: apt-get install -y curl socat redis-tools)"
    );
    text
}

#[test]
fn every_step_can_run_on_any_thread() {
    fn sendable<T: Send>(_: impl FnOnce(&'static Scene) -> T) {}
    sendable(|s| super::faults(s, &[]));
    sendable(|s| end_faults(s, &[]));
    sendable(injector);
    sendable(|s| drain(s, true));
    sendable(breakers_open);
    sendable(super::flags);
    sendable(hold_retry);
    sendable(super::pools);
    sendable(traffic);
    sendable(release_retry);
    sendable(left_behind);
    sendable(needs_repair);
    sendable(|s| read_snapshot(&s.plan, &s.drivers));
    sendable(|s| read_again(&s.plan, &s.drivers, &s.snapshot));
}

#[tokio::test]
async fn one_that_hangs_keeps_no_other_waiting_and_the_results_stay_in_order() {
    let count = TOGETHER * 3;
    let (end, mut first_ends) = tokio::sync::mpsc::unbounded_channel();
    // The first one ends when the last one has been carried out.
    let first = async {
        first_ends.recv().await.unwrap();
        0
    };
    let others = (1..count).map(|n| {
        let end = end.clone();
        async move {
            if n == count - 1 {
                end.send(()).unwrap();
            }
            n
        }
    });
    let all = std::iter::once(first.left_future()).chain(others.map(FutureExt::right_future));
    let ended = tokio::time::timeout(std::time::Duration::from_secs(30), together(all)).await;
    assert_eq!(
        ended.expect("nobody waits for the first"),
        (0..count).collect::<Vec<_>>()
    );
}

#[tokio::test(start_paused = true)]
async fn preflight_asks_many_at_once_but_never_all() {
    let under_way = std::cell::Cell::new(0);
    let most = std::cell::Cell::new(0);
    let begin = Instant::now();
    let asked = (0..100).map(async |n| {
        under_way.set(under_way.get() + 1);
        most.set(most.get().max(under_way.get()));
        // The later ones answer sooner.
        tokio::time::sleep(Span::millis(1000 - n).into()).await;
        under_way.set(under_way.get() - 1);
        n
    });
    let answers = gently(asked).await;
    assert_eq!(
        answers,
        (0..100).collect::<Vec<_>>(),
        "in the order of the targets"
    );
    assert_eq!(most.get(), GENTLY);
    assert!(elapsed(begin) <= Span::seconds(4), "{}", elapsed(begin));
}

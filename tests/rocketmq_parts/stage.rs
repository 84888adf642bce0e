//! Recovery's scene on real servers, and what is intended in it.

#![expect(
    clippy::disallowed_types,
    reason = "short locks that are held over no await: recovery tells its intents from plain code"
)]

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
};

use allclear::{
    drivers::{Drivers, Patience, rocketmq::RocketmqCluster},
    engine::recovery::{Bus, Scene, StepEnd, read_snapshot},
    model::{
        dashboard::Dashboard,
        drill::{Drill, Guard, Targets},
        environment::{Environment, MetricsSource, Rocketmq, Stage},
        event::{Check, CheckOutcome},
        ids::{DashboardName, DrillName, EnvironmentName, InstanceName, RunId, ServerName, ServiceName},
        plan::{Plan, Purpose},
        playbook::{Playbook, RetryQueue, RocketmqQueue},
        recovery::{StepId, StepState},
        sample::{Query, Reading},
        secret::Secrets,
        snapshot::Snapshot,
        text::{Lang, Localized},
        time::Span,
        undo::ChangeIntent,
    },
};
use futures::future::BoxFuture;
use tokio::sync::Notify;

use crate::part::{BROKERS, Consumer, Part, until};

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

/// A keeper that writes everything down in memory, and can die at a change: then that change is written down and never made.
pub struct Ledger {
    intents: Mutex<Vec<ChangeIntent>>,
    pub guard_is_bad: AtomicBool,
    left: AtomicU32,
    died: Notify,
    said: Mutex<Vec<String>>,
}

impl Bus for Ledger {
    fn intend(&self, change: ChangeIntent) -> BoxFuture<'_, ()> {
        self.intents.lock().unwrap().push(change);
        if self.left.fetch_sub(1, Relaxed) == 1 {
            self.died.notify_one();
            return Box::pin(std::future::pending());
        }
        Box::pin(async {})
    }
    fn progress(&self, _: StepId, _: StepState, detail: String) {
        self.said.lock().unwrap().push(detail);
    }
    fn go_on(&self, _: StepId, _: StepEnd) {}
    fn reading(&self, _: &Query) -> Option<Reading> {
        None
    }
    fn guard_holds(&self) -> Option<String> {
        let is_bad = self.guard_is_bad.load(Relaxed);
        is_bad.then(|| "order_success users 98%".to_owned())
    }
    fn restarted(&self, _: &InstanceName) -> bool {
        false
    }
}

/// Recovery's scene.
pub struct Staged {
    pub scene: Scene,
    pub ledger: Arc<Ledger>,
}

impl Staged {
    pub fn new(rocketmq: Rocketmq, queue: RocketmqQueue) -> Self {
        Self::with(rocketmq, queue, Secrets::none(), PATIENCE)
    }

    pub fn with(rocketmq: Rocketmq, queue: RocketmqQueue, secrets: Secrets, patience: Patience) -> Self {
        let ledger = Arc::new(Ledger {
            intents: Mutex::default(),
            guard_is_bad: AtomicBool::new(false),
            left: AtomicU32::new(u32::MAX),
            died: Notify::new(),
            said: Mutex::default(),
        });
        let plan = plan(rocketmq, queue);
        let scene = Scene {
            drivers: Arc::new(Drivers::with_patience(&plan, secrets, patience).unwrap()),
            plan: Arc::new(plan),
            snapshot: Arc::new(Snapshot::default()),
            bus: ledger.clone(),
        };
        Staged { scene, ledger }
    }

    /// The keeper dies at the nth change from now on.
    pub fn dies_at(&self, nth: u32) {
        self.ledger.left.store(nth, Relaxed);
    }

    pub async fn died(&self) {
        self.ledger.died.notified().await;
    }

    pub fn lives(&self) {
        self.ledger.left.store(u32::MAX, Relaxed);
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

    pub fn intents(&self) -> Vec<ChangeIntent> {
        self.ledger.intents.lock().unwrap().clone()
    }

    /// What was told while it worked.
    pub fn said(&self) -> Vec<String> {
        self.ledger.said.lock().unwrap().clone()
    }

    pub fn cluster(&self) -> RocketmqCluster {
        self.scene.drivers.rocketmq(&main()).unwrap()
    }

    pub fn queue(&self) -> &RocketmqQueue {
        let RetryQueue::Rocketmq(queue) = &self.scene.plan.drill.recovery.retry_queues[0] else {
            unreachable!()
        };
        queue
    }

    pub async fn backlog(&self, part: &Part) -> u64 {
        let (cluster, queue) = (self.cluster(), self.queue());
        let mut backlog = 0;
        for broker in BROKERS {
            let offsets = cluster
                .offsets(&part.broker(broker), &queue.group, &queue.topic)
                .await
                .unwrap();
            backlog += offsets.backlog();
        }
        backlog
    }

    pub async fn until_backlog(&self, part: &Part, wanted: impl Fn(u64) -> bool) {
        until("backlog", async || wanted(self.backlog(part).await)).await;
    }
}

pub fn main() -> ServerName {
    ServerName::new("main").unwrap()
}

/// The retry topic of a group.
pub fn queue(group: &str, rate: f64, within: Span) -> RocketmqQueue {
    RocketmqQueue {
        cluster: main(),
        group: group.to_owned(),
        topic: RocketmqQueue::retry_topic(group),
        rate,
        within,
    }
}

/// A group of this name that has worked off what it had, with its consumer, after preflight.
pub async fn caught_up(part: &Part, group: &str, rate: f64, within: Span) -> (Staged, Consumer) {
    let topic = format!("topic-{group}");
    part.create(&BROKERS, &topic, group).await;
    let consumer = part.consume(&topic, group, &["ahead=64", "each=20", "threads=12"]);
    // Sent in batches, unlike those of a retry topic.
    let mut queue = queue(group, rate, within);
    queue.topic = topic;
    let staged = Staged::new(part.open(), queue);
    part.produce(&staged.queue().topic, 20).await;
    staged.until_backlog(part, |n| n == 0).await;
    (staged.ready().await, consumer)
}

/// A storm of retries that the consumer has not worked off: it is off while they come.
pub async fn storm(part: &Part, staged: &Staged, messages: u32) {
    let (cluster, queue) = (staged.cluster(), staged.queue());
    let switch = async |on: bool| {
        for broker in BROKERS {
            let address = part.broker(broker);
            let config = cluster.config(&address, &queue.group).await.unwrap();
            cluster
                .write(&address, &queue.group, &config.switched(on))
                .await
                .unwrap();
        }
    };
    switch(false).await;
    part.produce(&queue.topic, messages).await;
    staged.until_backlog(part, |n| n >= u64::from(messages) / 2).await;
    switch(true).await;
}

fn plan(rocketmq: Rocketmq, queue: RocketmqQueue) -> Plan {
    let environment = Environment {
        name: EnvironmentName::new("here").unwrap(),
        stage: Stage::Practice,
        metrics: MetricsSource::Scrape {
            every: Span::seconds(1),
            path: "/metrics".into(),
        },
        services: BTreeMap::new(),
        redis: BTreeMap::new(),
        kafka: BTreeMap::new(),
        kubernetes: None,
        rocketmq: BTreeMap::from([(main(), rocketmq)]),
        gateways: BTreeMap::new(),
        notify: Vec::new(),
    };
    Plan {
        run: RunId::new("7f3a").unwrap(),
        drill: Drill {
            name: DrillName::new("retry-storm").unwrap(),
            title: Localized::plain("t"),
            hypothesis: Localized::plain("h"),
            dashboard: Dashboard {
                name: DashboardName::new("shop").unwrap(),
                scopes: Vec::new(),
                metrics: Vec::new(),
                panels: Vec::new(),
                topology: Vec::new(),
            },
            risk: None,
            baseline: Span::seconds(1),
            window: Span::seconds(1),
            settle: None,
            guard: Guard {
                every: Span::seconds(1),
                samples: 3,
                steady_state: Vec::new(),
                tripwires: Vec::new(),
            },
            targets: Targets {
                service: ServiceName::new("order").unwrap(),
                instances: Vec::new(),
            },
            steps: Vec::new(),
            recovery: Playbook {
                gateway: None,
                breakers: Vec::new(),
                flags: Vec::new(),
                retry_queues: vec![RetryQueue::Rocketmq(queue)],
                pools: Vec::new(),
                commands: Vec::new(),
                hold: Span::seconds(1),
                verify_within: Span::seconds(5),
            },
            accept_no_expiry: false,
        },
        drill_source: String::new(),
        drill_folder: "/".into(),
        environment,
        started_by: "someone".into(),
        purpose: Purpose::Drill,
        attended: true,
        lang: Lang::En,
        allclear_version: "0".into(),
    }
}

//! A real broker, real consumers, and recovery against them.

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, LazyLock, Weak,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use allclear::{
    drivers::{Drivers, Patience, kafka::KafkaCluster},
    engine::recovery::{Bus, Scene, StepEnd, read_snapshot},
    model::{
        dashboard::Dashboard,
        drill::{Drill, Guard, Targets},
        environment::{Environment, Kafka, MetricsSource, Stage},
        event::{Check, CheckOutcome},
        ids::{DashboardName, DrillName, EnvironmentName, InstanceName, RunId, ServerName, ServiceName},
        plan::{Plan, Purpose},
        playbook::{KafkaQueue, OffsetReset, Playbook, QueueHold, RetryQueue},
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
use tokio::{
    sync::{Mutex, Notify, mpsc},
    time::Instant,
};

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

/// A broker on ports of its own; its data are gone when it is dropped.
pub struct Broker {
    pub dir: PathBuf,
    pub port: u16,
}

static SHARED: LazyLock<Mutex<Weak<Broker>>> = LazyLock::new(Mutex::default);

/// The broker that all tests share which leave it as it is; it ends with the last of them.
pub async fn shared() -> Arc<Broker> {
    let mut shared = SHARED.lock().await;
    if let Some(broker) = shared.upgrade() {
        return broker;
    }
    let broker = Arc::new(Broker::start().await);
    *shared = Arc::downgrade(&broker);
    broker
}

impl Broker {
    pub async fn start() -> Broker {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("kafka-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let broker = Broker {
            dir,
            port: free_ports(),
        };
        broker.part("up").await;
        broker
    }

    /// `up`, `down` or `kill`.
    pub async fn part(&self, what: &'static str) {
        let mut command = self.script(what);
        let ended = tokio::task::spawn_blocking(move || command.output())
            .await
            .unwrap()
            .unwrap();
        assert!(
            ended.status.success(),
            "scripts/part/kafka {what}: {}{}",
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr)
        );
    }

    fn script(&self, what: &str) -> Command {
        let mut command = Command::new(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/part/kafka"));
        command
            .arg(what)
            .env("PART_DIR", &self.dir)
            .env("PART_PORT", self.port.to_string());
        command
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn plaintext(&self) -> Kafka {
        Kafka {
            bootstrap: vec![self.address()],
            tls: None,
            sasl: None,
        }
    }

    /// Runs one of Kafka's own tools; what it prints.
    pub async fn tool(&self, name: &str, args: &str) -> String {
        let mut command = Command::new(self.dir.join(format!("bin/kafka-{name}.sh")));
        command
            .args(["--bootstrap-server", &self.address()])
            .args(args.split(' '));
        let ended = tokio::task::spawn_blocking(move || command.output())
            .await
            .unwrap()
            .unwrap();
        let text = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        assert!(ended.status.success(), "{name} {args}: {text}");
        text
    }

    /// Types a command as a person with Kafka's tools would.
    pub async fn by_hand(&self, line: &str, variables: &[(&str, &str)]) -> String {
        let path = format!(
            "{}:{}",
            self.dir.join("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .env("PATH", path)
            .envs(variables.iter().copied());
        let ended = tokio::task::spawn_blocking(move || command.output())
            .await
            .unwrap()
            .unwrap();
        let text = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        assert!(ended.status.success(), "`{line}`: {text}");
        text
    }

    pub async fn topic(&self, name: &str, partitions: u32) {
        self.tool(
            "topics",
            &format!("--create --topic {name} --partitions {partitions}"),
        )
        .await;
    }

    pub async fn produce(&self, topic: &str, messages: u32, bytes: u32) {
        let args = format!("--topic {topic} --num-records {messages} --record-size {bytes} --throughput -1");
        self.tool("producer-perf-test", &args).await;
    }

    /// A real consumer of the group with this client id, in the background.
    pub fn consume(&self, topic: &str, group: &str, client: &str, settings: &[&str]) -> Consumer {
        let mut command = Command::new(self.dir.join("bin/kafka-console-consumer.sh"));
        let commit = "auto.commit.interval.ms=1000";
        command.args([
            "--bootstrap-server",
            &self.address(),
            "--topic",
            topic,
            "--group",
            group,
        ]);
        for setting in [
            &format!("client.id={client}"),
            commit,
            "auto.offset.reset=earliest",
        ]
        .into_iter()
        .chain(settings.iter().copied())
        {
            command.args(["--command-property", setting]);
        }
        let log = fs::File::create(self.dir.join(format!("{client}.log"))).unwrap();
        let consumer = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Consumer(consumer)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.script("down").output();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A consumer's process; it ends when dropped.
pub struct Consumer(Child);

impl Drop for Consumer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first of five free ports; no two brokers of this process get the same.
pub fn free_ports() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let nth = std::process::id() % 200 * 10 + NEXT.fetch_add(1, Relaxed);
        let base = 20_000 + (nth % 2000) as u16 * 5;
        let held: Vec<_> = (base..base + 5)
            .map(|port| TcpListener::bind(("127.0.0.1", port)))
            .collect();
        if held.iter().all(Result::is_ok) {
            return base;
        }
    }
}

/// A keeper that writes everything down in memory, and can die at a change: then that change is written down and never made.
pub struct Ledger {
    intents: mpsc::UnboundedSender<ChangeIntent>,
    pub guard_is_bad: AtomicBool,
    left: AtomicU32,
    died: Notify,
}

impl Bus for Ledger {
    fn intend(&self, change: ChangeIntent) -> BoxFuture<'_, ()> {
        self.intents.send(change).unwrap();
        if self.left.fetch_sub(1, Relaxed) == 1 {
            self.died.notify_one();
            return Box::pin(std::future::pending());
        }
        Box::pin(async {})
    }
    fn progress(&self, _: StepId, _: StepState, _: String) {}
    fn go_on(&self, _: StepId, _: StepEnd) {}
    fn reading(&self, _: &Query) -> Option<Reading> {
        None
    }
    fn guard_holds(&self) -> Option<String> {
        self.guard_is_bad
            .load(Relaxed)
            .then(|| "order_success users 98%".to_owned())
    }
    fn restarted(&self, _: &InstanceName) -> bool {
        false
    }
}

/// Recovery's scene, and what was intended in it.
pub struct Staged {
    pub scene: Scene,
    pub ledger: Arc<Ledger>,
    intents: mpsc::UnboundedReceiver<ChangeIntent>,
}

impl Staged {
    pub fn new(kafka: Kafka, queue: KafkaQueue) -> Self {
        Self::with(kafka, queue, Secrets::none())
    }

    pub fn with(kafka: Kafka, queue: KafkaQueue, secrets: Secrets) -> Self {
        Self::whole(kafka, queue, secrets, PATIENCE)
    }

    pub fn whole(kafka: Kafka, queue: KafkaQueue, secrets: Secrets, patience: Patience) -> Self {
        let (sender, intents) = mpsc::unbounded_channel();
        let ledger = Arc::new(Ledger {
            intents: sender,
            guard_is_bad: AtomicBool::new(false),
            left: AtomicU32::new(u32::MAX),
            died: Notify::new(),
        });
        let plan = plan(kafka, queue);
        let scene = Scene {
            drivers: Arc::new(Drivers::with_patience(&plan, secrets, patience).unwrap()),
            plan: Arc::new(plan),
            snapshot: Arc::new(Snapshot::default()),
            bus: ledger.clone(),
        };
        Staged {
            scene,
            ledger,
            intents,
        }
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

    /// All intents since the last call.
    pub fn intents(&mut self) -> Vec<ChangeIntent> {
        std::iter::from_fn(|| self.intents.try_recv().ok()).collect()
    }

    pub fn cluster(&self) -> KafkaCluster {
        self.scene.drivers.kafka(&main()).unwrap()
    }

    pub async fn backlog(&self) -> u64 {
        let RetryQueue::Kafka(queue) = &self.scene.plan.drill.recovery.retry_queues[0] else {
            unreachable!()
        };
        let seen = self
            .cluster()
            .position(&queue.topic, &queue.group, queue.reset)
            .await;
        seen.map_or(u64::MAX, |p| p.backlog())
    }

    /// Waits until the backlog is as wanted.
    pub async fn until_backlog(&self, wanted: impl Fn(u64) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let now = self.backlog().await;
            if wanted(now) {
                return;
            }
            assert!(Instant::now() < deadline, "backlog {now}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// What a release was measured to let go, in messages a second.
#[derive(Debug, Clone, Copy)]
pub struct Minutes {
    pub first: f64,
    pub least: f64,
    pub most: f64,
}

/// Runs a release and watches the group meanwhile; its first minute, and the least and the most of any.
pub async fn minutes(staged: &Staged, release: impl Future<Output = StepEnd>) -> (StepEnd, Minutes) {
    let (first, begin) = (staged.backlog().await, Instant::now());
    let mut seen: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    let watch = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let moved = first.saturating_sub(staged.backlog().await);
            seen.push((begin.elapsed().as_secs_f64(), moved as f64));
        }
    };
    let end = tokio::select! {
        end = release => end,
        () = watch => unreachable!("it watches for ever"),
    };
    // At the end the quota is gone: what comes then is no release any more.
    let whole = seen.last().map_or(0.0, |(_, moved)| *moved);
    seen.retain(|(_, moved)| *moved < 0.98 * whole);
    let minutes: Vec<f64> = seen
        .iter()
        .filter_map(|(at, moved)| {
            let (then, there) = seen.iter().find(|(then, _)| then - at >= 60.0)?;
            Some((there - moved) / (then - at))
        })
        .collect();
    let measured = Minutes {
        first: minutes.first().copied().unwrap_or_default(),
        least: minutes.iter().copied().fold(f64::MAX, f64::min),
        most: minutes.iter().copied().fold(0.0, f64::max),
    };
    (end, measured)
}

pub fn main() -> ServerName {
    ServerName::new("main").unwrap()
}

/// A queue of this name for topic, group and client id.
pub fn queue(name: &str, rate: f64, within: Span) -> KafkaQueue {
    KafkaQueue {
        cluster: main(),
        topic: name.to_owned(),
        group: name.to_owned(),
        reset: OffsetReset::Earliest,
        user: None,
        clients: vec![name.to_owned()],
        rate,
        within,
        hold: QueueHold::Quota,
    }
}

fn plan(kafka: Kafka, queue: KafkaQueue) -> Plan {
    let environment = Environment {
        name: EnvironmentName::new("here").unwrap(),
        stage: Stage::Practice,
        metrics: MetricsSource::Scrape {
            every: Span::seconds(1),
            path: "/metrics".into(),
        },
        services: BTreeMap::new(),
        redis: BTreeMap::new(),
        kafka: BTreeMap::from([(main(), kafka)]),
        rocketmq: BTreeMap::new(),
        kubernetes: None,
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
                retry_queues: vec![RetryQueue::Kafka(queue)],
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

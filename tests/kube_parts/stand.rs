//! A real control plane whose pods run nowhere, and recovery against it.

#![expect(
    clippy::disallowed_types,
    reason = "short locks that are held over no await: recovery tells its intents from plain code"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, LazyLock, Mutex as Shortly, Weak,
        atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use allclear::{
    drivers::{Drivers, Patience},
    engine::recovery::{Bus, Scene, StepEnd, read_snapshot},
    model::{
        amount::Level,
        dashboard::Dashboard,
        drill::{Drill, Guard, Targets},
        environment::{Environment, Kafka, Kubernetes, MetricsSource, Stage},
        event::{Check, CheckOutcome},
        ids::{
            DashboardName, DrillName, EnvironmentName, InstanceName, MetricId, Namespace, RunId, ServiceName,
        },
        plan::{Plan, Purpose},
        playbook::{Gateway, Playbook, PodGateway, PodsOf, PoolDrain, Restart},
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
use serde_json::Value;
use tokio::sync::{Mutex, Notify, mpsc};

/// Recovery's time limits as people have them, but for the looks.
pub const PATIENCE: Patience = Patience {
    connect: Span::seconds(2),
    call: Span::seconds(5),
    late: Span::seconds(6),
    step: Span::seconds(20),
    confirm: Span::seconds(60),
    guard: Span::seconds(120),
    poll: Span::millis(100),
};

/// A control plane on ports of its own; its data are gone when it is dropped.
pub struct Cluster {
    pub dir: PathBuf,
    pub port: u16,
}

static SHARED: LazyLock<Mutex<Weak<Cluster>>> = LazyLock::new(Mutex::default);

/// The control plane that all tests share which leave it up; it ends with the last of them.
pub async fn shared() -> Arc<Cluster> {
    let mut shared = SHARED.lock().await;
    if let Some(cluster) = shared.upgrade() {
        return cluster;
    }
    let cluster = Arc::new(Cluster::start().await);
    *shared = Arc::downgrade(&cluster);
    cluster
}

impl Cluster {
    pub async fn start() -> Cluster {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "kubernetes-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Relaxed)
        );
        let cluster = Cluster {
            dir: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name),
            port: crate::kafka::free_ports(),
        };
        cluster.part("up").await;
        cluster
    }

    /// `up`, `down` or `kill`.
    pub async fn part(&self, what: &'static str) {
        run(self.script(what), None).await;
    }

    fn script(&self, what: &str) -> Command {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/part/kubernetes");
        let mut command = Command::new(script);
        command
            .arg(what)
            .env("PART_DIR", &self.dir)
            .env("PART_PORT", self.port.to_string());
        command
    }

    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.dir.join(format!("{user}.kubeconfig"))
    }

    /// The cluster as a user sees it.
    pub fn of(&self, user: &str) -> Kubernetes {
        at(&self.kubeconfig(user))
    }

    /// A user's kubeconfig with another address in it.
    pub fn behind(&self, user: &str, server: &str) -> Kubernetes {
        let own = fs::read_to_string(self.kubeconfig(user)).unwrap();
        let other = own.replace(&format!("https://127.0.0.1:{}", self.port), server);
        assert_ne!(own, other);
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = self
            .dir
            .join(format!("{user}-{}.kubeconfig", COUNT.fetch_add(1, Relaxed)));
        fs::write(&path, other).unwrap();
        at(&path)
    }

    /// What `kubectl` prints in namespace shop, as admin: the system's own tool, never allclear's driver.
    pub async fn kubectl(&self, args: &str) -> String {
        self.kubectl_with(args, None).await
    }

    async fn kubectl_with(&self, args: &str, input: Option<String>) -> String {
        let mut command = Command::new("kubectl");
        let kubeconfig = self.kubeconfig("admin");
        command
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["-n", "shop"])
            .args(args.split(' '));
        run(command, input).await
    }

    pub async fn apply(&self, yaml: String) {
        self.kubectl_with("apply -f -", Some(yaml)).await;
    }

    /// One field of one object.
    pub async fn field(&self, what: &str, path: &str) -> String {
        self.kubectl(&format!("get {what} -o jsonpath={{{path}}}")).await
    }

    pub async fn uid(&self, pod: &str) -> String {
        self.field(&format!("pod {pod}"), ".metadata.uid").await
    }

    /// Waits until `kubectl` prints this.
    pub async fn until(&self, args: &str, wanted: impl Fn(&str) -> bool) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        loop {
            let now = self.kubectl(args).await;
            if wanted(&now) {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "kubectl {args}: {now}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// A StatefulSet of so many Ready pods `APP-0`…, and a Service that finds them by `app` and `serving`.
    pub async fn service(&self, app: &str, replicas: u32) {
        self.apply(format!(
            r#"
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: {app}}}
spec:
  replicas: {replicas}
  podManagementPolicy: Parallel
  serviceName: {app}
  selector: {{matchLabels: {{app: {app}}}}}
  template:
    metadata: {{labels: {{app: {app}, serving: "true"}}}}
    spec: {{nodeName: kwok-0, containers: [{{name: app, image: none}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: {app}}}
spec: {{selector: {{app: {app}, serving: "true"}}, ports: [{{port: 80}}]}}
"#
        ))
        .await;
        self.ready(app, replicas).await;
    }

    /// A Deployment of so many Ready pods.
    pub async fn deployment(&self, app: &str, replicas: u32) {
        self.apply(format!(
            r#"
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {app}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {app}}}}}
  template:
    metadata: {{labels: {{app: {app}}}}}
    spec: {{nodeName: kwok-0, terminationGracePeriodSeconds: 1, containers: [{{name: app, image: none}}]}}
"#
        ))
        .await;
        self.ready(app, replicas).await;
    }

    pub async fn ready(&self, app: &str, count: u32) {
        let args = format!(
            "get pod -l app={app} -o jsonpath={{.items[*].status.conditions[?(@.type==\"Ready\")].status}}"
        );
        self.until(&args, |seen| {
            seen.split_whitespace().filter(|s| *s == "True").count() == count as usize
        })
        .await;
    }

    /// The pod's kubelet says that it is not Ready.
    pub async fn is_not_ready(&self, pod: &str) {
        let mut seen: Value =
            serde_json::from_str(&self.kubectl(&format!("get pod {pod} -o json")).await).unwrap();
        for condition in seen["status"]["conditions"].as_array_mut().unwrap() {
            if condition["type"] == "Ready" {
                condition["status"] = "False".into();
            }
        }
        let status = format!("replace --raw /api/v1/namespaces/shop/pods/{pod}/status -f -");
        self.kubectl_with(&status, Some(seen.to_string())).await;
    }

    /// The pods that the Service sends to.
    pub async fn endpoints(&self, app: &str) -> BTreeSet<String> {
        let args = format!(
            "get endpointslice -l kubernetes.io/service-name={app} -o jsonpath={{.items[*].endpoints[?(@.conditions.ready==true)].targetRef.name}}"
        );
        self.kubectl(&args)
            .await
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.script("down").output();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A kubeconfig that allows namespace shop.
pub fn at(path: &Path) -> Kubernetes {
    Kubernetes {
        kubeconfig: Some(path.display().to_string()),
        context: Some("parts".into()),
        namespaces: vec![shop()],
    }
}

pub fn shop() -> Namespace {
    Namespace::new("shop").unwrap()
}

/// Types a command as a person would.
pub async fn by_hand(line: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", line]);
    run(command, None).await
}

async fn run(mut command: Command, input: Option<String>) -> String {
    let shown = format!("{command:?}");
    let ended = tokio::task::spawn_blocking(move || {
        let Some(input) = input else {
            return command.output();
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes())?;
        child.wait_with_output()
    });
    let ended = ended.await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{shown}: {text}");
    text
}

/// A keeper that writes everything down in memory, and can die at a change: then that change is written down and never made.
pub struct Ledger {
    intents: mpsc::UnboundedSender<ChangeIntent>,
    pub guard_is_bad: AtomicBool,
    /// What the pool's metric says.
    pub busy: AtomicI64,
    samples: AtomicI64,
    restarted: Shortly<BTreeSet<InstanceName>>,
    left: AtomicU32,
    died: Notify,
}

impl Bus for Ledger {
    fn intend(&self, change: ChangeIntent) -> BoxFuture<'_, ()> {
        if let ChangeIntent::Restart { instance, .. } = &change {
            self.restarted.lock().unwrap().insert(instance.clone());
        }
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
        Some(Reading {
            value: Ok(Level(self.busy.load(Relaxed) as f64)),
            age: Span::ZERO,
            sampled: self.samples.fetch_add(1, Relaxed),
            partial: false,
        })
    }
    fn guard_holds(&self) -> Option<String> {
        let bad = self.guard_is_bad.load(Relaxed);
        bad.then(|| "order_success users 98%".to_owned())
    }
    fn restarted(&self, instance: &InstanceName) -> bool {
        self.restarted.lock().unwrap().contains(instance)
    }
}

/// Recovery's scene, and what was intended in it.
pub struct Staged {
    pub scene: Scene,
    pub ledger: Arc<Ledger>,
    intents: mpsc::UnboundedReceiver<ChangeIntent>,
}

impl Staged {
    pub fn new(cluster: Kubernetes, targets: &[&str], playbook: Playbook) -> Self {
        Self::whole(cluster, None, targets, playbook, PATIENCE)
    }

    pub fn whole(
        cluster: Kubernetes,
        kafka: Option<Kafka>,
        targets: &[&str],
        playbook: Playbook,
        patience: Patience,
    ) -> Self {
        let (sender, intents) = mpsc::unbounded_channel();
        let ledger = Arc::new(Ledger {
            intents: sender,
            guard_is_bad: AtomicBool::new(false),
            busy: AtomicI64::new(0),
            samples: AtomicI64::new(0),
            restarted: Shortly::default(),
            left: AtomicU32::new(u32::MAX),
            died: Notify::new(),
        });
        let plan = plan(cluster, kafka, targets, playbook);
        let scene = Scene {
            drivers: Arc::new(Drivers::with_patience(&plan, Secrets::none(), patience).unwrap()),
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

    /// The same run, from another place: what it has seen, with clients of its own.
    pub fn from(&self, cluster: Kubernetes, patience: Patience) -> Staged {
        let plan = &self.scene.plan;
        let targets: Vec<&str> = plan
            .drill
            .targets
            .instances
            .iter()
            .map(InstanceName::as_str)
            .collect();
        let kafka = plan.environment.kafka.values().next().cloned();
        let mut other = Staged::whole(cluster, kafka, &targets, plan.drill.recovery.clone(), patience);
        other.scene.snapshot = self.scene.snapshot.clone();
        other
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

    /// What preflight refuses, each in one line.
    pub async fn refusals(mut self) -> Vec<String> {
        let checks = self.prepare().await.into_iter();
        let refused = checks.filter(|c| c.outcome == CheckOutcome::Refused);
        refused.map(|c| format!("{}: {}", c.what, c.found)).collect()
    }

    /// All intents since the last call.
    pub fn intents(&mut self) -> Vec<ChangeIntent> {
        std::iter::from_fn(|| self.intents.try_recv().ok()).collect()
    }
}

pub fn pods(selector: &str) -> PodsOf {
    PodsOf {
        namespace: None,
        selector: selector.to_owned(),
    }
}

pub const OF_STATEFUL_SET: &str = "statefulset.kubernetes.io/pod-name={target}";

/// A pool that is stuck after `wait`, and then loses its pod.
pub fn restarts(selector: &str, wait: Span) -> Playbook {
    Playbook {
        pools: vec![PoolDrain {
            metric: MetricId::new("order_threads_busy").unwrap(),
            scope: None,
            idle_at_most: 5.0,
            scrape_holds: 0.0,
            wait,
            if_stuck: Some(Restart::Kubernetes(pods(selector))),
            ready: None,
        }],
        ..nothing_to_do()
    }
}

/// Targets that are taken out by the label `serving`.
pub fn served(selector: &str, hold: Span) -> Playbook {
    Playbook {
        gateway: Some(Gateway::Pods(PodGateway {
            pods: pods(selector),
            key: "serving".into(),
            out: "false".into(),
            hold,
        })),
        ..nothing_to_do()
    }
}

pub fn nothing_to_do() -> Playbook {
    Playbook {
        gateway: None,
        breakers: Vec::new(),
        flags: Vec::new(),
        retry_queues: Vec::new(),
        pools: Vec::new(),
        commands: Vec::new(),
        hold: Span::seconds(1),
        verify_within: Span::seconds(5),
    }
}

fn plan(cluster: Kubernetes, kafka: Option<Kafka>, targets: &[&str], recovery: Playbook) -> Plan {
    let environment = Environment {
        name: EnvironmentName::new("here").unwrap(),
        stage: Stage::Practice,
        metrics: MetricsSource::Scrape {
            every: Span::seconds(1),
            path: "/metrics".into(),
        },
        services: BTreeMap::new(),
        redis: BTreeMap::new(),
        kafka: kafka.into_iter().map(|k| (crate::kafka::main(), k)).collect(),
        rocketmq: BTreeMap::new(),
        kubernetes: Some(cluster),
        gateways: BTreeMap::new(),
        notify: Vec::new(),
    };
    Plan {
        run: RunId::new("7f3a").unwrap(),
        drill: Drill {
            name: DrillName::new("stuck-pool").unwrap(),
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
                instances: targets.iter().map(|t| InstanceName::new(t).unwrap()).collect(),
            },
            steps: Vec::new(),
            recovery,
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

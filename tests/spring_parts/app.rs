//! The real apps: a few of each kind, each lent to one test at a time, and set back for each.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use reqwest::{Client, Method};
use serde_json::Value;
use tokio::{
    process::Command,
    sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit},
    task::JoinHandle,
};

use crate::{parts_support::free_ports, waiting::Patience};

/// So many of each kind.
const PARTS: usize = 3;

/// Parts of one kind. One is started when all that run are lent.
struct Pool {
    kind: &'static str,
    free: Semaphore,
    parts: [Mutex<Option<Part>>; PARTS],
}

static SPRING: Pool = Pool::of("spring");
static SENTINEL: Pool = Pool::of("sentinel");

impl Pool {
    const fn of(kind: &'static str) -> Self {
        Self {
            kind,
            free: Semaphore::const_new(PARTS),
            parts: [const { Mutex::const_new(None) }; PARTS],
        }
    }

    /// One with these instances up, that no other test uses meanwhile.
    async fn lent(&'static self, instances: &[&str]) -> Lent {
        let turn = self.free.acquire().await.expect("never closed");
        let mut parts = self.parts.iter().enumerate();
        let (number, mut place) = parts
            .find_map(|(number, part)| Some((number, part.try_lock().ok()?)))
            .expect("as many parts as turns");
        if place.is_none() {
            *place = Some(Part::new(self.kind, number).await);
        }
        let client = Client::builder().timeout(Duration::from_secs(20)).no_proxy();
        // The crate's own clients install it too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let lent = Lent {
            part: place,
            _turn: turn,
            http: client.build().expect("a client"),
        };
        // Another test may have taken one down.
        lent.part().script(&[&["up"], instances].concat()).await;
        lent
    }
}

/// A part under scripts/part, with its instances' ports.
pub struct Part {
    kind: &'static str,
    number: usize,
    first: u16,
}

impl Part {
    /// None of it runs.
    async fn new(kind: &'static str, number: usize) -> Self {
        let part = Self {
            kind,
            number,
            first: free_ports(&[0, 1, 2, 3]),
        };
        // What an aborted run left has other ports.
        part.script(&["down"]).await;
        part
    }

    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{}", self.kind, self.number))
    }

    /// Runs the part's script. It must do well.
    async fn script(&self, args: &[&str]) {
        let ports: Vec<String> = (0..4).map(|n| (self.first + n).to_string()).collect();
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("scripts/part")
            .join(self.kind);
        let ended = Command::new(script)
            .args(args)
            .env("PART_DIR", self.folder())
            .env("PART_PORTS", ports.join(" "))
            .env("PART_WITH", std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .status();
        assert!(
            ended.await.expect("it starts").success(),
            "{} {args:?}",
            self.kind
        );
    }
}

/// A part that no other test uses meanwhile.
pub struct Lent {
    part: MutexGuard<'static, Option<Part>>,
    _turn: SemaphorePermit<'static>,
    http: Client,
}

/// The app with Resilience4j: all its breakers closed, all calls going well.
pub async fn spring() -> Lent {
    let lent = SPRING.lent(&["order-0", "order-1"]).await;
    lent.is_well(&[0, 1]).await;
    lent
}

/// The same, with order-2 whose actuator may only be read.
pub async fn spring_with_read_only() -> Lent {
    let lent = SPRING.lent(&["order-0", "order-1", "order-2"]).await;
    lent.is_well(&[0, 1, 2]).await;
    lent
}

/// order-3 alone, whose actuator does not expose the breakers.
pub async fn spring_not_exposed() -> Lent {
    SPRING.lent(&["order-3"]).await
}

/// The app with Sentinel, with the rules that it starts with.
pub async fn sentinel() -> Lent {
    SENTINEL.lent(&["order-0", "order-1"]).await
}

impl Lent {
    fn part(&self) -> &Part {
        self.part.as_ref().expect("it was put there")
    }

    async fn is_well(&self, instances: &[usize]) {
        for number in instances.iter().copied() {
            self.post(number, "/scene/mood?is=WELL").await;
            self.post(number, "/scene/pools/release").await;
            for name in ["coupon", "stock", "payment"] {
                self.fails(number, name, false).await;
                self.put(number, name, "CLOSED").await;
            }
        }
    }

    pub fn address(&self, number: usize) -> String {
        format!("127.0.0.1:{}", usize::from(self.part().first) + number)
    }

    /// Kills an instance.
    pub async fn down(&self, number: usize) {
        self.part().script(&["down", &format!("order-{number}")]).await;
    }

    /// Starts an instance that is down; returns when it answers.
    pub async fn up(&self, number: usize) {
        self.part().script(&["up", &format!("order-{number}")]).await;
    }

    /// Stops an instance's process until what is given is dropped: it accepts connections and answers nothing.
    pub fn stopped(&self, number: usize) -> Stopped {
        let file = self.part().folder().join(format!("order-{number}/pid"));
        let text = std::fs::read_to_string(file).expect("its process id");
        let pid = rustix::process::Pid::from_raw(text.trim().parse().expect("a number")).expect("no zero");
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("it runs");
        Stopped(pid)
    }

    async fn ask(&self, method: Method, number: usize, path: &str) -> (u16, String) {
        let url = format!("http://{}{path}", self.address(number));
        let answer = self.http.request(method, url).send().await.expect("an answer");
        let status = answer.status().as_u16();
        (status, answer.text().await.expect("a text"))
    }

    pub async fn get(&self, number: usize, path: &str) -> (u16, String) {
        self.ask(Method::GET, number, path).await
    }

    pub async fn post(&self, number: usize, path: &str) -> (u16, String) {
        self.ask(Method::POST, number, path).await
    }

    /// All breakers, as the actuator tells them.
    pub async fn breakers(&self, number: usize) -> Value {
        let (_, text) = self.get(number, "/actuator/circuitbreakers").await;
        let listed: Value = serde_json::from_str(&text).expect("JSON");
        listed["circuitBreakers"].clone()
    }

    pub async fn state(&self, number: usize, name: &str) -> String {
        let breakers = self.breakers(number).await;
        breakers[name]["state"].as_str().expect("a state").to_owned()
    }

    /// Puts a breaker in a state.
    pub async fn put(&self, number: usize, name: &str, state: &str) {
        let (status, is) = self
            .post(number, &format!("/scene/{name}/state?is={state}"))
            .await;
        assert_eq!((status, is.as_str()), (200, state), "{name}");
    }

    pub async fn fails(&self, number: usize, name: &str, is: bool) {
        let (status, _) = self.post(number, &format!("/scene/{name}/failing?is={is}")).await;
        assert_eq!(status, 200);
    }

    /// Real calls through these breakers of both instances, until dropped.
    pub fn calls(&self, names: &[&str]) -> Calls {
        let http = self.http.clone();
        let urls: Vec<String> = [0, 1]
            .iter()
            .flat_map(|number| {
                names
                    .iter()
                    .map(|name| format!("http://{}/call/{name}", self.address(*number)))
            })
            .collect();
        // Each on its own: one that hangs holds up no other.
        let call = |url: String| {
            let http = http.clone();
            tokio::spawn(async move {
                loop {
                    // Whether a call goes well is the breaker's matter.
                    let _ = http.get(&url).timeout(Duration::from_secs(1)).send().await;
                    tokio::time::sleep(Duration::from_millis(30)).await;
                }
            })
        };
        Calls(urls.into_iter().map(call).collect())
    }
}

/// A process that is stopped until this is dropped.
pub struct Stopped(rustix::process::Pid);

impl Drop for Stopped {
    fn drop(&mut self) {
        // One that is gone needs no waking.
        let _ = rustix::process::kill_process(self.0, rustix::process::Signal::CONT);
    }
}

/// Calls that go on until this is dropped.
pub struct Calls(Vec<JoinHandle<()>>);

impl Drop for Calls {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// Asks until it holds.
pub async fn until(what: &str, holds: impl AsyncFnMut() -> bool) {
    let patience = Patience::new(Duration::from_secs(60), Duration::from_millis(50));
    patience.until(what, holds).await;
}

/// Types a command as a person would.
pub async fn type_by_hand(command: &str) {
    let output = Command::new("sh")
        .args(["-c", command])
        .output()
        .await
        .expect("a shell");
    let said = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "`{command}`: {}",
        String::from_utf8_lossy(&said)
    );
}

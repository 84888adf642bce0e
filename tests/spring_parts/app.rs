//! The real apps: started once, lent to one test at a time, set back for each.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use reqwest::{Client, Method};
use serde_json::Value;
use tokio::{
    process::Command,
    sync::{Mutex, MutexGuard, OnceCell},
    task::JoinHandle,
    time::Instant,
};

/// A part under scripts/part, with its instances' ports.
pub struct Part {
    name: &'static str,
    ports: Vec<u16>,
    free: Mutex<()>,
}

impl Part {
    async fn start(name: &'static str, instances: usize) -> Self {
        let listeners: Vec<_> = (0..instances)
            .map(|_| std::net::TcpListener::bind("127.0.0.1:0").expect("a free port"))
            .collect();
        let port = |l: &std::net::TcpListener| l.local_addr().expect("its address").port();
        let part = Self {
            name,
            ports: listeners.iter().map(port).collect(),
            free: Mutex::new(()),
        };
        drop(listeners);
        part.script(&["up"]).await;
        part
    }

    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(self.name)
    }

    /// Runs the part's script. It must do well.
    async fn script(&self, args: &[&str]) {
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("scripts/part")
            .join(self.name);
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
            self.name
        );
    }
}

/// A part that no other test uses meanwhile.
pub struct Lent {
    part: &'static Part,
    _turn: MutexGuard<'static, ()>,
    http: Client,
}

/// The app with Resilience4j: all its breakers closed, all calls going well.
pub async fn spring() -> Lent {
    static SPRING: OnceCell<Part> = OnceCell::const_new();
    // What an aborted run left has other ports.
    let part = SPRING.get_or_init(|| async {
        Part::stopped("spring").await;
        Part::start("spring", 3).await
    });
    let lent = Lent::of(part.await).await;
    for number in 0..3 {
        lent.post(number, "/scene/mood?is=WELL").await;
        for name in ["coupon", "stock", "payment"] {
            lent.fails(number, name, false).await;
            lent.put(number, name, "CLOSED").await;
        }
    }
    lent
}

/// The app with Sentinel, with the rules that it starts with.
pub async fn sentinel() -> Lent {
    static SENTINEL: OnceCell<Part> = OnceCell::const_new();
    let part = SENTINEL.get_or_init(|| async {
        Part::stopped("sentinel").await;
        Part::start("sentinel", 2).await
    });
    Lent::of(part.await).await
}

impl Part {
    async fn stopped(name: &'static str) {
        let part = Self {
            name,
            ports: vec![1; 3],
            free: Mutex::new(()),
        };
        part.script(&["down"]).await;
    }
}

impl Lent {
    async fn of(part: &'static Part) -> Self {
        let turn = part.free.lock().await;
        let client = Client::builder().timeout(Duration::from_secs(20)).no_proxy();
        // The crate's own clients install it too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let lent = Self {
            part,
            _turn: turn,
            http: client.build().expect("a client"),
        };
        // Another test may have taken one down.
        lent.part.script(&["up"]).await;
        lent
    }

    pub fn address(&self, number: usize) -> String {
        format!("127.0.0.1:{}", self.part.ports[number])
    }

    /// Kills an instance.
    pub async fn down(&self, number: usize) {
        self.part.script(&["down", &format!("order-{number}")]).await;
    }

    /// Starts an instance that is down; returns when it answers.
    pub async fn up(&self, number: usize) {
        self.part.script(&["up", &format!("order-{number}")]).await;
    }

    /// Stops an instance's process until what is given is dropped: it accepts connections and answers nothing.
    pub fn stopped(&self, number: usize) -> Stopped {
        let file = self.part.folder().join(format!("order-{number}/pid"));
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

/// Asks until it holds. The deadline is for a busy machine.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds().await {
        assert!(Instant::now() < deadline, "not within 60 s: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
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

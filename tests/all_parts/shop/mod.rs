//! The shop of `scripts/part/shop`, and what a person can do to it.

mod standing;

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    process::Command,
    sync::{Mutex, MutexGuard, OnceCell},
};

use crate::waiting::Patience;

/// Offsets of the part's ports from its first.
const INSTANCES: [u16; 2] = [0, 1];
const RUNTIME_APIS: [u16; 2] = [2, 3];
const PROMETHEUS: u16 = 6;
const KAFKA: u16 = 10;
const REDIS: [u16; 3] = [25, 26, 27];

/// The longest that anything of the shop takes on a busy machine.
const PATIENCE: Patience = Patience::new(Duration::from_secs(120), Duration::from_millis(200));

/// A flag that somebody set before any drill, and the quota that the retry consumers have.
const KEPT: &str = "degrade:order:coupon:by-hand";
const QUOTA: &str = "consumer_byte_rate=4194304";

/// The shop. It closes when this program ends.
pub struct Shop {
    first: u16,
    http: reqwest::Client,
    free: Mutex<()>,
}

/// The shop, for one test at a time.
pub struct Lent {
    shop: &'static Shop,
    _turn: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Lent {
    type Target = Shop;
    fn deref(&self) -> &Shop {
        self.shop
    }
}

/// The shop, open, with a flag and a quota of before, and nothing else to be put back.
pub async fn open() -> Lent {
    static SHOP: OnceCell<Shop> = OnceCell::const_new();
    let shop = SHOP.get_or_init(Shop::start).await;
    let turn = shop.free.lock().await;
    shop.set_out().await;
    Lent { shop, _turn: turn }
}

impl Shop {
    async fn start() -> Shop {
        // The crate's own clients install it too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(20))
            .no_proxy();
        let shop = Shop {
            first: free_ports(),
            http: client.build().expect("a client"),
            free: Mutex::new(()),
        };
        // What a run left that was killed has other ports.
        shop.part("down").await;
        shop.part("up").await;
        shop
    }

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("shop")
    }

    async fn part(&self, what: &str) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/part/shop");
        let ended = Command::new(script)
            .arg(what)
            .env("PART_DIR", Self::folder())
            .env("PART_PORT", self.first.to_string())
            .env("PART_WITH", std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        assert!(
            ended.await.expect("it starts").success(),
            "scripts/part/shop {what}"
        );
    }

    async fn set_out(&self) {
        self.stubborn_flags(false).await;
        let keys = self.flags().await;
        for key in keys.iter().filter(|key| *key != KEPT) {
            self.redis(&["UNLINK", key]).await;
        }
        self.redis(&["SET", KEPT, "ticket 4711"]).await;
        self.kafka(
            "configs",
            &format!("--alter --add-config {QUOTA} --entity-type clients --entity-name order-retry"),
        )
        .await;
        self.until("all breakers are closed and no retry waits", async || {
            // What a start on a busy machine has opened would not be tried before a minute has passed.
            self.close_breakers().await;
            self.breakers().await == ["CLOSED", "CLOSED"] && self.waiting().await < 10
        })
        .await;
        self.until("both instances have been scraped for some seconds", async || {
            self.scraped().await == 2
        })
        .await;
    }

    /// Closes what is not closed: one that is would only forget what it has seen.
    async fn close_breakers(&self) {
        for (number, state) in self.breakers().await.into_iter().enumerate() {
            if state != "CLOSED" {
                let url = format!("{}/actuator/circuitbreakers/coupon", self.instance(number));
                let close = self.http.post(url).json(&json!({"updateState": "CLOSE"}));
                let _ = close.send().await;
            }
        }
    }

    /// How many instances Prometheus has more than three samples of in the last ten seconds.
    async fn scraped(&self) -> usize {
        let query = "count_over_time(up%5B10s%5D)%20%3E%203";
        let url = format!("http://{}/api/v1/query?query={query}", self.address(PROMETHEUS));
        let answer = self.http.get(url).send().await.expect("an answer");
        let answer: Value = serde_json::from_str(&answer.text().await.expect("text")).expect("JSON");
        answer["data"]["result"].as_array().map_or(0, Vec::len)
    }

    /// A file of `parts/shop`, with this shop's ports.
    pub fn file(&self, name: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("parts/shop")
            .join(name);
        let text = std::fs::read_to_string(path).expect("a file of the shop's");
        text.replace("127.0.0.1:210", &format!("127.0.0.1:{}", self.first / 100))
    }

    pub fn address(&self, offset: u16) -> String {
        format!("127.0.0.1:{}", self.first + offset)
    }

    /// The base URL of an instance.
    pub fn instance(&self, number: usize) -> String {
        format!("http://{}", self.address(INSTANCES[number]))
    }

    async fn get_text(&self, number: usize, path: &str) -> String {
        let url = format!("{}{path}", self.instance(number));
        let answer = self.http.get(url).send().await.expect("an answer");
        answer.text().await.expect("text")
    }

    async fn get(&self, number: usize, path: &str) -> Value {
        serde_json::from_str(&self.get_text(number, path).await).expect("JSON")
    }

    /// Lets the service set again, from memory, what flags it once set.
    pub async fn stubborn_flags(&self, are: bool) {
        for number in 0..INSTANCES.len() {
            let url = format!("{}/scene/flags?stubborn={are}", self.instance(number));
            let answer = self.http.post(url).send().await.expect("an answer");
            assert!(answer.status().is_success(), "{}", answer.status());
        }
    }

    /// Places an order at an instance, with or without a mark: its coupon, or `none`.
    pub async fn order(&self, number: usize, campaign: &str, mark: Option<&str>) -> String {
        let url = format!("{}/order?campaign={campaign}", self.instance(number));
        let mut order = self.http.post(url);
        if let Some(mark) = mark {
            order = order.header("X-Drill", mark);
        }
        let answer = order.send().await.expect("an answer");
        assert!(answer.status().is_success(), "{}", answer.status());
        let taken: Value = answer.json().await.expect("JSON");
        taken["coupon"].as_str().expect("a text").to_owned()
    }

    /// Makes the coupon service slow for marked orders at order-0, or well again, as somebody with curl would.
    pub async fn coupons_are_slow(&self, are: bool) {
        let url = format!("{}/chaos/rules/by-hand", self.instance(0));
        let rule = json!({
            "run": "by-hand", "point": "coupon.query", "header": {"x-drill": "coupon-slow"}, "ttl_ms": 120_000,
            "fault": {"delay": {"mean_ms": 2000}}, "percent": 50, "max_concurrent": 20
        });
        let asked = match are {
            true => self.http.put(url).json(&rule),
            false => self.http.delete(url),
        };
        let status = asked.send().await.expect("an answer").status();
        assert!(status.is_success(), "{status}");
    }

    async fn redis(&self, args: &[&str]) -> String {
        let port = (self.first + REDIS[0]).to_string();
        run("redis-cli", &[&["-c", "-p", &port], args].concat()).await
    }

    async fn kafka(&self, tool: &str, args: &str) -> String {
        let program = Self::folder().join(format!("kafka/bin/kafka-{tool}.sh"));
        let address = self.address(KAFKA);
        let args: Vec<&str> = ["--bootstrap-server", &address]
            .into_iter()
            .chain(args.split(' '))
            .collect();
        run(&program.display().to_string(), &args).await
    }

    /// Takes the consumers' quota away: a restore could not tell whether it was there before the accident.
    pub async fn without_quota(&self) {
        self.kafka(
            "configs",
            "--alter --delete-config consumer_byte_rate --entity-type clients --entity-name order-retry",
        )
        .await;
    }

    /// So many coupons are owed at once, to both instances alike: each order has a key of its own.
    pub async fn owe(&self, coupons: u32) {
        let producer = Self::folder().join("kafka/bin/kafka-console-producer.sh");
        let owed = format!(
            "seq {coupons} | awk '{{print \"order-\" $1 \"\\tc1 {}\"}}'",
            "-".repeat(200)
        );
        let to = format!("--bootstrap-server {} --topic order-retry", self.address(KAFKA));
        let keyed = "--reader-property parse.key=true";
        run(
            "sh",
            &["-c", &format!("{owed} | {} {to} {keyed}", producer.display())],
        )
        .await;
    }

    /// The fault has really done it: order-0's breaker is open, flags stand in the cluster, retries wait.
    pub async fn is_hurt(&self) {
        self.until("a breaker is open, flags stand and retries wait", async || {
            self.breakers().await[0] == "OPEN" && self.flags().await.len() > 50 && self.waiting().await > 50
        })
        .await;
    }

    /// Orders at every instance get their coupons, and nothing waits.
    pub async fn serves(&self) {
        for number in 0..INSTANCES.len() {
            for order in 0..20 {
                let coupon = self.order(number, &format!("c{order}"), None).await;
                assert_ne!(coupon, "none", "order-{number}");
            }
        }
        assert!(self.waiting().await < 50, "retries wait");
    }

    /// Asks until it holds.
    pub async fn until(&self, what: &str, holds: impl AsyncFnMut() -> bool) {
        PATIENCE.until(what, holds).await;
    }
}

/// What a program prints; it must do well.
async fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.await.expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {said}{complaints}");
    said
}

/// The first of a hundred ports none of which is taken that the part uses; the files' own hundred is left to people.
fn free_ports() -> u16 {
    let used = [0..=6, 10..=14, 25..=27, 10_025..=10_027];
    let free = |first: &u16| {
        used.iter()
            .cloned()
            .flatten()
            .all(|offset| TcpListener::bind(("127.0.0.1", first + offset)).is_ok())
    };
    (211..=229)
        .map(|hundred| hundred * 100)
        .find(free)
        .expect("free ports")
}

//! A range on free ports, an environment for it, and the binary run against both. Everything ends with it.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use allclear::{
    journal::{KeeperLock, RunDir},
    range::Endpoints,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// The longest that a range takes to open, on a busy machine.
const OPENS: Duration = Duration::from_secs(60);

/// How often what is left of runs is looked for at the end.
const LAST_LOOKS: u32 = 20;

pub struct Shop {
    pub endpoints: Endpoints,
    pub home: PathBuf,
    _range: Child,
}

impl Shop {
    /// A range with these weaknesses, as the environment `shop` of an `allclear.yaml`.
    pub async fn open(weaknesses: &[&str]) -> Self {
        let home = fresh_folder();
        let mut up = plain();
        up.args(["range", "up", "--free-ports", "--json"])
            .stdout(Stdio::piped());
        for weakness in weaknesses {
            up.args(["--weakness", weakness]);
        }
        let mut range = up.spawn().expect("the binary starts");
        let mut said = BufReader::new(range.stdout.take().expect("it was piped"));
        let mut line = String::new();
        timeout(OPENS, said.read_line(&mut line))
            .await
            .expect("the range opens in time")
            .expect("a line");
        let endpoints: Endpoints = serde_json::from_str(&line).expect("endpoints");
        fs::write(home.join("allclear.yaml"), configuration(&endpoints)).expect("written");
        Self {
            endpoints,
            home,
            _range: range,
        }
    }

    /// `allclear` with this shop's configuration, state directory and sockets.
    pub fn allclear(&self) -> Command {
        let mut command = plain();
        command
            .arg("--config")
            .arg(self.home.join("allclear.yaml"))
            .arg("--state-dir")
            .arg(self.home.join("state"))
            .env("XDG_RUNTIME_DIR", &self.home);
        command
    }

    /// Runs it to its end.
    pub async fn output(&self, args: &[&str], within: Duration) -> Output {
        let running = self.allclear().args(args).output();
        timeout(within, running)
            .await
            .unwrap_or_else(|_| panic!("`allclear {}` did not end within {within:?}", args.join(" ")))
            .expect("the binary starts")
    }

    /// What the range itself says of everything that a drill could leave behind.
    pub async fn status(&self) -> Value {
        // A second test in the same process finds it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(30))
            .no_proxy()
            .build()
            .expect("a client");
        let url = format!("http://{}/range/status", self.endpoints.gateway_http);
        let answer = client.get(url).send().await.expect("an answer");
        answer.json().await.expect("JSON")
    }

    fn keepers(&self) -> Vec<i32> {
        let runs = fs::read_dir(self.home.join("state/runs")).into_iter().flatten();
        runs.flatten()
            .filter_map(|run| KeeperLock::holder(&RunDir::at(run.path())).ok()??.pid)
            .filter_map(|pid| i32::try_from(pid).ok())
            .collect()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        // A test that failed in mid-run leaves a keeper; killed, it leaves a deadman that becomes the keeper.
        for _ in 0..LAST_LOOKS {
            let keepers = self.keepers();
            if keepers.is_empty() {
                break;
            }
            for pid in keepers {
                let pid = rustix::process::Pid::from_raw(pid).expect("a process id is not zero");
                // It may have ended by itself in between.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// `allclear`, with nothing of its own set.
pub fn plain() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allclear"));
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

fn fresh_folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("ac-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
    let folder = std::env::temp_dir().join(name);
    // Of a process that had the same number and was killed.
    let _ = fs::remove_dir_all(&folder);
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .expect("a folder of our own");
    folder
}

/// YAML is a superset of JSON.
fn configuration(endpoints: &Endpoints) -> String {
    let mut services: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for one in &endpoints.instances {
        services
            .entry(&one.service)
            .or_default()
            .insert(&one.instance, &one.address);
    }
    let redis = endpoints
        .redis
        .trim_start_matches("redis://")
        .trim_end_matches('/');
    json!({
        "environments": {"shop": {
            "stage": "practice",
            "scrape": {"every": "500ms"},
            "services": services,
            "redis": {"main": {"address": redis}},
            "gateways": {"lb": endpoints.gateway_runtime},
        }},
        "default": "shop",
    })
    .to_string()
}

/// A file of the repository.
pub fn repository(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

//! A real HAProxy on loopback, gone when dropped.

use std::process::{Command, Stdio};

use crate::drivers::testing::{Part, listens, nobody};

/// How its servers are configured.
#[derive(Clone, Copy, Default)]
pub struct Setting<'a> {
    /// Where all servers are; nobody is there by default.
    pub servers: Option<&'a str>,
    /// The most sessions of each server.
    pub maxconn: Option<u32>,
    /// Whether their health is checked.
    pub checked: bool,
    /// Whether a reload begins with the states of `show servers state`.
    pub keeps_state: bool,
}

/// A real HAProxy with backend `order`: order-0 to order-2, weight 100 each, and order-9 of weight 1.
pub struct HaproxyPart {
    /// Its frontend.
    pub front: String,
    /// The runtime API over TCP, all rights.
    pub admin: String,
    /// The runtime API over a unix socket, all rights.
    pub unix: String,
    /// The runtime API over a unix socket, no right to change anything.
    pub operator: String,
    config: String,
    state: Option<String>,
    part: Part,
}

pub async fn haproxy() -> HaproxyPart {
    haproxy_with(Setting::default()).await
}

pub async fn haproxy_with(setting: Setting<'_>) -> HaproxyPart {
    let (admin, front) = (nobody().await, nobody().await);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (unix, operator, config) = (path("admin.sock"), path("operator.sock"), path("haproxy.cfg"));
    let state = setting.keeps_state.then(|| path("state"));
    let (address, limit) = (
        setting.servers.unwrap_or("127.0.0.1:9"),
        setting
            .maxconn
            .map(|n| format!(" maxconn {n}"))
            .unwrap_or_default(),
    );
    let check = if setting.checked {
        " check inter 50ms fall 1 rise 1"
    } else {
        ""
    };
    let weights = [
        ("order-0", 100),
        ("order-1", 100),
        ("order-2", 100),
        ("order-9", 1),
    ];
    let servers: String = weights
        .iter()
        .map(|(name, weight)| format!("  server {name} {address} weight {weight}{limit}{check}\n"))
        .collect();
    let (file, load) = match &state {
        Some(file) => (
            format!("  server-state-file {file}\n"),
            "  load-server-state-from-file global\n",
        ),
        None => (String::new(), ""),
    };
    let text = format!(
        "global\n{file}  stats socket ipv4@{admin} level admin\n  stats socket {unix} level admin\n  \
         stats socket {operator} level operator\ndefaults\n  mode http\n{load}  timeout connect 1s\n  timeout client 30s\n  \
         timeout server 30s\nfrontend f\n  bind {front}\n  default_backend order\nbackend order\n{servers}"
    );
    std::fs::write(&config, text).unwrap();
    let part = Part::start("haproxy", &["-db", "-f", &config], folder);
    listens(&admin).await;
    HaproxyPart {
        front,
        admin,
        unix,
        operator,
        config,
        state,
        part,
    }
}

impl HaproxyPart {
    /// A new process takes over from the old one, as a reload does.
    pub async fn reload(&mut self) {
        if let Some(file) = &self.state {
            let command = format!(
                "echo 'show servers state' | socat - UNIX-CONNECT:{} > {file}",
                self.unix
            );
            super::type_by_hand(&command).await;
        }
        let old = self.part.child.id().to_string();
        let new = Command::new("haproxy")
            .args(["-db", "-f", &self.config, "-sf", &old])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut old = std::mem::replace(&mut self.part.child, new);
        tokio::task::spawn_blocking(move || old.wait())
            .await
            .unwrap()
            .unwrap();
    }

    /// It is killed.
    pub fn kill(&mut self) {
        self.part.child.kill().unwrap();
        self.part.child.wait().unwrap();
    }

    /// It begins again with its configuration.
    pub async fn start(&mut self) {
        self.part.child = Command::new("haproxy")
            .args(["-db", "-f", &self.config])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        listens(&self.admin).await;
    }
}

//! The real parts: a Prometheus that scrapes a range, a Redis that holds its flags.

use std::{path::Path, process::Stdio};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::Command,
};

use super::{Program, Shop, free_port, until};

/// A Prometheus server. Its data outlive it, so that it can come back.
pub struct Prometheus {
    program: Option<Program>,
    port: u16,
    files: TempDir,
}

impl Prometheus {
    /// Scrapes every instance of the range at this interval.
    pub async fn scraping(shop: &Shop, interval: &str) -> Self {
        let files = tempfile::tempdir().expect("a directory");
        let targets: Vec<String> = shop
            .instances()
            .into_iter()
            .map(|(_, _, address)| address)
            .collect();
        let targets = serde_json::to_string(&targets).expect("JSON");
        let config = format!(
            "global: {{scrape_interval: {interval}, scrape_timeout: {interval}}}\n\
             scrape_configs: [{{job_name: shop, honor_labels: true, static_configs: [{{targets: {targets}}}]}}]\n"
        );
        std::fs::write(files.path().join("prometheus.yml"), config).expect("written");
        let mut server = Self {
            program: None,
            port: free_port(),
            files,
        };
        server.come_back().await;
        server
    }

    pub async fn come_back(&mut self) {
        let mut command = Command::new("prometheus");
        command
            .arg(format!(
                "--config.file={}",
                self.files.path().join("prometheus.yml").display()
            ))
            .arg(format!(
                "--storage.tsdb.path={}",
                self.files.path().join("data").display()
            ))
            .arg(format!("--web.listen-address=127.0.0.1:{}", self.port))
            .stdin(Stdio::null());
        self.program = Some(Program::start(command));
        let ready = format!("{}/-/ready", self.url());
        until("Prometheus is ready", async || {
            reqwest::get(&ready)
                .await
                .is_ok_and(|answer| answer.status().is_success())
        })
        .await;
    }

    /// kill -9.
    pub async fn kill(&mut self) {
        if let Some(program) = self.program.take() {
            program.kill().await;
        }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits until it has at least two samples of every instance.
    pub async fn has_samples(&self, instances: usize) {
        let query = format!(
            "{}/api/v1/query?query=count(count_over_time(up[1m])%20%3E%201)",
            self.url()
        );
        until("every instance is scraped twice", async || {
            let Ok(answer) = reqwest::get(&query).await else {
                return false;
            };
            let answer: serde_json::Value = answer.json().await.unwrap_or_default();
            let count = answer["data"]["result"][0]["value"][1].as_str();
            count
                .and_then(|c| c.parse::<usize>().ok())
                .is_some_and(|c| c >= instances)
        })
        .await;
    }
}

/// A Redis server, empty.
pub struct Redis {
    port: u16,
    _program: Program,
    _files: TempDir,
}

impl Redis {
    pub async fn start() -> Self {
        let files = tempfile::tempdir().expect("a directory");
        let port = free_port();
        let redis = Self {
            port,
            _program: server(port, files.path()),
            _files: files,
        };
        until("Redis answers", async || {
            redis.say("PING").await.is_some_and(|a| a.starts_with("+PONG"))
        })
        .await;
        redis
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// An inline command and the beginning of what it answers.
    pub async fn say(&self, command: &str) -> Option<String> {
        say(&format!("127.0.0.1:{}", self.port), command).await
    }
}

/// An inline command to a Redis at this address, and the beginning of what it answers.
pub async fn say(address: &str, command: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(format!("{command}\r\n").as_bytes()).await.ok()?;
    let mut answer = vec![0; 4096];
    let n = stream.read(&mut answer).await.ok()?;
    Some(String::from_utf8_lossy(&answer[..n]).into_owned())
}

fn server(port: u16, files: &Path) -> Program {
    let mut command = Command::new("redis-server");
    command
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
        ])
        .arg(files)
        .stdin(Stdio::null());
    Program::start(command)
}

//! The recipe for nginx, as docs/drivers/haproxy.md shows it, on a real nginx.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use axum::{Router, routing::get};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{documented::out_and_back, stand::Stand, *};
use crate::{
    drivers::testing::{Part, listens, nobody, until},
    model::playbook::{Command, How},
};

const PAGE: &str = include_str!("../../../../docs/drivers/haproxy.md");

/// A real nginx with workers, before `order-0` and `order-1`.
struct Nginx {
    front: String,
    part: Part,
    /// Who is behind it; gone with it.
    orders: [Stand; 2],
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A master that is killed leaves its workers; one that is told to end takes them along.
        let _ = kill_process(Pid::from_child(&self.part.child), Signal::TERM);
        let _ = self.part.child.wait();
    }
}

async fn order(name: &'static str) -> Stand {
    Stand::start(Router::new().route("/", get(async move || name))).await
}

async fn nginx() -> Nginx {
    let orders = [order("order-0").await, order("order-1").await];
    let (folder, front) = (tempfile::tempdir().unwrap(), nobody().await);
    let dir = folder.path().display();
    let upstream = format!(
        "upstream order {{\n  server {} weight=2 max_fails=0;\n  server {};\n}}\n",
        orders[0].address, orders[1].address
    );
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|what| format!("  {what}_temp_path {dir}/{what};\n"))
        .concat();
    let config = format!(
        "daemon off;\npid {dir}/pid;\nerror_log {dir}/log;\nevents {{}}\nhttp {{\n  access_log off;\n{temporary}  include \
         {dir}/order.conf;\n  server {{\n    listen {front};\n    location / {{ proxy_pass http://order; }}\n  }}\n}}\n"
    );
    fs::write(folder.path().join("order.conf"), upstream).unwrap();
    fs::write(folder.path().join("nginx.conf"), config).unwrap();
    let words = called(folder.path());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let part = Part::start(words[0], &words[1..], folder);
    listens(&front).await;
    Nginx { front, part, orders }
}

/// How this nginx is called.
fn called(folder: &Path) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    ["nginx", "-e", &file("log"), "-c", &file("nginx.conf")]
        .map(str::to_owned)
        .to_vec()
}

impl Nginx {
    fn file(&self, name: &str) -> PathBuf {
        self.part.folder().join(name)
    }

    fn upstream(&self) -> String {
        fs::read_to_string(self.file("order.conf")).unwrap()
    }

    /// The recipe, of this nginx and on this machine: not by ssh.
    fn steps(&self) -> [Command; 2] {
        let here = |words: Vec<String>| {
            let there = ["ssh", "lb-a", "nginx-server", "/etc/nginx/order.conf"];
            assert_eq!(words[..there.len()], there, "what the page shows");
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/drivers/nginx-server");
            let mut here = vec![
                script.display().to_string(),
                self.file("order.conf").display().to_string(),
            ];
            here.extend_from_slice(&words[there.len()..]);
            here.extend(called(self.part.folder()));
            here
        };
        out_and_back(PAGE, "nginx").map(|step| match step.how {
            How::Run { run, check } => Command {
                how: How::Run {
                    run: here(run),
                    check: check.map(here),
                },
                ..step
            },
            How::Http { .. } => panic!("nginx has no API"),
        })
    }

    fn stage(&self) -> Stage {
        let rows = [("order", "order-0", self.orders[0].address.as_str())];
        stage(environment(&rows), nothing_to_do())
    }

    async fn ask(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.front).await?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    /// Who answers, of so many requests that each of both would have had some.
    async fn serve(&self) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        for _ in 0..12 {
            // While workers change, a connection may end without an answer.
            let answer = self.ask().await.unwrap_or_default();
            seen.insert(answer.lines().last().unwrap_or("nobody").to_owned());
        }
        seen
    }

    async fn serves(&self, names: &[&str]) {
        let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        until("nginx sends requests to those alone", async || {
            self.serve().await == names
        })
        .await;
    }
}

#[tokio::test]
async fn nginx_sends_a_target_nothing_from_the_documented_step_out_to_the_step_back() {
    let nginx = nginx().await;
    let (stage, before) = (nginx.stage(), nginx.upstream());
    let [out, back] = nginx.steps();
    nginx.serves(&["order-0", "order-1"]).await;
    let end = super::super::command(&stage.scene, &back).await;
    assert_eq!(
        end.state,
        StepState::Nothing,
        "it is not out: {}",
        end.detail.en()
    );
    let end = super::super::command(&stage.scene, &out).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    nginx.serves(&["order-1"]).await;
    let end = super::super::command(&stage.scene, &back).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert!(end.detail.en().contains("checked"), "{}", end.detail.en());
    nginx.serves(&["order-0", "order-1"]).await;
    assert_eq!(nginx.upstream(), before, "byte for byte");
    let end = super::super::command(&stage.scene, &back).await;
    assert_eq!(end.state, StepState::Nothing, "{}", end.detail.en());
}

#[tokio::test]
async fn a_configuration_that_nginx_refuses_is_not_left_behind_and_the_command_by_hand_works() {
    let nginx = nginx().await;
    let (stage, before) = (nginx.stage(), nginx.upstream());
    let [out, _] = nginx.steps();
    let config = fs::read_to_string(nginx.file("nginx.conf")).unwrap();
    fs::write(nginx.file("nginx.conf"), config.clone() + "nonsense;\n").unwrap();
    let end = super::super::command(&stage.scene, &out).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert_eq!(nginx.upstream(), before);
    let names = fs::read_dir(nginx.part.folder())
        .unwrap()
        .map(|e| e.unwrap().file_name());
    let of_upstream = names.filter(|name| name.to_string_lossy().starts_with("order.conf"));
    assert_eq!(of_upstream.count(), 1, "no copy of it is left");
    nginx.serves(&["order-0", "order-1"]).await;
    fs::write(nginx.file("nginx.conf"), config).unwrap();
    type_by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    nginx.serves(&["order-1"]).await;
}

#[tokio::test]
async fn a_server_that_the_upstream_does_not_have_is_said_and_nothing_is_written() {
    let nginx = nginx().await;
    let before = nginx.upstream();
    let stage = stage(
        environment(&[("order", "order-0", "127.0.0.1:9")]),
        nothing_to_do(),
    );
    for step in nginx.steps() {
        let end = super::super::command(&stage.scene, &step).await;
        assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
        assert!(
            end.detail.en().contains("exit code 3: no server 127.0.0.1:9 in "),
            "{}",
            end.detail.en()
        );
    }
    assert_eq!(nginx.upstream(), before);
}

//! A pool's restart by systemd, asked for by a real keeper. systemd itself does not run where tests do: `systemctl`, `ssh` and
//! `sudo` on the keeper's PATH are small programs that write down what they were given. What is proved is the program and each
//! of its words, once an instance; what systemd makes of them is not.

mod luck_support;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use axum::{Router, routing::get};
use luck_support::{Place, Program};
use tokio::net::TcpListener;

const DASHBOARD: &str = "
dashboard: shop
metrics:
  - {id: orders, title: Orders, kind: business, unit: count, gauge: orders}
  - {id: threads_busy, title: Busy threads, kind: system, unit: count, gauge: {selector: threads_busy, agg: max}}
  - {id: connections_busy, title: Busy connections, kind: system, unit: count, gauge: {selector: connections_busy, agg: max}}
";

const DRILL: &str = "
drill: stuck
title: Pools that do not drain
hypothesis: They are restarted.
dashboard: shop
baseline: 20s
window: 1s
guard:
  every: 1s
  samples: 3
  steady_state: [{metric: orders, at_least: 1}]
targets: {service: order, instances: [order-0, order-1]}
steps: [{name: look, duration: 1s}]
recovery:
  pools:
    - {metric: threads_busy, idle_at_most: 0, wait: 1s, if_stuck: {systemd: {unit: \"order@{target}\"}}}
    - metric: connections_busy
      idle_at_most: 0
      wait: 1s
      if_stuck: {systemd: {unit: \"order@{target}\", run: [ssh, \"ops@{host}\", sudo]}}
  verify: {hold: 1s, within: 30s}
";

/// Writes a program of this name that writes its words down, one after another in brackets, and then does this.
fn stand_in(place: &Place, name: &str, then: &str) {
    let asked = place.path("asked");
    let text = format!(
        "#!/bin/sh\n{{ printf '{name}'; printf ' [%s]' \"$@\"; echo; }} >>{}\n{then}\n",
        asked.display()
    );
    let program = place.file(&format!("bin/{name}"), text);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
}

/// An instance whose gauge is stuck until the unit of that name is restarted: its file is there then. Its address.
async fn stuck(gauge: &'static str, restarted: Arc<Path>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let page = move || {
        let busy = if restarted.exists() { 0 } else { 50 };
        async move {
            ["threads_busy", "connections_busy"]
                .map(|name| format!("{name} {}\n", if name == gauge { busy } else { 0 }))
                .concat()
                + "orders 5\n"
        }
    };
    let router = Router::new().route("/metrics", get(page));
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_by_systemd_runs_systemctl_with_these_words_once_for_each_stuck_instance() {
    let place = Place::with("");
    let unit = |name: &str| Arc::from(place.path(name));
    let threads = stuck("threads_busy", unit("order@order-0")).await;
    let connections = stuck("connections_busy", unit("order@order-1")).await;
    place.file("dashboards/shop.yaml", DASHBOARD);
    place.file("drill.yaml", DRILL);
    place.file(
        "allclear.yaml",
        format!(
            "environments:\n  shop:\n    stage: preprod\n    scrape: {{every: 500ms}}\n    \
             services: {{order: {{order-0: \"{threads}\", order-1: \"{connections}\"}}}}\ndefault: shop\n"
        ),
    );
    stand_in(
        &place,
        "systemctl",
        &format!(": >'{}/'\"$2\"", place.path("").display()),
    );
    stand_in(&place, "sudo", "exec \"$@\"");
    stand_in(&place, "ssh", "shift; exec \"$@\"");
    let mut restore = place.command(&["restore", "drill.yaml", "--yes", "--plain"]);
    let there = std::env::var_os("PATH").unwrap_or_default();
    let path = [place.path("bin")]
        .into_iter()
        .chain(std::env::split_paths(&there));
    restore.env("PATH", std::env::join_paths(path).expect("a PATH"));
    let ended = Program::start(restore).ended().await;
    let asked = fs::read_to_string(place.path("asked")).unwrap_or_default();
    let mut asked: Vec<&str> = asked.lines().collect();
    asked.sort_unstable();
    assert_eq!(
        asked,
        [
            "ssh [ops@127.0.0.1] [sudo] [systemctl] [restart] [order@order-1]",
            "sudo [systemctl] [restart] [order@order-1]",
            "systemctl [restart] [order@order-0]",
            "systemctl [restart] [order@order-1]",
        ],
        "{ended:?}"
    );
    ended.saying("restarted once").with_code(0);
}

//! A process dies while the fault is live, which would last for ten minutes more.

use std::{io::Read, process::Stdio, time::Duration};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::process::Signal;
use tokio::time::Instant;

use crate::{
    place::Place,
    proc,
    run::Run,
    shop::{ALLCLEAR, Shop, until},
};

/// From the kill to the last rule.
const BOUND: Duration = Duration::from_secs(10);

/// A run without a console, whose fault is live and has done harm.
async fn live(shop: &Shop) -> Run {
    let mut run = Run::start(shop, "10m").await;
    run.kill_console();
    run.until_has("fault_live").await;
    shop.is_harmed().await;
    assert!(!shop.rules().await.is_empty(), "the fault is live");
    run
}

#[tokio::test]
async fn the_keeper_killed_in_mid_fault_is_replaced_and_everything_put_back() {
    keeper_lost(Signal::KILL).await;
}

#[tokio::test]
async fn the_keeper_stopped_in_mid_fault_is_replaced_and_everything_put_back() {
    keeper_lost(Signal::STOP).await;
}

async fn keeper_lost(signal: Signal) {
    let shop = Shop::open().await;
    let run = live(&shop).await;
    let keeper = run.keeper().expect("a keeper");
    assert!(proc::signal(keeper, signal));
    let took = shop.no_rules_within(BOUND, Instant::now()).await;
    println!("keeper {signal:?}: no rule after {took:?}");
    let outcome = run.ends().await;
    assert!(!outcome["cause"]["keeper_lost"].is_null(), "{outcome}");
    let journal = run.journal();
    let kinds = ["gateway", "breaker", "flags"];
    let changed = |kind: &str| {
        journal
            .iter()
            .any(|e| !e["body"]["change_intended"][kind].is_null())
    };
    assert!(kinds.into_iter().all(changed), "the playbook has run");
    run.assert_nothing_left(&shop, "keeper lost in mid-fault").await;
}

#[tokio::test]
async fn the_deadman_killed_or_stopped_in_mid_fault_is_replaced_and_the_run_goes_on() {
    let shop = Shop::open().await;
    let mut run = Run::start(&shop, "40s").await;
    run.until_has("fault_live").await;
    for (already, signal) in [Signal::KILL, Signal::STOP].into_iter().enumerate() {
        until("a deadman that has said so", async || {
            run.count("deadman_ready") > already
        })
        .await;
        let first = run.deadman().expect("a deadman");
        assert!(proc::signal(first, signal));
        until("another deadman", async || {
            run.deadman().is_some_and(|now| now != first)
        })
        .await;
        until("the old one is gone", async || {
            run.processes().iter().all(|p| p.pid != first)
        })
        .await;
    }
    assert!(!shop.rules().await.is_empty(), "the fault is live still");
    assert_eq!(run.ends().await["cause"], "finished");
    assert_eq!(
        run.console_code().await,
        Some(6),
        "no row to establish, and all clear"
    );
    assert_eq!(run.count("deadman_lost"), 2);
    run.assert_nothing_left(&shop, "deadman lost").await;
}

#[tokio::test]
async fn a_killed_console_leaves_the_run_going() {
    let shop = Shop::open().await;
    let mut run = Run::start(&shop, "2s").await;
    run.until_has("fault_live").await;
    run.kill_console();
    assert_eq!(run.ends().await["cause"], "finished");
    run.assert_nothing_left(&shop, "console killed").await;
}

#[tokio::test]
async fn a_killed_tui_and_its_closed_terminal_leave_the_run_going() {
    let shop = Shop::open().await;
    let place = Place::new();
    let drill = place.drill("2s");
    let pty = native_pty_system().openpty(PtySize::default()).expect("a pty");
    let mut command = CommandBuilder::new(ALLCLEAR);
    command.args(["run", drill.to_str().expect("a path"), "--state-dir"]);
    command.arg(place.state());
    command.arg("--config");
    command.arg(shop.config());
    command.env("XDG_RUNTIME_DIR", place.runtime());
    command.env("TERM", "xterm");
    let mut console = pty.slave.spawn_command(command).expect("a console");
    drop(pty.slave);
    let mut screen = pty.master.try_clone_reader().expect("a reader");
    let reading = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = screen.read_to_end(&mut bytes);
        bytes.len()
    });
    let run = Run::of(place).await;
    run.until_has("fault_live").await;
    console.kill().expect("killed");
    let _ = console.wait();
    // The end of the terminal sends SIGHUP to whoever still belongs to it.
    drop(pty.master);
    assert_eq!(run.ends().await["cause"], "finished");
    assert!(
        reading.join().expect("read") > 0,
        "the console has shown something"
    );
    run.assert_nothing_left(&shop, "TUI killed").await;
}

#[tokio::test]
async fn no_child_holds_what_the_keeper_has_open() {
    let shop = Shop::open().await;
    let run = live(&shop).await;
    let deadman = run.deadman().expect("a deadman");
    let open = proc::open_files(deadman);
    let dir = run.dir().expect("a run").display().to_string();
    let held: Vec<_> = open
        .iter()
        .filter(|f| f.contains(&dir) || f.contains("environments") || f.starts_with("socket:"))
        .collect();
    assert!(held.is_empty(), "{held:?}");
    let keeper = run.keeper().expect("a keeper");
    assert!(proc::signal(keeper, Signal::HUP) && proc::signal(deadman, Signal::HUP));
    let recover = run
        .place
        .allclear(&shop, &["recover"])
        .stdout(Stdio::null())
        .status();
    assert_eq!(recover.expect("recover").code(), Some(0));
    let outcome = run.ends().await;
    assert!(
        !outcome["cause"]["asked"].is_null(),
        "SIGHUP changed nothing, the key did: {outcome}"
    );
    run.assert_nothing_left(&shop, "recovered").await;
}

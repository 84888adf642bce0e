//! Each process killed at every record of a quick run. `ALLCLEAR_KILL_STRIDE` says how many records apart; the script
//! `scripts/kill-loop` takes every one.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::{proc, run::Run, shop::Shop};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    KeeperKilled,
    KeeperStopped,
    DeadmanKilled,
    ConsoleKilled,
}

/// What a kill at one record came to.
struct Fate {
    record: usize,
    kind: String,
    gone: Duration,
    closed: Duration,
}

/// A hundred records are more than a quick run has.
const MOST: usize = 100;

#[tokio::test]
async fn the_keeper_killed_at_any_record_leaves_nothing() {
    at_records(Victim::KeeperKilled, 1).await;
}

#[tokio::test]
async fn the_keeper_stopped_at_any_record_leaves_nothing() {
    at_records(Victim::KeeperStopped, 4).await;
}

#[tokio::test]
async fn the_deadman_killed_at_any_record_leaves_nothing() {
    at_records(Victim::DeadmanKilled, 7).await;
}

#[tokio::test]
async fn the_console_killed_at_any_record_leaves_nothing() {
    at_records(Victim::ConsoleKilled, 10).await;
}

async fn at_records(victim: Victim, first: usize) {
    let stride = std::env::var("ALLCLEAR_KILL_STRIDE")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(11);
    let first = if stride == 1 { 1 } else { first };
    let shop = Shop::open().await;
    let mut kills = 0;
    for record in (first..MOST).step_by(stride) {
        let Some(fate) = one(&shop, victim, record).await else {
            break;
        };
        kills += 1;
        println!(
            "{victim:?} | {:3} {:<16} | no rule {:5.2} s | closed {:5.2} s | nothing left",
            fate.record,
            fate.kind,
            fate.gone.as_secs_f64(),
            fate.closed.as_secs_f64()
        );
    }
    assert!(kills > 2, "{victim:?}: only {kills} kills");
}

/// One run with one kill; none if the run has fewer records.
async fn one(shop: &Shop, victim: Victim, record: usize) -> Option<Fate> {
    let mut run = Run::start(shop, "1200ms").await;
    if !matches!(victim, Victim::ConsoleKilled) {
        // With nobody at the keyboard.
        run.kill_console();
    }
    if !run.reaches(record).await {
        return None;
    }
    let begin = Instant::now();
    strike(&mut run, victim);
    let kind = kind(&run, record);
    let when = format!("{victim:?} at record {record} ({kind})");
    let gone = no_rule_for_good(shop, &run, begin, &when).await;
    run.ends().await;
    run.assert_nothing_left(shop, &when).await;
    for warning in run
        .journal()
        .iter()
        .map(|e| &e["body"]["warning"])
        .filter(|w| !w.is_null())
    {
        println!("{when}: {warning}");
    }
    Some(Fate {
        record,
        kind,
        gone,
        closed: begin.elapsed(),
    })
}

fn strike(run: &mut Run, victim: Victim) {
    let (pid, signal) = match victim {
        Victim::ConsoleKilled => return run.kill_console(),
        Victim::KeeperKilled => (run.keeper(), Signal::KILL),
        Victim::KeeperStopped => (run.keeper(), Signal::STOP),
        Victim::DeadmanKilled => (run.deadman(), Signal::KILL),
    };
    // At the last record there may be none left.
    if let Some(pid) = pid {
        proc::signal(pid, signal);
    }
}

fn kind(run: &Run, record: usize) -> String {
    let body = run
        .journal()
        .into_iter()
        .nth(record - 1)
        .map(|e| e["body"].clone());
    let key = body.and_then(|b| b.as_object()?.keys().next().cloned());
    key.unwrap_or_default()
}

/// When the last rule was seen, from `begin` to the end of the run.
async fn no_rule_for_good(shop: &Shop, run: &Run, begin: Instant, when: &str) -> Duration {
    let mut last = Duration::ZERO;
    while run.outcome().is_none() {
        if !shop.rules().await.is_empty() {
            last = begin.elapsed();
        }
        assert!(
            begin.elapsed() < Duration::from_secs(120),
            "{when}: never closed, {:?}",
            run.processes()
        );
        sleep(Duration::from_millis(20)).await;
    }
    last
}

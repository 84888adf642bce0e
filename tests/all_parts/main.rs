//! One drill on real parts, all at once: a Redis cluster, Kafka, two HAProxy load balancers, two Spring Boot instances and
//! Prometheus, as `scripts/part/shop` starts them. What README's chapter "Against your systems" shows is what is run here.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test program: it may fail")]

#[path = "../luck_support/mod.rs"]
mod luck_support;
#[path = "../parts_support/mod.rs"]
mod parts_support;
mod point;
mod screen;
mod shop;
mod storm;
mod switch;

use std::time::Duration;

use allclear::journal::{KeeperLock, RunDir};
use luck_support::{Place, waiting};
use rustix::process::{Pid, Signal, kill_process};
use screen::Screen;
use shop::Lent;

/// Baseline and fault, on a busy machine.
const A_RUN: Duration = Duration::from_secs(300);

/// A place with the shop's own files: the drill with these changes.
fn place(shop: &Lent, changes: &[(&str, &str)]) -> Place {
    let place = Place::with(&shop.file("allclear.yaml"));
    place.file("dashboards/orders.yaml", shop.file("dashboards/orders.yaml"));
    let mut drill = shop.file("expectations/coupon-slow.yaml");
    for (from, to) in changes {
        assert!(drill.contains(from), "the drill has no `{from}`");
        drill = drill.replace(from, to);
    }
    place.file("expectations/coupon-slow.yaml", drill);
    place
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_in_the_middle_of_the_fault_brings_everything_back() {
    let shop = shop::open().await;
    let place = place(&shop, &[]);
    let before = shop.standing().await;
    let mut screen = Screen::open(&place.command(&["run", "coupon-slow"]));
    screen.shows("1 fault LIVE", A_RUN).await;
    shop.is_hurt().await;
    screen.press("r");
    screen.shows("RECOVERING", Duration::from_secs(20)).await;
    let end = screen.shows("CLOSED", A_RUN).await;
    assert!(end.contains("RECOVERY    ALL CLEAR"), "{end}");
    screen.press("q");
    assert_eq!(screen.ended().await, 130);
    assert_eq!(shop.standing().await, before);
    shop.serves().await;
    let shown = place.run(&["show"]).await.with_code(0);
    for step in ["drain", "breakers", "flags", "retry queue", "traffic", "release"] {
        let line = shown.out.lines().find(|line| line.contains(step));
        let line = line.unwrap_or_else(|| panic!("no step {step}: {}", shown.out));
        assert!(line.contains("DONE") || line.contains("ON HOLD"), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: scripts/test all"]
async fn a_keeper_that_is_killed_in_the_middle_of_the_fault_leaves_nothing() {
    let shop = shop::open().await;
    let place = place(
        &shop,
        &[("baseline: 90s", "baseline: 60s"), ("window: 2s", "window: 1s")],
    );
    let before = shop.standing().await;
    let mut screen = Screen::open(&place.command(&["run", "coupon-slow"]));
    screen.shows("1 fault LIVE", A_RUN).await;
    shop.is_hurt().await;
    kill_process(keeper(&place), Signal::KILL).expect("it runs");
    let end = screen.shows("CLOSED", A_RUN).await;
    assert!(end.contains("RECOVERY    ALL CLEAR"), "{end}");
    screen.press("q");
    assert_eq!(screen.ended().await, 3);
    assert_eq!(shop.standing().await, before);
    shop.serves().await;
}

/// The keeper of the only run there.
fn keeper(place: &Place) -> Pid {
    let runs = std::fs::read_dir(place.state().join("runs")).expect("runs");
    let run = runs.flatten().next().expect("a run").path();
    let holder = KeeperLock::holder(&RunDir::at(run)).expect("readable");
    let pid = holder.and_then(|holder| holder.pid).expect("a keeper");
    Pid::from_raw(i32::try_from(pid).expect("a process id")).expect("not zero")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: scripts/test all"]
async fn a_flag_that_the_service_sets_again_is_a_leftover() {
    let shop = shop::open().await;
    let changes = [
        ("baseline: 90s", "baseline: 60s"),
        ("window: 2s", "window: 1s"),
        ("within: 3m", "within: 20s"),
    ];
    let place = place(&shop, &changes);
    let mut screen = Screen::open(&place.command(&["run", "coupon-slow"]));
    screen.shows("1 fault LIVE", A_RUN).await;
    shop.is_hurt().await;
    shop.stubborn_flags(true).await;
    screen.press("r");
    let end = screen.shows("CLOSED", A_RUN).await;
    assert!(
        end.contains("LEFTOVER") && !end.contains("RECOVERY    ALL CLEAR"),
        "{end}"
    );
    screen.press("q");
    assert_eq!(screen.ended().await, 4);
    assert!(shop.flags().await.len() > 50, "the flags are there");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: scripts/test all"]
async fn the_same_file_is_rehearsed_and_serves_in_a_real_incident() {
    let shop = shop::open().await;
    let short = [
        ("baseline: 90s", "baseline: 60s"),
        ("window: 2s", "window: 1s"),
        ("duration: 2m", "duration: 30s"),
    ];
    let place = place(&shop, &short);
    let before = shop.standing().await;
    let rehearsed = place
        .run(&["rehearse", "coupon-slow", "--plain"])
        .await
        .with_code(0);
    assert!(rehearsed.out.contains("ALL CLEAR"), "{}", rehearsed.out);
    assert_eq!(shop.standing().await, before);

    shop.without_quota().await;
    shop.coupons_are_slow(true).await;
    shop.is_hurt().await;
    shop.coupons_are_slow(false).await;
    let restored = place
        .run(&["restore", "coupon-slow", "--yes", "--plain"])
        .await
        .with_code(0);
    assert!(restored.out.contains("ALL CLEAR"), "{}", restored.out);
    shop.serves().await;
}

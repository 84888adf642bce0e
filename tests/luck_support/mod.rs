//! The binary, a range of its own, and a place for its files: what the end-to-end tests are made of.
#![allow(dead_code, unused_imports, reason = "each test file uses its own part")]

mod place;
mod program;
mod real;
mod shop;
#[path = "../waiting/mod.rs"]
pub mod waiting;

pub use place::Place;
pub use program::{Ended, Program};
pub use real::{Prometheus, Redis, say};
pub use shop::Shop;

use std::time::Duration;

use waiting::Patience;

/// The coupon drill, with these changes.
pub fn drill(changes: &[(&str, &str)]) -> String {
    changed(include_str!("../luck/coupon-slow.yaml"), changes)
}

/// The drill whose verdicts do not matter, with these changes.
pub fn any_verdict(changes: &[(&str, &str)]) -> String {
    changed(include_str!("../luck/any-verdict.yaml"), changes)
}

fn changed(drill: &str, changes: &[(&str, &str)]) -> String {
    let mut text = drill.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "the drill has no `{from}`");
        text = text.replace(from, to);
    }
    text
}

/// Asks until it holds. The deadline is for a busy machine.
pub async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let patience = Patience::new(Duration::from_secs(60), Duration::from_millis(50));
    patience.until(what, async || holds().await).await;
}

/// A port that is free now.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// How many ranges run at once: more, and their answers are no longer quick on a small machine.
const RANGES: u32 = 2;

/// Leave to run a range: beside another, or alone where a verdict needs quiet.
pub async fn turn(alone: bool) -> tokio::sync::SemaphorePermit<'static> {
    static TURNS: tokio::sync::Semaphore = tokio::sync::Semaphore::const_new(RANGES as usize);
    let share = if alone { RANGES } else { 1 };
    TURNS.acquire_many(share).await.expect("never closed")
}

//! A retry topic of a real shop let go by the shop's own switch: how near the measured rate comes to the rate that was asked
//! for. What is made good is counted by the shop, not by its switch. Ends with 1 if the bound is missed.
#![allow(clippy::print_stdout, missing_docs, clippy::unwrap_used)]

#[path = "stand/bound.rs"]
mod bound;
#[path = "../tests/parts_support/mod.rs"]
mod parts_support;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../tests/all_parts/shop/mod.rs"]
mod shop;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../tests/all_parts/switch.rs"]
mod switch;
#[path = "../tests/waiting/mod.rs"]
mod waiting;

use std::process::ExitCode;

use allclear::{engine::recovery::release_retry, model::recovery::StepState};

/// Of each instance, in retries a second: one takes 20 ms.
const RATE: f64 = 40.0;
const STORM: u32 = 7600;
/// Of the rate, in any minute.
const WITHIN: f64 = 0.02;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let shop = shop::open().await;
        let staged = switch::switches(&shop, RATE).ready().await;
        switch::held(&shop, &staged, STORM).await;
        println!("{STORM} retries of two instances, asked for 2 × {RATE}/s");
        let (end, seen) = switch::watched(&shop, release_retry(&staged.scene)).await;
        println!("{:?}, {}", end.state, end.detail.en());
        let minutes: Vec<f64> = seen
            .iter()
            .filter_map(|(at, made)| {
                let (then, there) = seen.iter().find(|(then, _)| then - at >= 60.0)?;
                Some((there - made) / (then - at))
            })
            .collect();
        let first = minutes.first().copied().unwrap_or_default();
        println!("  the first 60 s: {first:.1}/s");
        let (least, most) = minutes.iter().fold((f64::MAX, 0.0_f64), |(least, most), m| {
            (least.min(*m), most.max(*m))
        });
        println!("  any 60 s of it: {least:.1} to {most:.1}/s");
        let off = |rate: f64| (rate / (2.0 * RATE) - 1.0).abs();
        let within = [first, least, most].into_iter().all(|rate| off(rate) <= WITHIN);
        let is_met = within && end.state == StepState::Done;
        println!("bound of 2 % in any minute {}", bound::word(is_met));
        bound::code()
    })
}

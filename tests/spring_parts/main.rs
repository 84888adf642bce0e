//! Breakers and pools of a real Spring Boot app with Resilience4j, and rules of a real app with Sentinel: read before the drill, put
//! back, read again. Needs a JDK and Maven: scripts/needs installs them. The apps start once for the whole file, by
//! scripts/part/spring and scripts/part/sentinel, and go down with it.

mod app;
#[path = "../../benches/stand/engine.rs"]
mod engine;
mod killed;
mod luck;
#[path = "../parts_support/mod.rs"]
mod parts_support;
mod pools;
mod preflight;
mod sentinel;
mod stage;
mod states;
#[path = "../waiting/mod.rs"]
mod waiting;

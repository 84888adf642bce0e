//! Retry topics on a real Kafka: what is read, what is changed, and what bad luck leaves.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod access;
mod backlog;
mod lag;
mod late;
mod luck;
mod moves;
mod muted;
mod pair;
mod part;
#[path = "../parts_support/mod.rs"]
mod parts_support;
mod quota;
mod stage;

//! Recovery on a real Kubernetes API server: what is read, what is changed, and what bad luck leaves.
#![allow(clippy::unwrap_used, missing_docs)]

mod at_zero;
#[path = "../kafka_parts/backlog.rs"]
mod backlog;
mod gate;
mod gateway;
#[path = "../kafka_parts/part.rs"]
#[allow(dead_code)]
mod kafka;
mod late;
mod lease;
mod luck;
mod part;
#[path = "../parts_support/mod.rs"]
mod parts_support;
mod preflight;
mod proxy;
mod rehearse;
mod restart;
mod rollout;
mod route;
mod scale;
mod stage;
#[path = "../support/mod.rs"]
mod support;
mod unread;

//! Retry queues on a real RocketMQ: what is read, what is changed, and what bad luck leaves.
#![allow(clippy::unwrap_used, missing_docs)]

mod access;
mod before;
mod beside;
mod flow;
mod hand;
mod killed;
mod luck;
mod part;
#[path = "../parts_support/mod.rs"]
mod parts_support;
mod proxy;
mod stage;
#[path = "../waiting/mod.rs"]
mod waiting;

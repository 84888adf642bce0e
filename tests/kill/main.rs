//! Whatever dies, at whatever moment: every fault is gone, and the system is as it was. With the real program, its real
//! processes and a range of its own.
#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a test program: it may fail, and it reports"
)]

mod both;
mod disk;
mod every_record;
mod live;
mod place;
mod proc;
mod recover;
mod restore;
mod run;
mod shop;
mod sockets;
#[path = "../waiting/mod.rs"]
mod waiting;

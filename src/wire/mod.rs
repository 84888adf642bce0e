//! The protocol on a keeper's socket: newline-delimited JSON, bounded, with two plain words that never change.
//!
//! A console's first line is an [`Attach`]; it gets a hello, the state, then every event. Any client may send the plain
//! line `STOP`, which recovers the run, or `SNAPSHOT`, which is answered by one line of JSON.

mod asks;
mod client;
mod connection;
mod error;
mod frames;
mod hub;
mod message;
mod place;
mod server;

#[cfg(test)]
mod tests;

pub use asks::{Asked, Asks, Peer};
pub use client::{Client, Incoming, Outgoing, snapshot, stop};
pub use error::WireError;
pub use hub::Hub;
pub use message::{
    Attach, FromKeeper, Hello, MAX_ASK, MAX_FRAME, OVER, SNAPSHOT, STOP, STOPPING, Shorten, ToKeeper,
};
pub use place::{remove_stale, socket_dir, socket_path};
pub use server::{Server, StateAt};

//! The console, from scripted events to frames and lines.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail")]

mod any;
mod docs;
mod fold;
mod frames;
#[path = "loop.rs"]
mod keyboard_loop;
mod keys;
mod plain;
mod story;
mod styles;

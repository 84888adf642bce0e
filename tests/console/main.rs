//! The console, from scripted events to frames and lines.
#![allow(missing_docs)]

mod any;
mod frames;
mod keys;
mod plain;
mod story;
mod styles;

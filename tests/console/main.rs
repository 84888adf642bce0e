//! The console, from scripted events to frames and lines.
#![allow(missing_docs)]

mod frames;
mod keys;
mod story;

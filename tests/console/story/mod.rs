//! One scripted run, told in events: a slow coupon service without its fallback. The guard ends it; a breaker cannot be
//! brought back at first.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    reason = "each test and the bench use a part of the story; its names are fixed"
)]

mod closed;
mod header;
mod names;
mod recovering;
mod running;
mod scenes;
mod silence;

pub use names::fault;

use allclear::{
    model::{event::*, time::Moment},
    view::RunView,
};
use jiff::Timestamp;

/// The wall time of moment 0.
const DAWN: i64 = 1_767_275_472;

/// The events so far, and the clock.
#[derive(Clone)]
pub struct Story {
    pub events: Vec<Event>,
    now: u64,
}

impl Story {
    pub fn new() -> Self {
        Self {
            events: Vec::new(),
            now: 0,
        }
    }

    pub fn wait(&mut self, ms: u64) -> &mut Self {
        self.now += ms;
        self
    }

    pub fn say(&mut self, body: Body) -> &mut Self {
        let at = Moment(self.now);
        self.events.push(Event {
            seq: self.events.len() as u64 + 1,
            at,
            wall: Timestamp::from_millisecond(DAWN * 1000 + self.now as i64).unwrap(),
            body,
        });
        self
    }

    pub fn view(&self) -> RunView {
        RunView::of(&self.events)
    }

    pub fn now(&self) -> Moment {
        Moment(self.now)
    }

    /// The names of the stages, with their stories.
    pub fn stages() -> Vec<(&'static str, Story)> {
        vec![
            ("preflight", Self::preflight()),
            ("baseline", Self::baseline()),
            ("cannot_arm", Self::cannot_arm()),
            ("running", Self::running()),
            ("recovering", Self::recovering()),
            ("verifying", Self::verifying()),
            ("closed_leftover", Self::closed_leftover()),
            ("closed_held", Self::closed_held()),
            ("refused", Self::refused()),
        ]
    }
}

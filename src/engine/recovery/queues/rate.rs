//! What every release has in common: from where on a backlog counts as back, and the rate that it was let go at.

use tokio::time::Instant;

use crate::model::{
    said::{Said, said},
    snapshot::RetryQueueSeen,
};

use super::count;

/// A backlog is back where it was below this: what a tenth of a second lets go is on its way, not waiting.
pub(super) fn back_at(before: &RetryQueueSeen, rate: f64) -> u64 {
    let moving = (rate / 10.0).ceil() as u64;
    before.backlog + moving.max(before.backlog / 10)
}

/// The rate of a release, over all the stretches in which the queue was let go.
pub(super) struct Measured {
    since: Instant,
    /// Seconds and messages of the stretches before this one.
    earlier: (f64, u64),
}

impl Measured {
    /// The first stretch begins now.
    pub(super) fn starting() -> Self {
        Self {
            since: Instant::now(),
            earlier: (0.0, 0),
        }
    }

    /// How long this stretch is by now.
    pub(super) fn seconds(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }

    fn total(&self, moved: u64) -> (f64, u64) {
        let (seconds, earlier) = self.earlier;
        (seconds + self.seconds(), earlier + moved)
    }

    /// The stretch is over; so many messages went in it.
    pub(super) fn rest(&mut self, moved: u64) {
        self.earlier = self.total(moved);
    }

    /// The next stretch begins now.
    pub(super) fn go_on(&mut self) {
        self.since = Instant::now();
    }

    /// The rate in words, with so many messages in this stretch; a dash until it is measured over `least` seconds.
    pub(super) fn told(&self, moved: u64, least: f64) -> Said {
        match self.total(moved) {
            (seconds, moved) if seconds >= least => measured(moved as f64 / seconds),
            _ => said!("--/s measured", "实测 --/s"),
        }
    }
}

/// A measured rate, in messages a second.
pub(super) fn measured(rate: f64) -> Said {
    said!("{rate:.1}/s measured", "实测 {rate:.1}/s")
}

/// How a release goes: from where, to where, and at which rate of which.
pub(super) fn under_way((from, to): (u64, u64), measured: &Said, rate: f64) -> Said {
    let (from, to) = (count(from), count(to));
    said!(
        measured;
        "backlog {from} → {to} at {measured} of {rate}/s",
        "积压 {from} → {to}，{measured}，限速 {rate}/s"
    )
}

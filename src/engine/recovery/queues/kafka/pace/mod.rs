//! The quota that lets a topic go at a rate: pure arithmetic over the measured progress.
//!
//! A broker lets a fetch through if it and what went through in the window of eleven seconds before it is no more than quota ×
//! window. So the quota is the bound of a sum: if it is (what should have gone by now − what had gone when the window began) ÷
//! window, then all that ever went through is never more than what should have by now, whatever the broker, the consumers and
//! their commits do in between. What had gone eleven seconds ago is known for certain: a commit comes every five. What fetches
//! cost more than their messages, and what the windows of other brokers cannot use, shows as a lasting lack, and is slowly added.

mod track;

#[cfg(test)]
mod broker;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::drivers::kafka::Weight;

use super::WINDOW;
use track::Track;

/// Seconds between two commits, and one look: the consumers' default, and what a track believes of a slower one.
const COMMITS: f64 = 5.5;
/// The first seconds' worth, at once: what the hold's mute and the first commit cost.
const BEGIN: f64 = 3.0;
/// The quota as a multiple of the rate: never lower, or one fetch too many would mute a consumer for long …
const LOWEST: f64 = 0.3;
/// … and never higher, whatever is lacking.
const HIGHEST: f64 = 2.5;
/// Seconds that a fetch which does not fit any more may mute its consumer for.
pub(super) const MUTED: f64 = 8.0;
/// Seconds' worth that may be lacking; more is forgiven. Consumers that were down are not let loose when they come back.
const BEHIND: f64 = 18.0;
/// Seconds without any progress after which the release begins again.
const STILL: f64 = 20.0;
/// More than these seconds' worth at once is a burst; less may be what the consumers commit at a time.
const BURST: f64 = 9.0;
/// Seconds over which bursts are remembered.
const REMEMBERED: f64 = 60.0;
/// Seconds in which a lasting lack is added once, and the most that is ever added, in seconds' worth.
const ADDED: f64 = 40.0;
const MOST_ADDED: f64 = 12.0;
/// Messages may be so many times larger or smaller than those that were seen.
const MOST: f64 = 16.0;
/// Any minute strays by what comes at once: these seconds of sixty are the bound of ten percent.
const COARSE: f64 = 6.0;

/// A release at a rate. Times are seconds since it began.
#[derive(Debug)]
pub(super) struct Pace {
    rate: f64,
    weight: Weight,
    seen: Weight,
    flows: f64,
    tracks: Vec<Track>,
    /// The group as a whole.
    whole: Track,
    /// Messages that are no longer expected of the time that has passed.
    forgiven: f64,
    /// Messages that are expected beyond it, for what the way costs.
    added: f64,
    last: f64,
    quotas: VecDeque<(f64, f64)>,
    stretch: Stretch,
}

/// Since when the messages' size is watched.
#[derive(Debug, Default)]
struct Stretch {
    since: f64,
    moved: f64,
    forgiven: f64,
}

impl Pace {
    /// A release of `rate` messages a second of this weight, on so many ways with a window of their own: a broker counts each
    /// client id apart.
    pub(super) fn new(rate: f64, weight: Weight, flows: usize) -> Self {
        Self {
            rate,
            weight,
            seen: weight,
            flows: flows.max(1) as f64,
            tracks: Vec::new(),
            whole: Track::new(REMEMBERED),
            forgiven: 0.0,
            added: 0.0,
            last: 0.0,
            quotas: VecDeque::new(),
            stretch: Stretch::default(),
        }
    }

    /// From now on it goes on so many ways.
    pub(super) fn flows(&mut self, flows: usize) {
        self.flows = flows.max(1) as f64;
    }

    /// The quota of each client id in bytes a second from now on; `moved` is how far the group has come in each partition since
    /// the beginning.
    pub(super) fn quota(&mut self, now: f64, moved: &[u64]) -> f64 {
        self.tracks.resize_with(moved.len(), || Track::new(2.0 * WINDOW));
        for (track, moved) in self.tracks.iter_mut().zip(moved) {
            track.sees(now, *moved as f64);
        }
        self.whole.sees(now, moved.iter().sum::<u64>() as f64);
        self.forgive(now);
        self.add(now);
        self.weigh(now);
        let before: f64 = self.tracks.iter().map(|t| t.at(now - WINDOW, COMMITS)).sum();
        let steady = WINDOW * self.rate;
        let most = (HIGHEST * steady).max(self.whole_batch());
        let due = (self.expected(now) - before).clamp(LOWEST * steady, most);
        // What is in the window already mutes the next fetch in proportion to the quota's fall.
        let inside = (self.whole.moved() - before) * self.weight.message;
        let inside = inside.min(self.in_force(now) * WINDOW);
        let bytes = (due * self.weight.message).max(inside * WINDOW / (WINDOW + MUTED));
        let quota = (bytes / WINDOW).max(self.weight.batch / (WINDOW + MUTED));
        self.quotas.push_back((now, quota));
        while self.quotas.front().is_some_and(|(at, _)| now - at > STILL) {
            self.quotas.pop_front();
        }
        quota / self.flows
    }

    /// Seconds' worth that come at once, where that is too much for an even minute: as bursts were seen, or a batch is known.
    pub(super) fn coarse(&self) -> Option<f64> {
        let batch = self.seen.batch / self.seen.message;
        let seconds = self.burst().max(batch) / self.rate;
        (seconds > COARSE).then_some(seconds)
    }

    fn expected(&self, now: f64) -> f64 {
        self.rate * (now + BEGIN) + self.added - self.forgiven
    }

    /// A batch comes whole or not at all: the messages that must be lacking until it fits.
    fn whole_batch(&self) -> f64 {
        1.3 * self.weight.batch / self.weight.message
    }

    /// The largest burst that is remembered, in messages.
    fn burst(&self) -> f64 {
        let largest = self.whole.largest_step();
        match largest > BURST * self.rate {
            true => largest.min(2.0 * WINDOW * self.rate),
            false => 0.0,
        }
    }

    /// The highest quota of the last window.
    fn in_force(&self, now: f64) -> f64 {
        let within = self.quotas.iter().filter(|(at, _)| now - at <= WINDOW);
        within.map(|(_, quota)| *quota).fold(0.0, f64::max)
    }

    fn forgive(&mut self, now: f64) {
        let burst = self.burst();
        let still = if burst > 0.0 { 2.0 * STILL } else { STILL };
        let most = match now - self.whole.when() > still {
            true => BEGIN * self.rate,
            false => BEHIND * self.rate + 1.5 * burst,
        };
        let over = self.expected(now) - self.whole.moved() - most.max(self.whole_batch());
        if over > 0.0 {
            self.forgiven += over;
            self.stretch.forgiven += over;
        }
    }

    fn add(&mut self, now: f64) {
        let shown = self.whole.moved() + COMMITS / 2.0 * self.rate;
        let lacking = self.rate * now - self.forgiven - shown;
        let added = self.added + lacking * (now - self.last) / ADDED;
        self.added = added.clamp(0.0, MOST_ADDED * self.rate);
        self.last = now;
    }

    /// Messages of another size than was thought show as a rate that no quota within its limits mends.
    fn weigh(&mut self, now: f64) {
        let seconds = now - self.stretch.since;
        if seconds < STILL {
            return;
        }
        let moved = self.whole.moved() - self.stretch.moved;
        let ahead = self.whole.moved() - self.expected(now);
        if moved <= 0.0 {
            // A standstill with all that may be lacking may be a batch that does not fit. It says nothing of the messages.
            if self.stretch.forgiven <= 0.0 {
                return;
            }
            self.weight.batch = (self.weight.batch * 1.5).min(self.seen.batch * MOST);
        } else if self.stretch.forgiven > 0.2 * seconds * self.rate {
            let times = (self.rate * seconds / moved).clamp(1.0, 1.5);
            self.weight.message = (self.weight.message * times).min(self.seen.message * MOST);
        } else if ahead > BURST * self.rate {
            let quotas: f64 = self.quotas.iter().map(|(_, quota)| quota).sum();
            let let_through = quotas / self.quotas.len().max(1) as f64 * seconds;
            let lightest = (self.seen.message / MOST).min(self.weight.message);
            self.weight.message = (let_through / moved).clamp(lightest, self.weight.message);
        }
        self.stretch = Stretch {
            since: now,
            moved: self.whole.moved(),
            forgiven: 0.0,
        };
    }
}

//! The quota that lets a topic go at a rate: pure arithmetic over the measured progress.
//!
//! A broker lets a consumer fetch up to ten seconds of its quota at once, and only when that fits into the window of eleven
//! seconds that the quota is measured over. Consumers that fetch as much as they get move in bursts: ten seconds' worth, and then
//! nothing for ten or twenty. So the quota answers to the sum and not to the moment: what the group lacks of rate × time is what
//! the next burst may bring. The first eleven seconds begin low, so that small fetches lie evenly in the window ever after.

use std::collections::VecDeque;

use crate::drivers::kafka::Weight;

use super::retry_kafka::WINDOW;

/// Seconds of its quota that a broker gives at once.
const AT_ONCE: f64 = WINDOW - 1.0;
/// The quota as a multiple of the rate: never lower, or one fetch too many would mute a consumer for long …
const LOWEST: f64 = 0.8;
/// … and never higher, whatever is lacking.
const HIGHEST: f64 = 2.5;
/// After a burst the quota falls no faster than that: a consumer that fetches again is muted in proportion to the fall.
const FALL: f64 = 0.9;
/// Seconds over which bursts are remembered, and after which a standstill or a lasting error means that the messages are not
/// as large as was thought.
const MEMORY: f64 = 25.0;
/// More than these seconds' worth at once is a burst; less may be what the consumers commit at a time.
const BURST: f64 = 7.0;
/// Seconds in which what is lacking is made up for.
const MADE_UP: f64 = 20.0;
/// The first quota, in seconds' worth of the window.
const BEGIN: f64 = 4.0;
/// By how much the messages' size is corrected at a time.
const CORRECTION: f64 = 1.5;

/// The largest messages that a standstill makes believe in, as a multiple of those that were seen: consumers that are down
/// are not slow, and must not be let loose when they come back.
const MOST: f64 = 16.0;

/// A release at a rate. Times are seconds since it began.
#[derive(Debug)]
pub(super) struct Pace {
    rate: f64,
    weight: Weight,
    most: Weight,
    /// The multiple of the rate that was last in force.
    share: f64,
    floor: f64,
    moved: f64,
    /// When the group moved, and by how much.
    steps: VecDeque<(f64, f64)>,
    corrected: f64,
}

impl Pace {
    /// A release of `rate` messages a second, of messages of this size.
    pub(super) fn new(rate: f64, weight: Weight) -> Self {
        Self {
            rate,
            most: Weight {
                message: weight.message * MOST,
                batch: weight.batch * MOST,
            },
            weight,
            share: 0.0,
            floor: 0.0,
            moved: 0.0,
            steps: VecDeque::new(),
            corrected: 0.0,
        }
    }

    /// The quota in bytes a second from now on; `moved` is how far the group has come since the beginning.
    pub(super) fn quota(&mut self, now: f64, moved: u64) -> f64 {
        let step = moved as f64 - self.moved;
        if step > 0.0 {
            self.moved = moved as f64;
            self.steps.push_back((now, step));
            if step > BURST * self.rate {
                self.floor = FALL * self.share;
            }
        }
        while self.steps.front().is_some_and(|(at, _)| now - at > MEMORY) {
            self.steps.pop_front();
        }
        // Bursts are let come late rather than early: right after one, the sum is right.
        let bursts = self
            .steps
            .iter()
            .map(|(_, step)| *step)
            .filter(|step| *step > BURST * self.rate);
        let late = bursts.fold(0.0, f64::max).min(AT_ONCE * self.rate);
        let lacking = self.rate * now - late - self.moved;
        self.correct(now, lacking);
        let wanted = 1.0 + lacking / (MADE_UP * self.rate);
        let begun = ((now + BEGIN) / WINDOW).min(1.0);
        let share = wanted.clamp(self.floor.clamp(LOWEST, HIGHEST), HIGHEST);
        self.share = share * begun;
        let bytes = self.share * self.rate * self.weight.message;
        // A batch comes whole or not at all.
        bytes.max(self.weight.batch / AT_ONCE)
    }

    fn correct(&mut self, now: f64, lacking: f64) {
        if now - self.corrected < MEMORY {
            return;
        }
        let behind = lacking > MEMORY * self.rate || self.steps.is_empty();
        let ahead = lacking < -MEMORY * self.rate;
        if behind {
            self.weight.message = (self.weight.message * CORRECTION).min(self.most.message);
            // Whatever the size, a standstill means that a whole batch does not fit.
            if self.steps.is_empty() {
                self.weight.batch = (self.weight.batch * 2.0).min(self.most.batch);
            }
        } else if ahead {
            self.weight.message /= CORRECTION;
        }
        if behind || ahead {
            self.corrected = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A broker's window, and a consumer that fetches again at once.
    struct Broker {
        message: f64,
        fetch: f64,
        commit: u32,
        passed: Vec<(f64, f64)>,
        muted_until: f64,
        fetched: f64,
    }

    impl Broker {
        fn of(message: f64, fetch: f64, commit_ms: u32) -> Self {
            Self {
                message,
                fetch,
                commit: commit_ms / 10,
                passed: Vec::new(),
                // The hold before still mutes it.
                muted_until: 5.0,
                fetched: 0.0,
            }
        }

        fn goes_on(&mut self, now: f64, quota: f64) {
            while now >= self.muted_until {
                let chunk = self.fetch.min(quota * AT_ONCE).max(self.message);
                self.passed.retain(|(at, _)| now.floor() - at.floor() < WINDOW);
                let used: f64 = self.passed.iter().map(|(_, bytes)| bytes).sum();
                if used + chunk <= quota * WINDOW {
                    self.passed.push((now, chunk));
                    self.fetched += (chunk / self.message).floor();
                    self.muted_until = now + 0.01;
                } else {
                    self.muted_until = now + ((used + chunk) / quota - WINDOW).max(0.01);
                }
            }
        }
    }

    /// Messages a second after one minute, and over all of `seconds`.
    fn run(mut broker: Broker, weight: Weight, rate: f64, seconds: u32) -> (f64, f64) {
        let mut pace = Pace::new(rate, weight);
        let (mut quota, mut committed, mut minute) = (0.0, 0.0, 0.0);
        for tick in 0..seconds * 100 {
            let now = f64::from(tick) / 100.0;
            if tick % 50 == 0 {
                quota = pace.quota(now, committed as u64);
            }
            broker.goes_on(now, quota);
            if tick % broker.commit == 0 {
                committed = broker.fetched;
            }
            if tick == 6000 {
                minute = broker.fetched / now;
            }
        }
        (minute, broker.fetched / f64::from(seconds))
    }

    fn weight(message: f64) -> Weight {
        Weight {
            message,
            batch: 16_384.0,
        }
    }

    #[test]
    fn small_fetches_keep_the_rate_within_a_minute() {
        for commit in [500, 5000] {
            let (minute, long) = run(Broker::of(200.0, 40_000.0, commit), weight(200.0), 200.0, 300);
            assert!(
                (165.0..=220.0).contains(&minute),
                "{minute} with commits each {commit} ms"
            );
            assert!(
                (180.0..=220.0).contains(&long),
                "{long} with commits each {commit} ms"
            );
        }
    }

    #[test]
    fn large_fetches_come_in_bursts_and_the_sum_is_right() {
        for commit in [500, 5000] {
            let (_, long) = run(Broker::of(1000.0, 50e6, commit), weight(1000.0), 200.0, 300);
            assert!(
                (175.0..=210.0).contains(&long),
                "{long} with commits each {commit} ms"
            );
        }
    }

    #[test]
    fn messages_of_another_size_than_thought_are_found_out() {
        for really in [100.0, 8000.0] {
            let (_, long) = run(Broker::of(really, 100_000.0, 1000), weight(1000.0), 200.0, 600);
            assert!((150.0..=250.0).contains(&long), "{long} of {really} bytes");
        }
    }

    #[test]
    fn consumers_that_were_down_for_an_hour_are_not_let_loose_when_they_come_back() {
        let (rate, message) = (200.0, 220.0);
        let mut pace = Pace::new(
            rate,
            Weight {
                message,
                batch: 20_000.0,
            },
        );
        let hour = (0..3600).map(|second| pace.quota(f64::from(second), 0));
        let most = hour.fold(0.0, f64::max);
        assert!(most <= MOST * HIGHEST * rate * message, "{most}");
    }
}

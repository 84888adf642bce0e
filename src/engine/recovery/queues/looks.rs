//! The last looks at how far a queue's consumers are, and how fast they have moved in them.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// Consumers tell their offsets every five seconds unless they say otherwise: what a look within that time shows may be older.
pub(super) const COMMIT: Duration = Duration::from_secs(6);

/// How far a queue's consumers are.
pub(super) trait Progress {
    /// Messages that they have come on since `earlier`.
    fn moved_since(&self, earlier: &Self) -> u64;
}

/// The last looks, as far back as is asked for, and one more.
#[derive(Debug)]
pub(super) struct Looks<P> {
    back: Duration,
    looks: VecDeque<(Instant, P)>,
}

impl<P: Progress> Looks<P> {
    /// None yet; they are kept for `back`.
    pub(super) fn over(back: Duration) -> Self {
        Self {
            back,
            looks: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, now: P) {
        self.looks.push_back((Instant::now(), now));
        while self.looks.get(1).is_some_and(|(at, _)| at.elapsed() >= self.back) {
            self.looks.pop_front();
        }
    }

    /// Messages a second over the last `span`, or over what is known of it; never measured over less than `least`.
    pub(super) fn pace(&self, span: Duration, least: Duration) -> f64 {
        let whole = self.looks.iter().rev().find(|(at, _)| at.elapsed() >= span);
        let (Some((at, first)), Some(last)) = (whole.or(self.looks.front()), self.last()) else {
            return 0.0;
        };
        last.moved_since(first) as f64 / at.elapsed().max(least).as_secs_f64()
    }

    /// How long ago the first of them was.
    pub(super) fn reach(&self) -> Duration {
        self.looks.front().map_or(Duration::ZERO, |(at, _)| at.elapsed())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &P> {
        self.looks.iter().map(|(_, look)| look)
    }

    pub(super) fn last(&self) -> Option<&P> {
        self.looks.back().map(|(_, look)| look)
    }

    pub(super) fn into_last(mut self) -> Option<P> {
        self.looks.pop_back().map(|(_, look)| look)
    }
}

//! How long a failing server is left alone.

use std::hash::{BuildHasher, RandomState};

use tokio::time::{Duration, Instant};

/// The first pause. Doubled at each failure.
const FIRST: Duration = Duration::from_secs(1);

/// The longest pause: the guard is blind for that long after the server is back, so it is short.
const LONGEST: Duration = Duration::from_secs(10);

/// Pauses between attempts: doubled, capped, and spread so that many consoles do not come back at once.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// How long still to wait; `None` if the server may be asked.
    pub(super) fn remaining(&self, now: Instant) -> Option<Duration> {
        let left = self.until?.checked_duration_since(now)?;
        (!left.is_zero()).then_some(left)
    }

    /// It failed: wait for between half and all of the doubled pause.
    pub(super) fn failed(&mut self, now: Instant) {
        let full = FIRST.saturating_mul(1 << self.failures.min(8)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.until = Some(now + full.mul_f64(0.5 + 0.5 * random_share()));
    }

    /// It answered.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }
}

/// 0 to 1. The standard library's only source of chance is good enough for a jitter.
fn random_share() -> f64 {
    (RandomState::new().hash_one(0u8) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_are_capped() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        assert_eq!(backoff.remaining(now), None);
        for full in [1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0] {
            backoff.failed(now);
            let left = backoff.remaining(now).unwrap().as_secs_f64();
            assert!((full / 2.0..=full).contains(&left), "{left} of {full}");
        }
        assert_eq!(backoff.remaining(now + LONGEST), None);
    }

    #[test]
    fn an_answer_ends_the_pause() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        backoff.failed(now);
        backoff.answered();
        assert_eq!(backoff.remaining(now), None);
    }
}

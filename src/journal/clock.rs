//! The one clock of a run: monotonic, and it counts suspend.

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

use crate::model::time::Moment;

/// `CLOCK_BOOTTIME` of the machine. Two processes agree on it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock;

impl Clock {
    /// Now.
    pub fn now(self) -> Moment {
        let t = clock_gettime(ClockId::Boottime);
        Moment(t.tv_sec.unsigned_abs() * 1000 + t.tv_nsec.unsigned_abs() / 1_000_000)
    }

    /// Now, for people.
    pub fn wall(self) -> Timestamp {
        Timestamp::now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_the_one_that_counts_suspend() {
        let boot = || {
            let t = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
            Moment(t.tv_sec.unsigned_abs() * 1000 + t.tv_nsec.unsigned_abs() / 1_000_000)
        };
        let before = boot();
        let now = Clock.now();
        assert!(before <= now && now <= boot());
    }
}

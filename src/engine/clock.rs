//! The one clock of a run: monotonic, and it counts suspend.

use jiff::Timestamp;

use crate::model::time::{Moment, Span};

/// A gap between two ticks longer than this means that the machine slept or the keeper hung.
pub const SUSPEND_GAP: Span = Span::seconds(5);

/// `CLOCK_BOOTTIME` of the machine. Two processes agree on it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock;

impl Clock {
    /// Now.
    pub fn now(self) -> Moment {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Moment(t.tv_sec.unsigned_abs() * 1000 + t.tv_nsec.unsigned_abs() / 1_000_000)
    }

    /// Now, for people.
    pub fn wall(self) -> Timestamp {
        Timestamp::now()
    }
}

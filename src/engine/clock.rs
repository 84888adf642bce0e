//! The one clock of a run: monotonic, and it counts suspend.

use jiff::Timestamp;

use crate::model::time::{Moment, Span};

/// A gap between two ticks longer than this means that the machine slept or the keeper hung.
pub const SUSPEND_GAP: Span = Span::seconds(5);

/// Where the time comes from.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// `CLOCK_BOOTTIME` of the machine.
    Boot,
    /// The runtime's clock, which tests can pause and advance.
    Runtime(tokio::time::Instant),
}

impl Clock {
    /// A clock that follows the runtime's, from now on.
    pub fn runtime() -> Self {
        Clock::Runtime(tokio::time::Instant::now())
    }

    /// Now.
    pub fn now(self) -> Moment {
        match self {
            Clock::Boot => {
                let t = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                Moment(t.tv_sec as u64 * 1000 + t.tv_nsec as u64 / 1_000_000)
            }
            Clock::Runtime(start) => Moment(start.elapsed().as_millis() as u64),
        }
    }

    /// Now, for people.
    pub fn wall(self) -> Timestamp {
        Timestamp::now()
    }
}

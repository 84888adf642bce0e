//! Whether the machine slept, or the keeper hung, between two ticks.

use crate::model::time::{Moment, Span};

/// A gap between two ticks longer than this means that the machine slept or the keeper hung.
pub const SUSPEND_GAP: Span = Span::seconds(5);

/// How long the machine slept or the keeper hung between two ticks, if it was long enough to matter.
pub fn slept(last: Moment, now: Moment) -> Option<Span> {
    let gap = now.since(last);
    (gap > SUSPEND_GAP).then_some(gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_gap_of_more_than_five_seconds_is_a_sleep() {
        let last = Moment(1_000);
        assert_eq!(slept(last, last + Span::millis(100)), None);
        assert_eq!(slept(last, last + Span::seconds(5)), None);
        assert_eq!(slept(last, last + Span::millis(5_001)), Some(Span::millis(5_001)));
        assert_eq!(slept(last, Moment(0)), None, "a clock that goes back is no sleep");
    }
}

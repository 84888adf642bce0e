//! A keeper that dies again and again is not started again and again without pause: each of its deaths would only be the
//! next one's beginning.

use tokio::time::{Instant, interval};

use crate::model::time::{Moment, Span};

/// That many takeovers may follow each other at once.
const AT_ONCE: usize = 3;

/// Within this time.
const WITHIN: Span = Span::seconds(60);

/// The first pause; each further one is twice as long.
const FIRST: Span = Span::seconds(5);

/// The longest pause: the faults' own expiry is about as far away.
const LONGEST: Span = Span::seconds(60);

/// How long a keeper waits at most before it stops the faults: long enough that one which dies of that itself is not started
/// again without pause.
const BEFORE_FAULTS: Span = Span::seconds(1);

/// How often the deadman hears that this keeper only waits.
const BEAT: Span = Span::millis(250);

/// A pause in two: what comes before the faults are stopped, and what comes after. To stop them is safe and urgent, so that the
/// first keeper that pauses at all does it at once; one that follows it may have died of just that.
pub(super) fn around_the_faults(pause: Span) -> (Span, Span) {
    let before = if pause > FIRST { BEFORE_FAULTS } else { Span::ZERO };
    (before, Span(pause.0.saturating_sub(before.0)))
}

/// How long the keeper that takes over at `now` waits, after those that took over before it, oldest first. Zero unless
/// three of them lie within a minute; then longer with each that did not last longer than its own pause and a minute.
pub(super) fn pause_before(takeovers: &[Moment], now: Moment) -> Span {
    let mut pauses = 0;
    for (i, at) in takeovers.iter().chain([&now]).enumerate() {
        let earlier = &takeovers[..i];
        let lasted = earlier.last().map(|before| at.since(*before));
        let soon = lasted.is_some_and(|lasted| lasted <= nth(pauses) + WITHIN);
        let recent = |t: &&Moment| at.since(**t) <= WITHIN;
        pauses = match pauses {
            n if n > 0 && soon => n + 1,
            _ if earlier.iter().filter(recent).count() >= AT_ONCE => 1,
            _ => 0,
        };
    }
    nth(pauses)
}

fn nth(pause: u32) -> Span {
    match pause {
        0 => Span::ZERO,
        n => (FIRST * (1 << (n - 1).min(10))).min(LONGEST),
    }
}

/// Waits, and beats meanwhile: a keeper that waits is none that hangs.
pub(super) async fn wait(pause: Span, mut beat: impl FnMut()) {
    let end = Instant::now() + pause.into();
    let mut rhythm = interval(BEAT.into());
    while Instant::now() < end {
        rhythm.tick().await;
        beat();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(1_000_000 + seconds * 1_000)
    }

    fn pause(takeovers: &[u64], now: u64) -> Span {
        let takeovers: Vec<Moment> = takeovers.iter().map(|s| at(*s)).collect();
        pause_before(&takeovers, at(now))
    }

    #[test]
    fn three_takeovers_within_a_minute_are_followed_by_growing_pauses() {
        assert_eq!(pause(&[], 0), Span::ZERO);
        assert_eq!(pause(&[0, 1], 2), Span::ZERO);
        assert_eq!(pause(&[0, 1, 2], 3), Span::seconds(5));
        assert_eq!(pause(&[0, 1, 2, 8], 9), Span::seconds(10));
        assert_eq!(pause(&[0, 1, 2, 8, 19], 20), Span::seconds(20));
    }

    #[test]
    fn a_keeper_that_always_dies_at_once_is_started_once_a_minute_in_the_end() {
        let (mut takeovers, mut now, mut pauses) = (Vec::new(), at(0), Vec::new());
        for _ in 0..20 {
            let pause = pause_before(&takeovers, now);
            pauses.push(pause);
            takeovers.push(now + pause);
            now = now + pause + Span::seconds(1);
        }
        assert!(pauses.is_sorted(), "{pauses:?}");
        assert_eq!(pauses.last(), Some(&LONGEST));
    }

    #[test]
    fn faults_are_stopped_before_the_pause_and_never_without_any_rest() {
        let seconds = Span::seconds;
        assert_eq!(around_the_faults(Span::ZERO), (Span::ZERO, Span::ZERO));
        assert_eq!(around_the_faults(seconds(5)), (Span::ZERO, seconds(5)));
        assert_eq!(around_the_faults(seconds(10)), (seconds(1), seconds(9)));
        assert_eq!(around_the_faults(LONGEST), (seconds(1), seconds(59)));
    }

    #[test]
    fn takeovers_far_apart_are_followed_at_once() {
        assert_eq!(pause(&[0, 40, 80], 120), Span::ZERO);
        assert_eq!(pause(&[0, 1, 2], 300), Span::ZERO);
        // One that lasted begins anew.
        assert_eq!(pause(&[0, 1, 2, 8], 400), Span::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_waits_is_heard_by_its_deadman() {
        let (begin, mut beats) = (Instant::now(), 0);
        wait(Span::seconds(10), || beats += 1).await;
        let took = Span::from(begin.elapsed());
        assert!(took >= Span::seconds(10) && took < Span::seconds(11), "{took}");
        assert!(beats >= 40, "{beats}");
    }
}

//! How long a stage of the way back has been held, and when it ends all the same.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::{engine::recovery::elapsed, model::time::Span};

/// Beyond its hold a stage may take this many times the patience of a step.
const STEPS: u64 = 3;

/// A stage that is held. What is seen to be otherwise begins it anew; a look that fails only keeps it from ending, so that a few of
/// them do not keep traffic away for ever.
pub(super) struct Held {
    hold: Span,
    step: Span,
    begin: Instant,
    /// Whose last look failed, and since when.
    unseen: BTreeMap<String, Instant>,
}

impl Held {
    /// The stage begins now; `step` is the patience of a step.
    pub(super) fn starting(hold: Span, step: Span) -> Self {
        Self {
            hold,
            step,
            begin: Instant::now(),
            unseen: BTreeMap::new(),
        }
    }

    /// It was not as set.
    pub(super) fn begin_anew(&mut self) {
        self.begin = Instant::now();
    }

    /// The look at one target worked.
    pub(super) fn seen(&mut self, who: &str) {
        self.unseen.remove(who);
    }

    /// The look at one target failed; whether that has lasted too long.
    pub(super) fn is_lost(&mut self, who: &str) -> bool {
        let since = *self.unseen.entry(who.to_owned()).or_insert_with(Instant::now);
        elapsed(since) > self.step || self.is_overdue()
    }

    /// Whether it was held for its time.
    pub(super) fn is_over(&self) -> bool {
        elapsed(self.begin) >= self.hold
    }

    /// Whether it takes too long, with no end in sight.
    pub(super) fn is_overdue(&self) -> bool {
        elapsed(self.begin) > self.hold + self.step * STEPS
    }

    /// In whole seconds.
    pub(super) fn so_far(&self) -> Span {
        Span::seconds(elapsed(self.begin).0 / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Span = Span::seconds(20);

    #[tokio::test(start_paused = true)]
    async fn looks_that_fail_now_and_then_lose_nobody_until_the_stage_is_overdue() {
        let hold = Span::seconds(30);
        let mut held = Held::starting(hold, STEP);
        let mut lost_after = None;
        while lost_after.is_none() {
            tokio::time::advance(Span::seconds(1).into()).await;
            // Every second look fails.
            held.seen("order-0");
            tokio::time::advance(Span::seconds(1).into()).await;
            lost_after = held.is_lost("order-0").then(|| held.so_far());
        }
        let lost_after = lost_after.unwrap();
        assert!(held.is_over());
        assert!(
            lost_after > hold + STEP * STEPS && lost_after <= hold + STEP * STEPS + Span::seconds(2),
            "{lost_after}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_never_seen_is_lost_after_a_step_and_another_that_is_seen_is_not() {
        let mut held = Held::starting(Span::seconds(300), STEP);
        assert!(!held.is_lost("order-0"));
        tokio::time::advance((STEP + Span::seconds(1)).into()).await;
        held.seen("order-1");
        assert!(!held.is_lost("order-1"));
        assert!(held.is_lost("order-0"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_as_set_begins_the_stage_anew() {
        let mut held = Held::starting(Span::seconds(30), STEP);
        tokio::time::advance(Span::seconds(29).into()).await;
        held.begin_anew();
        tokio::time::advance(Span::seconds(29).into()).await;
        assert!(!held.is_over());
        tokio::time::advance(Span::seconds(1).into()).await;
        assert!(held.is_over());
    }
}

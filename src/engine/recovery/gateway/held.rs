//! A stage of the way back, whatever the gateway is made of: the guards before it, how long it has been held, and how it ends.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::{
    engine::recovery::{Scene, elapsed},
    model::{
        amount::Share,
        recovery::StepId,
        said::{Said, said},
        time::Span,
    },
};

/// Tries of one stage before the way back ends there.
pub(super) const TRIES: u32 = 2;

/// More often than that is what was set not put right: someone else is setting it.
pub(super) const CORRECTIONS: u32 = 3;

/// Beyond its hold a stage may take this many times the patience of a step.
const STEPS: u64 = 3;

/// Waits for every guard to hold before traffic comes back; whether they do. If not, that is noted.
pub(super) async fn is_calm_before(scene: &Scene, notes: &mut Vec<Said>) -> bool {
    let before = said!("guard before traffic returns", "放流前守护未成立");
    let Err(which) = calm(scene, before).await else {
        return true;
    };
    // Waiting longer would only keep capacity away from a system that may be short of it.
    notes.push(said!(
        which;
        "the guard did not hold before traffic came back: {which}",
        "放流前守护未成立：{which}"
    ));
    false
}

/// Waits for every guard to hold after a step back; whether they do.
pub(super) async fn is_calm_again(scene: &Scene) -> bool {
    let after = said!("guard after stepping back", "退回后守护未成立");
    calm(scene, after).await.is_ok()
}

/// Waits for every guard to hold; tells which one does not if the patience ends.
async fn calm(scene: &Scene, what: Said) -> Result<(), Said> {
    let deadline = Instant::now() + scene.drivers.patience().guard.into();
    loop {
        match scene.bus.bad_guard() {
            None => return Ok(()),
            Some(which) if Instant::now() >= deadline => return Err(which),
            Some(which) => {
                scene.waiting(
                    StepId::Traffic,
                    said!(what, which; "{what}: {which}", "{what}：{which}"),
                );
            }
        }
        scene.pause().await;
    }
}

/// How a stage went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Watched {
    /// The guard held for the whole time, with everything as set; or nobody is left for whom it would be held.
    Held,
    /// Which guard is bad.
    Bad(Said),
}

/// What a look at a stage has shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InPlace {
    /// All were seen as set.
    All,
    /// One was not, or was not seen.
    NotAll,
    /// The last one was given up.
    NobodyLeft,
}

impl InPlace {
    /// `left` are those that were not given up; `all`: each was seen as set.
    pub(super) fn of<T>(left: &[T], all: bool) -> Self {
        match (left, all) {
            ([], _) => InPlace::NobodyLeft,
            (_, true) => InPlace::All,
            (_, false) => InPlace::NotAll,
        }
    }
}

/// A stage that is held. What is seen to be otherwise begins it anew; a look that fails only keeps it from ending, so that a few of
/// them do not keep traffic away for ever.
pub(super) struct Held {
    hold: Span,
    step: Span,
    begin: Instant,
    bad_since: Option<Instant>,
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
            bad_since: None,
            unseen: BTreeMap::new(),
        }
    }

    /// After each look: how the stage went, if it is over. A guard that is bad for more than one of its samples ends it; it never
    /// ends well on a bad one, nor on what is not as set or cannot be read.
    pub(super) fn outcome(&mut self, scene: &Scene, in_place: InPlace) -> Option<Watched> {
        self.ends(scene.bus.bad_guard(), scene.plan.drill.guard.every, in_place)
    }

    /// `every` is the time between two samples of a guard.
    fn ends(&mut self, bad: Option<Said>, every: Span, in_place: InPlace) -> Option<Watched> {
        if in_place == InPlace::NobodyLeft {
            return Some(Watched::Held);
        }
        let Some(which) = bad else {
            self.bad_since = None;
            let is_over = in_place == InPlace::All && self.is_over();
            return is_over.then_some(Watched::Held);
        };
        let since = *self.bad_since.get_or_insert_with(Instant::now);
        let is_bad = elapsed(since) > every || self.is_overdue();
        is_bad.then_some(Watched::Bad(which))
    }

    /// Tells how long the stage has been held, and waits for the next look.
    pub(super) async fn wait(&self, scene: &Scene, share: Share) {
        let (so_far, hold) = (self.so_far(), self.hold);
        scene.waiting(
            StepId::Traffic,
            said!(
                "{share} held {so_far} of {hold}",
                "{share} 已保持 {so_far}/{hold}"
            ),
        );
        scene.pause().await;
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
    fn is_over(&self) -> bool {
        elapsed(self.begin) >= self.hold
    }

    /// Whether it takes too long, with no end in sight.
    fn is_overdue(&self) -> bool {
        elapsed(self.begin) > self.hold + self.step * STEPS
    }

    /// In whole seconds.
    fn so_far(&self) -> Span {
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
    async fn a_stage_never_ends_well_on_what_is_not_as_set_nor_on_a_guard_that_is_bad() {
        let (hold, every) = (Span::seconds(30), Span::seconds(10));
        let mut held = Held::starting(hold, STEP);
        assert_eq!(held.ends(None, every, InPlace::All), None, "not for its time yet");
        tokio::time::advance(hold.into()).await;
        assert_eq!(held.ends(None, every, InPlace::NotAll), None);
        let bad = || Some(Said::from("order_success users"));
        assert_eq!(held.ends(bad(), every, InPlace::All), None, "one bad sample");
        assert_eq!(held.ends(None, every, InPlace::All), Some(Watched::Held));
        assert_eq!(held.ends(bad(), every, InPlace::All), None, "bad anew");
        tokio::time::advance((every + Span::seconds(1)).into()).await;
        let ended = held.ends(bad(), every, InPlace::All);
        assert_eq!(ended, Some(Watched::Bad("order_success users".into())));
        assert_eq!(held.ends(bad(), every, InPlace::NobodyLeft), Some(Watched::Held));
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

//! A retry queue let go by its own switch, at its rate, until the backlog is back where it was; then the switch as it stood.

use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, retry_http::QueueSeen},
    engine::recovery::{
        Scene, StepEnd,
        queues::{
            as_before, backlog, held_again, not_back,
            rate::{Measured, under_way},
            stays_held, took,
        },
    },
    model::{
        recovery::{StepId, StepState},
        said::Said,
    },
};

use super::Switch;

pub(in crate::engine::recovery::queues) async fn release(
    scene: &Scene,
    queue: &Switch<'_>,
) -> Result<StepEnd, DriverError> {
    let first = queue.read(scene, scene.deadline()).await?;
    if queue.leftover(&first).is_none() {
        return Ok(StepEnd::new(StepState::Nothing, as_before(first.backlog)));
    }
    let mut followed = None;
    // A queue that was held before the drill is not let go by it.
    if first.backlog > queue.back_at() && !queue.before.held {
        let (arrived, detail) = follow(scene, queue, first).await?;
        if !arrived {
            // Letting it go without its rate now would be the storm again: it goes on at the playbook's rate, or stays held.
            let now = queue.read(scene, scene.deadline()).await?;
            let leftovers = queue.leftover(&now).into_iter().collect();
            return Ok(StepEnd::of(StepState::Failed, detail, leftovers));
        }
        followed = Some(detail);
    }
    let now = queue.read(scene, scene.deadline()).await?;
    if !now.stands(queue.before.held, queue.before.rate) {
        queue.set(scene, queue.before.held, queue.before.rate).await?;
    }
    let end = queue.read(scene, scene.deadline()).await?;
    Ok(StepEnd::of(
        StepState::Done,
        followed.unwrap_or_else(|| backlog(end.backlog)),
        queue.leftover(&end).into_iter().collect(),
    ))
}

/// Follows the backlog down; holds again while a guard is bad, and for good if it is so at the end. Tells whether it arrived, and
/// the measured rate.
async fn follow(scene: &Scene, queue: &Switch<'_>, first: QueueSeen) -> Result<(bool, Said), DriverError> {
    let begin = Instant::now();
    let deadline = begin + queue.within.into();
    queue.set(scene, false, Some(queue.rate)).await?;
    let mut from = queue.read(scene, scene.deadline()).await?.released;
    let mut rate = Measured::starting();
    loop {
        let now = queue.read(scene, scene.deadline()).await?;
        let moved = now.released.saturating_sub(from);
        let detail = under_way((first.backlog, now.backlog), &rate.told(moved, 0.2), queue.rate);
        if now.backlog <= queue.back_at() {
            return Ok((true, took(&detail, begin)));
        }
        let is_late = || Instant::now() >= deadline;
        let late = detail.and(&not_back(queue.back_at(), queue.within));
        if let Some(which) = scene.bus.bad_guard() {
            rate.rest(moved);
            queue.set(scene, true, Some(queue.rate)).await?;
            while scene.bus.bad_guard().is_some() && !is_late() {
                scene.waiting(StepId::Release, held_again(&which));
                scene.pause().await;
            }
            if let Some(which) = scene.bus.bad_guard() {
                return Ok((false, late.and(&stays_held(&which))));
            }
            queue.set(scene, false, Some(queue.rate)).await?;
            if is_late() {
                return Ok((false, late));
            }
            from = queue.read(scene, scene.deadline()).await?.released;
            rate.go_on();
        } else if is_late() {
            return Ok((false, late));
        } else {
            scene.waiting(StepId::Release, detail);
        }
        scene.pause().await;
    }
}

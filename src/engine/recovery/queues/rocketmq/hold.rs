//! A group of RocketMQ held: switched off on every master broker, and watched until it really stands still.
//!
//! What its consumers have fetched already is still worked off, a thousand messages a queue unless they say otherwise.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use crate::{
    engine::recovery::{Scene, StepEnd, queues::count, seen},
    model::recovery::{Leftover, StepId, StepState},
};

use super::{COMMIT, Group, LOOK, Position};

/// How much longer than the step a group may take to work off what its consumers have fetched.
const FETCHED: Duration = Duration::from_secs(60);

/// Holds the group if its backlog has grown.
pub(in crate::engine::recovery::queues) async fn hold(scene: &Scene, group: &Group<'_>) -> StepEnd {
    let mut left = group.find_all(scene, StepId::Retry).await;
    let now = group.settled(scene).await;
    left.extend(group.unseen(StepId::Retry, &now));
    let backlog = format!("backlog {}", count(now.backlog()));
    if now.backlog() <= group.back_at() {
        return StepEnd::of(StepState::Nothing, backlog, left);
    }
    if group.switched().is_empty() {
        let detail = format!("{backlog}; the group was off before the drill, and stays so");
        return StepEnd::of(StepState::Held, detail, left);
    }
    scene.working(StepId::Retry, backlog.clone());
    let failed = group
        .switch_at(scene, group.switched(), false, scene.deadline())
        .await;
    for (at, error) in failed {
        left.push(group.not_switched(StepId::Retry, at, false, &error).await);
    }
    left.extend(joined(group).await);
    let (still, pace) = come_to_rest(scene, group).await;
    let detail = format!(
        "{backlog}, {pace:.1}/s measured; switched off on {}",
        names(group)
    );
    if still {
        return StepEnd::of(StepState::Held, detail, left);
    }
    let why = format!(
        "its consumers go on at {pace:.1}/s: they still work off what they had fetched, or another broker serves them"
    );
    let what = format!("{} is not held, {backlog}", group.what());
    left.push(seen(StepId::Retry, what, why.clone(), None));
    StepEnd::of(StepState::Failed, why, left)
}

fn names(group: &Group<'_>) -> String {
    let names: Vec<&str> = group.switched().iter().map(|at| at.broker.as_str()).collect();
    names.join(", ")
}

/// How it stood at a broker that has joined since is not known: it is left alone, and named.
async fn joined(group: &Group<'_>) -> Vec<Leftover> {
    let joined = group.joined().await;
    let named = joined.into_iter().map(|broker| {
        let what = format!("{} on {broker} is not held", group.what());
        let why = "the broker has joined since the snapshot was read: untouched";
        seen(StepId::Retry, what, why, None)
    });
    named.collect()
}

/// Watches until one commit's time shows no more than a tenth of the release's rate, or the time is over. Whether it rests, and
/// the pace.
async fn come_to_rest(scene: &Scene, group: &Group<'_>) -> (bool, f64) {
    let deadline = scene.deadline() + FETCHED;
    let mut looks: VecDeque<(Instant, Position)> = VecDeque::new();
    loop {
        let now = group.look().await;
        looks.push_back((Instant::now(), now));
        while looks.get(1).is_some_and(|(at, _)| at.elapsed() >= COMMIT) {
            looks.pop_front();
        }
        if let (Some((begin, first)), Some((_, last))) = (looks.front(), looks.back()) {
            let seconds = begin.elapsed().as_secs_f64();
            let pace = last.moved_since(first) as f64 / seconds.max(LOOK.as_secs_f64());
            let still = begin.elapsed() >= COMMIT && pace <= group.queue.rate / 10.0;
            if still || Instant::now() >= deadline {
                return (still, pace);
            }
            let backlog = count(last.backlog());
            scene.working(StepId::Retry, format!("backlog {backlog}, {pace:.1}/s measured"));
        }
        tokio::time::sleep(LOOK).await;
    }
}

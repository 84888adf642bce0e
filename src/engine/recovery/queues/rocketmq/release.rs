//! A group of RocketMQ let go by switching it on and off as its measured progress asks for, and then as it was.
//!
//! RocketMQ has no rate of its own for a group. Switched on, its consumers take what they can; switched off, they ask again only
//! three seconds later. So the rate is kept on the average, in bursts of what the consumers fetch ahead.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::Instant;

use crate::{
    engine::recovery::{
        Scene, StepEnd,
        queues::{as_before, backlog, held_again, not_back, rate::under_way, took},
    },
    model::{
        group::GroupSeen,
        recovery::{StepId, StepState},
        said::{Said, said},
        time::Span,
    },
};

use super::{AWAKE, Group, LOOK, duty::Duty, position::Position};

/// Between two looks at a switch that may still change: each reads all groups of the broker.
const AGAIN: Duration = Duration::from_secs(1);

/// Lets the group go at its rate until its backlog is back where it was, then switches it as it stood.
pub(in crate::engine::recovery::queues) async fn release(scene: &Scene, group: &Group<'_>) -> StepEnd {
    // Where no name server answers, the brokers are where the snapshot has them.
    let _ = scene.persist(scene.deadline(), || group.find()).await;
    let deadline = Instant::now() + group.queue.within.into();
    let first = group.settled(scene).await;
    let mut followed = backlog(first.backlog());
    let mut known: BTreeSet<String> = first.seen.keys().cloned().collect();
    let stays = group.cluster.may_land_for().is_none();
    let is_as_before =
        stays && first.missing.is_empty() && group.differences(scene, &first).await.0.is_empty();
    if is_as_before {
        return StepEnd::new(StepState::Nothing, as_before(first.backlog()));
    }
    if first.backlog() > group.back_at() && !group.switched().is_empty() {
        let mut duty = Duty::starting(first, group.queue.rate);
        let (end, detail) = follow(scene, group, &mut duty).await;
        followed = detail;
        known = match end {
            End::Back => duty.now.seen.into_keys().collect(),
            // One that is away has not shown that it is slow.
            End::Slow | End::Held => duty.answering,
        };
        if end == End::Held {
            let now = group.position(scene).await;
            let (left, _) = group.differences(scene, &now).await;
            return StepEnd::of(StepState::Failed, followed, left);
        }
    }
    put_back(scene, group, &read_once(group.switched(), &known), &followed).await;
    let mut end = awake(scene, group, &followed).await;
    if !group.switched().is_empty() && beside_came_back(scene, group, &followed, deadline).await {
        end = group.settled(scene).await;
    }
    let (left, changed) = group.differences(scene, &end).await;
    if !changed.is_empty() {
        let brokers = changed.join(", ");
        followed = followed.and(&said!(
            "its config on {brokers} was changed by somebody meanwhile: only its switch is put back",
            "{brokers} 上的配置期间被他人改过：只还原其开关"
        ));
    }
    StepEnd::of(StepState::Done, followed, left)
}

/// The brokers whose backlog was read at least once: what waits at another would come at once, and nobody has counted it.
fn read_once<'a>(switched: Vec<&'a GroupSeen>, known: &BTreeSet<String>) -> Vec<&'a GroupSeen> {
    let is_known = |at: &&GroupSeen| known.contains(&at.broker);
    switched.into_iter().filter(is_known).collect()
}

/// Switches the group as it was, and looks again when a switch that nobody answered can no longer take effect. What cannot be
/// switched is not waited for here: the last read finds it.
async fn put_back<'a>(scene: &Scene, group: &Group<'a>, brokers: &[&'a GroupSeen], followed: &Said) {
    loop {
        let failed = group
            .switch_at(scene, brokers.to_vec(), true, scene.deadline())
            .await;
        let Some(left) = group.cluster.may_land_for().filter(|_| failed.is_empty()) else {
            return;
        };
        let within = Span::seconds(left.as_secs() + 1);
        let detail = said!(
            followed;
            "{followed}; switched on as before, but a switch that nobody answered may still take effect for {within}",
            "{followed}；已切回开，但未应答的切换在 {within} 内仍可能生效"
        );
        scene.waiting(StepId::Release, detail);
        tokio::time::sleep(left.min(AGAIN)).await;
    }
}

/// Consumers that were refused ask again a while later: the backlog grows meanwhile.
async fn awake(scene: &Scene, group: &Group<'_>, followed: &Said) -> Position {
    let begin = Instant::now();
    let mut now = group.look().await;
    while now.backlog() > group.back_at() && begin.elapsed() < AWAKE {
        let detail = said!(
            followed, backlog = backlog(now.backlog());
            "{followed}; switched on as before, its consumers ask again within 3s: {backlog}",
            "{followed}；已切回开，消费者 3s 内会再来拉取：{backlog}"
        );
        scene.waiting(StepId::Release, detail);
        tokio::time::sleep(LOOK).await;
        now = group.look().await;
    }
    now
}

/// What else the group consumes has waited as well: its consumers work that off at no rate of ours. Whether that took any time.
async fn beside_came_back(scene: &Scene, group: &Group<'_>, followed: &Said, deadline: Instant) -> bool {
    let mut waited = false;
    loop {
        let beside = group.beside(scene).await;
        if !beside.is_over() || Instant::now() >= deadline {
            return waited;
        }
        waited = true;
        let detail = said!(
            followed, beside = beside.told();
            "{followed}; switched on as before: {beside}",
            "{followed}；已切回开：{beside}"
        );
        scene.waiting(StepId::Release, detail);
        tokio::time::sleep(LOOK).await;
    }
}

/// How following a backlog ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is back where it was: the group may be switched on for good.
    Back,
    /// Out of time, and the consumers are slower than the rate: they make no storm.
    Slow,
    /// Out of time with more waiting than may come at once: it stays off.
    Held,
}

/// Follows the backlog down; holds again while a guard is bad. Tells the measured rate.
async fn follow(scene: &Scene, group: &Group<'_>, duty: &mut Duty) -> (End, Said) {
    let begin = Instant::now();
    let deadline = begin + group.queue.within.into();
    let waiting = duty.now.backlog();
    duty.turn(scene, group, true).await;
    loop {
        duty.see(scene, group).await;
        let backlog = duty.now.backlog();
        let way = under_way((waiting, backlog), &duty.measured(), group.queue.rate);
        let detail = roughly(&way);
        if backlog <= group.back_at() {
            return (End::Back, took(&detail, begin));
        }
        if Instant::now() >= deadline {
            let detail = detail.and(&not_back(group.back_at(), group.queue.within));
            let bad = scene.bus.bad_guard();
            // Consumers that are slower than the rate make no storm, on or off.
            if bad.is_none() && duty.is_slow() {
                return (End::Slow, detail);
            }
            duty.turn(scene, group, false).await;
            let why = bad.map_or_else(
                || said!("on, all of it would come at once", "一开就会全部涌来"),
                |which| said!(which; "the guard is bad: {which}", "守护越限：{which}"),
            );
            let stays = said!(why; "it stays switched off: {why}", "保持为关：{why}");
            return (End::Held, detail.and(&stays));
        }
        if let Some(which) = scene.bus.bad_guard() {
            duty.turn(scene, group, false).await;
            while scene.bus.bad_guard().is_some() && Instant::now() < deadline {
                scene.waiting(StepId::Release, held_again(&which));
                scene.pause().await;
                duty.see(scene, group).await;
            }
            duty.go_on();
            // Out of time it stays off: nobody would watch what comes.
            if Instant::now() < deadline {
                duty.turn(scene, group, true).await;
            }
            continue;
        }
        scene.waiting(StepId::Release, detail);
        if let Some(on) = duty.wants() {
            duty.turn(scene, group, on).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The same, and that RocketMQ has no rate for a group: what is measured is near it on the average alone.
fn roughly(way: &Said) -> Said {
    said!(
        way;
        "{way} (approximate: switched on and off, so it comes in bursts)",
        "{way}（近似：以开关控制，成批而来）"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_whose_backlog_was_never_read_is_not_switched_on() {
        let at = |broker: &str| GroupSeen {
            broker: broker.into(),
            address: "10.0.0.1:10911".into(),
            enabled: true,
            config: r#"{"consumeEnable":true}"#.into(),
            beside: 0,
        };
        let groups = [at("a"), at("b")];
        let known = |brokers: &[&str]| brokers.iter().map(|b| (*b).to_owned()).collect();
        let switched = |brokers: &[&str]| read_once(groups.iter().collect(), &known(brokers));
        assert_eq!(switched(&["a", "b", "c"]), [&groups[0], &groups[1]]);
        assert_eq!(switched(&["a"]), [&groups[0]]);
        assert!(switched(&[]).is_empty());
    }
}

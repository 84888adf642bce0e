//! A group of RocketMQ held: switched off on every master broker, and watched until it really stands still.
//!
//! What its consumers have fetched already is still worked off, a thousand messages a queue unless they say otherwise.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    engine::recovery::{
        Scene, StepEnd,
        queues::{
            backlog,
            looks::{COMMIT, Looks},
            rate::measured,
        },
    },
    model::{
        group::GroupSeen,
        recovery::{Leftover, StepId, StepState},
        said::said,
    },
};

use super::{Group, LOOK, position::Position};

/// How much longer than the step a group may take to work off what its consumers have fetched.
const FETCHED: Duration = Duration::from_secs(60);

/// Holds the group if its backlog has grown.
pub(in crate::engine::recovery::queues) async fn hold(scene: &Scene, group: &Group<'_>) -> StepEnd {
    let mut left = group.find_all(scene, StepId::Retry).await;
    let now = group.settled(scene).await;
    left.extend(group.unseen(StepId::Retry, &now));
    let backlog = backlog(now.backlog());
    if now.backlog() <= group.back_at() {
        return StepEnd::of(StepState::Nothing, backlog, left);
    }
    if group.switched().is_empty() {
        let detail = said!(
            backlog;
            "{backlog}; the group was off before the drill, and stays so",
            "{backlog}；消费组演练前即为关，保持不变"
        );
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
    let (Rest { still, pace, .. }, last) = come_to_rest(scene, group).await;
    let brokers = names(group);
    let detail = said!(
        backlog, pace = measured(pace);
        "{backlog}, {pace}; switched off on {brokers}",
        "{backlog}，{pace}；已在 {brokers} 上关闭"
    );
    if still {
        return StepEnd::of(StepState::Held, detail, left);
    }
    let away = group.unseen(StepId::Retry, &last);
    if !away.is_empty() {
        // What was unknown at the beginning and is now is one leftover.
        left.retain(|known| !away.iter().any(|l| l.what == known.what));
        left.extend(away);
        let detail = detail.and(&said!(
            "whether it stands still everywhere is not known",
            "是否处处停住不明"
        ));
        return StepEnd::of(StepState::Failed, detail, left);
    }
    let why = said!(
        "its consumers go on at {pace:.1}/s: they still work off what they had fetched, or another broker serves them",
        "仍以 {pace:.1}/s 消费：消费者在处理已拉取的消息，或由别的 broker 供给"
    );
    let what = said!(
        group = group.what(), backlog;
        "{group} is not held, {backlog}",
        "{group} 未暂停，{backlog}"
    );
    left.push(Leftover::seen(StepId::Retry, what, why.clone(), None));
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
        let what = said!(
            what = group.what_at(&broker);
            "{what} is not held",
            "{what} 未暂停"
        );
        let why = said!(
            "the broker has joined since the snapshot was read: untouched",
            "该 broker 在读取快照后才加入：未动"
        );
        Leftover::seen(StepId::Retry, what, why, None)
    });
    named.collect()
}

/// What the last looks show.
struct Rest {
    /// Whether the group stands still at every broker of the snapshot.
    still: bool,
    /// Whether a broker is away now, and the group stands still where it is seen.
    away: bool,
    /// Messages a second.
    pace: f64,
}

impl Looks<Position> {
    /// Held is no more than a tenth of the release's rate. A broker that was away in any of these looks may have gone on meanwhile.
    fn rest(&self, brokers: &[GroupSeen], rate: f64) -> Rest {
        let pace = self.pace(COMMIT, LOOK);
        let all = |look: &Position| brokers.iter().all(|at| look.seen.contains_key(&at.broker));
        let whole = self.iter().all(all);
        let quiet = self.reach() >= COMMIT && pace <= rate / 10.0;
        Rest {
            still: whole && quiet,
            away: quiet && !self.last().is_some_and(all),
            pace,
        }
    }
}

/// Watches until the group rests, or the time is over. How it rests, and the last look.
async fn come_to_rest(scene: &Scene, group: &Group<'_>) -> (Rest, Position) {
    let step = scene.deadline();
    let mut looks = Looks::over(COMMIT);
    loop {
        let now = group.look().await;
        let backlog = backlog(now.backlog());
        looks.push(now);
        let rest = looks.rest(&group.before.groups, group.queue.rate);
        // A broker that is away is waited for as long as the step; more is for what the others had fetched.
        let deadline = if rest.away { step } else { step + FETCHED };
        if rest.still || Instant::now() >= deadline {
            return (rest, looks.into_last().unwrap_or_default());
        }
        let detail = said!(
            backlog, pace = measured(rest.pace);
            "{backlog}, {pace}",
            "{backlog}，{pace}"
        );
        scene.working(StepId::Retry, detail);
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::rocketmq::{Offsets, QueueSeen};

    fn group_at(broker: &str) -> GroupSeen {
        GroupSeen {
            broker: broker.into(),
            address: "10.0.0.1:10911".into(),
            enabled: true,
            config: r#"{"consumeEnable":true}"#.into(),
            beside: 0,
        }
    }

    fn look(brokers: &[(&str, i64)]) -> Position {
        let seen = brokers.iter().map(|(broker, at)| {
            let queue = QueueSeen {
                topic: "t".into(),
                queue: 0,
                at: *at,
                end: 100_000,
            };
            ((*broker).to_owned(), Offsets(vec![queue]))
        });
        Position {
            seen: seen.collect(),
            missing: Vec::new(),
        }
    }

    async fn watch(looks: &mut Looks<Position>, seconds: u64, mut at: impl FnMut(u64) -> Position) {
        for second in 0..seconds {
            looks.push(at(second));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_group_is_held_only_where_every_broker_was_seen_to_stand_still() {
        let brokers = [group_at("a"), group_at("b")];
        let mut looks = Looks::over(COMMIT);
        let mut is_still = async |seconds, brokers_seen: fn(u64) -> Position| {
            watch(&mut looks, seconds, brokers_seen).await;
            let rest = looks.rest(&brokers, 100.0);
            assert!(!(rest.still && rest.away));
            rest.still
        };
        assert!(!is_still(5, |_| look(&[("a", 10), ("b", 10)])).await, "too short");
        assert!(is_still(3, |_| look(&[("a", 10), ("b", 10)])).await);
        assert!(!is_still(10, |_| look(&[("a", 10)])).await, "b is away");
        assert!(
            !is_still(5, |_| look(&[("a", 10), ("b", 10)])).await,
            "b was away a moment ago"
        );
        assert!(is_still(4, |_| look(&[("a", 10), ("b", 10)])).await);
        let moves = |n: u64| look(&[("a", 10), ("b", 10 + 50 * n.cast_signed())]);
        assert!(!is_still(10, moves).await, "b goes on");
        watch(&mut looks, 10, |_| look(&[("a", 10)])).await;
        assert!(looks.rest(&brokers, 100.0).away);
        looks.push(look(&[("a", 10), ("b", 510)]));
        assert!(!looks.rest(&brokers, 100.0).away, "it is back");
    }
}

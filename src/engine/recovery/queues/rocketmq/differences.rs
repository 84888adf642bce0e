//! What of a group is not as before, at every broker of the snapshot and at those that have joined since.

use futures::FutureExt;
use tokio::time::Instant;

use crate::{
    drivers::{error::DriverError, rocketmq::GroupConfig},
    engine::recovery::{Scene, by_hand::all_at_once, queues::count, together, unread},
    model::{
        group::GroupSeen,
        recovery::{Leftover, StepId},
        said::{Said, said},
    },
};

use super::{Group, position::Position, switch::word};

impl Group<'_> {
    /// What is not as before at this position, and what somebody else has changed.
    pub(super) async fn differences(&self, scene: &Scene, now: &Position) -> (Vec<Leftover>, Vec<String>) {
        let deadline = scene.deadline();
        let groups = self.before.groups.iter();
        let is_over = now.backlog() > self.back_at() || !now.missing.is_empty();
        let brokers = groups.map(|at| self.difference(scene, deadline, at, is_over).boxed());
        let joined = self.joined().await.into_iter();
        let joined = joined.map(|broker| self.at_joined(scene, deadline, broker, is_over).boxed());
        let (brokers, joined, beside) = tokio::join!(
            together(brokers),
            together(joined),
            self.left_beside(scene, now).boxed()
        );
        let (mut left, mut changed) = (Vec::new(), Vec::new());
        for (one, other) in brokers {
            left.extend(one);
            changed.extend(other);
        }
        left.extend(joined.into_iter().flatten());
        let (what, topic) = (self.what(), &self.queue.topic);
        left.extend(self.unseen(StepId::Release, now));
        if now.backlog() > self.back_at() {
            let (is, was) = (count(now.backlog()), count(self.before.backlog));
            let why = said!(
                "{is} waiting in {topic}, {was} before",
                "{topic} 有 {is} 条等待，演练前 {was} 条"
            );
            left.push(Leftover::seen(StepId::Release, what, why, None));
        }
        left.extend(beside);
        (left, changed)
    }

    async fn difference(
        &self,
        scene: &Scene,
        deadline: Instant,
        at: &GroupSeen,
        is_over: bool,
    ) -> (Option<Leftover>, Option<String>) {
        let what = self.what_at(&at.broker);
        match scene.persist(deadline, || self.config(&at.broker)).await {
            Ok(now) if now.is_enabled() != at.enabled => {
                let what = said!(
                    what, now = word(now.is_enabled());
                    "{what} is switched {now}",
                    "{what} 已被切为{now}"
                );
                let hand = self.by_hand(at, at.enabled, Some(&now)).await;
                let hand = careful(hand, at.enabled && is_over);
                let why = said!(was = word(at.enabled); "it was {was}", "原为{was}");
                (Some(Leftover::seen(StepId::Release, what, why, hand)), None)
            }
            Ok(now) => {
                let same = GroupConfig::read(&at.config).is_ok_and(|before| before.says_the_same(&now));
                (None, (!same).then(|| at.broker.clone()))
            }
            Err(error) => {
                let hand = careful(self.by_hand(at, at.enabled, None).await, at.enabled && is_over);
                (Some(unread(StepId::Release, what, &error, hand)), None)
            }
        }
    }

    /// How the group stands at a broker that has joined since the snapshot was read.
    async fn at_joined(
        &self,
        scene: &Scene,
        deadline: Instant,
        broker: String,
        is_over: bool,
    ) -> Option<Leftover> {
        let read = scene.persist(deadline, || self.config(&broker)).await;
        let hand = match &read {
            Ok(now) => careful(self.write_by_hand(&broker, &now.switched(true)).await, is_over),
            Err(_) => None,
        };
        joined_stands(self.what_at(&broker), read, hand)
    }
}

/// A switch has no rate: what it lets go comes at once.
fn careful(switch: Option<String>, lets_go: bool) -> Option<String> {
    match lets_go {
        true => switch.map(|command| all_at_once(&command)),
        false => switch,
    }
}

/// Nobody knows how a group stood at a broker that has joined since. On is as it is everywhere; off is never taken for well.
fn joined_stands(
    what: Said,
    read: Result<GroupConfig, DriverError>,
    on_by_hand: Option<String>,
) -> Option<Leftover> {
    let step = StepId::Release;
    match read {
        Ok(now) if now.is_enabled() => None,
        Ok(_) => {
            let what = said!(what; "{what} is switched off", "{what} 为关");
            let why = said!(
                "the broker has joined since the snapshot was read: whether it was off before is not known",
                "该 broker 在读取快照后才加入：此前是否为关不明"
            );
            Some(Leftover::seen(step, what, why, on_by_hand))
        }
        // Where the group is not, nothing of it is off.
        Err(DriverError::NotThere { .. }) => None,
        Err(error) => Some(unread(
            step,
            said!(
                what;
                "{what}, which has joined since the snapshot was read",
                "{what}（读取快照后才加入）"
            ),
            &error,
            None,
        )),
    }
}

/// What is not as before, or cannot be read.
pub(in crate::engine::recovery::queues) async fn not_as_before(
    scene: &Scene,
    group: &Group<'_>,
) -> Vec<Leftover> {
    let mut left = group.find_all(scene, StepId::Release).await;
    let now = group.settled(scene).await;
    left.extend(group.differences(scene, &now).await.0);
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::recovery::Certainty;

    fn stands(read: Result<GroupConfig, DriverError>) -> Option<(Certainty, Option<String>)> {
        let left = joined_stands("group g on broker-c".into(), read, Some("do it".into()))?;
        assert!(left.what.en().contains("broker-c"), "{left:?}");
        Some((left.certainty, left.by_hand))
    }

    #[test]
    fn what_lets_a_backlog_come_at_once_says_so_before_the_command() {
        let typed = careful(Some("switch it on".into()), true).unwrap();
        let lines: Vec<&str> = typed.lines().collect();
        assert!(lines[0].starts_with("# all that waits comes at once"), "{typed}");
        assert_eq!(lines[1..], ["switch it on"]);
        assert_eq!(
            careful(Some("switch it on".into()), false).as_deref(),
            Some("switch it on")
        );
    }

    #[test]
    fn a_broker_that_has_joined_is_well_only_where_the_group_is_on_or_unknown_to_it() {
        let config = |text| GroupConfig::read(text).unwrap();
        let what = || "group g".to_owned();
        assert_eq!(stands(Ok(config(r#"{"consumeEnable":true}"#))), None);
        let off = stands(Ok(config(r#"{"consumeEnable":false}"#)));
        assert_eq!(off, Some((Certainty::Seen, Some("do it".into()))));
        let none = DriverError::NotThere {
            what: what(),
            answer: "the broker knows no such group".into(),
        };
        assert_eq!(stands(Err(none)), None);
        for unreadable in [
            DriverError::Lost {
                what: what(),
                why: "it hung up".into(),
            },
            DriverError::Garbage {
                what: what(),
                why: "not JSON".into(),
            },
        ] {
            assert_eq!(stands(Err(unreadable)), Some((Certainty::Unknown, None)));
        }
    }
}

//! What a group consumes beside the topic that is followed. The switch holds that as well, so that must come back as well.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use tokio::time::{Instant, timeout};

use crate::{
    drivers::{error::DriverError, rocketmq::Offsets},
    engine::recovery::{Scene, queues::count, together, unread},
    model::{
        group::GroupSeen,
        recovery::{Leftover, StepId},
        said::{Said, said},
    },
};

use super::{
    COMMIT, Group, LOOK,
    position::{GLANCE, Position},
};

/// The smallest backlog that was seen of each queue. A queue's consumer tells its offset every few seconds, each at a time of its own:
/// what stands in a queue between two of these is not waiting.
#[derive(Debug, Default)]
pub(super) struct Smallest(BTreeMap<(String, i64), u64>);

impl Smallest {
    pub(super) fn see(&mut self, now: &Offsets) {
        for queue in &now.0 {
            let seen = self.0.entry((queue.topic.clone(), queue.queue));
            let least = seen.or_insert(queue.backlog());
            *least = queue.backlog().min(*least);
        }
    }

    pub(super) fn waiting(&self) -> u64 {
        self.0.values().sum()
    }

    /// All topics; those in which something waits.
    pub(super) fn topics(&self) -> BTreeSet<&str> {
        self.0.keys().map(|(topic, _)| topic.as_str()).collect()
    }

    fn busy(&self) -> BTreeSet<&str> {
        let busy = self.0.iter().filter(|(_, waiting)| **waiting > 0);
        busy.map(|((topic, _), _)| topic.as_str()).collect()
    }
}

/// Where the other topics count as back: half more than before, and a second of the release's rate. Nobody lets them go at a rate.
fn back_at(before: u64, rate: f64) -> u64 {
    let second = rate.ceil() as u64;
    before.saturating_add(before / 2).saturating_add(second)
}

/// How the group's other topics stand, by broker.
pub(super) struct Beside {
    seen: BTreeMap<String, Smallest>,
    missing: Vec<(String, DriverError)>,
    before: u64,
    back_at: u64,
}

impl Beside {
    fn new(groups: &[GroupSeen], rate: f64) -> Self {
        let before = groups
            .iter()
            .fold(0, |all: u64, at| all.saturating_add(at.beside));
        Self {
            seen: BTreeMap::new(),
            missing: Vec::new(),
            before,
            back_at: back_at(before, rate),
        }
    }

    fn waiting(&self) -> u64 {
        self.seen.values().map(Smallest::waiting).sum()
    }

    pub(super) fn is_over(&self) -> bool {
        self.waiting() > self.back_at
    }

    pub(super) fn told(&self) -> Said {
        let busy: BTreeSet<&str> = self.seen.values().flat_map(Smallest::busy).collect();
        let (now, before) = (count(self.waiting()), count(self.before));
        said!(
            busy = named(&busy);
            "{now} waiting in the group's other topics ({busy}), {before} before",
            "该组其他主题（{busy}）有 {now} 条等待，演练前 {before} 条"
        )
    }

    /// What is over, and what is not known; a broker that is missing at this position is told by that.
    fn leftovers(&self, what: &Said, now: &Position) -> Vec<Leftover> {
        let told = |broker: &String| now.missing.iter().any(|(missing, _)| missing == broker);
        let missing = self.missing.iter().filter(|(broker, _)| !told(broker));
        let unknown = missing.map(|(broker, error)| {
            let what = said!(
                what;
                "backlog of the other topics of {what} on {broker}",
                "{broker} 上{what} 其他主题的积压"
            );
            unread(StepId::Release, what, error, None)
        });
        let over = self.is_over().then(|| {
            let what = said!(what; "other topics of {what}", "{what} 的其他主题");
            Leftover::seen(StepId::Release, what, self.told(), None)
        });
        unknown.chain(over).collect()
    }
}

/// The first of many names, and how many more.
pub(super) fn named(topics: &BTreeSet<&str>) -> Said {
    let first: Vec<&str> = topics.iter().copied().take(5).collect();
    let (more, first) = (topics.len() - first.len(), first.join(", "));
    match more {
        0 => Said::as_it_is(first),
        more => said!("{first} and {more} more", "{first} 等，另有 {more} 个"),
    }
}

impl Group<'_> {
    /// How the group's other topics stand, as soon as they are back where they were, or the least that one commit's time shows.
    pub(super) async fn beside(&self, scene: &Scene) -> Beside {
        let mut beside = Beside::new(&self.before.groups, self.queue.rate);
        let deadline = scene.deadline();
        let masters = self.masters.lock().await.clone();
        let looks = masters.keys().map(|broker| {
            let look = scene.persist(deadline, || self.offsets_beside(broker));
            async move { (broker.clone(), look.await) }.boxed()
        });
        for (broker, offsets) in together(looks).await {
            match offsets {
                Ok(offsets) => beside.seen.entry(broker).or_default().see(&offsets),
                Err(error) => beside.missing.push((broker, error)),
            }
        }
        let until = Instant::now() + COMMIT;
        while beside.is_over() && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
            let looks = beside.seen.keys().cloned().map(|broker| {
                async move {
                    let offsets = timeout(GLANCE, self.offsets_beside(&broker)).await;
                    (broker, offsets)
                }
                .boxed()
            });
            // A look that fails shows nothing: what was seen stays.
            for (broker, offsets) in together(looks).await {
                if let (Ok(Ok(offsets)), Some(smallest)) = (offsets, beside.seen.get_mut(&broker)) {
                    smallest.see(&offsets);
                }
            }
        }
        beside
    }

    /// What the other topics leave over.
    pub(super) async fn left_beside(&self, scene: &Scene, now: &Position) -> Vec<Leftover> {
        self.beside(scene).await.leftovers(&self.what(), now)
    }

    async fn offsets_beside(&self, broker: &str) -> Result<Offsets, DriverError> {
        let address = self.address(broker).await;
        let (group, topic) = (&self.queue.group, &self.queue.topic);
        let offsets = self.cluster.offsets_beside(&address, group, topic).await;
        self.moved_away(offsets).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{drivers::rocketmq::QueueSeen, model::recovery::Certainty};

    fn group_at(broker: &str, beside: u64) -> GroupSeen {
        GroupSeen {
            broker: broker.into(),
            address: "10.0.0.1:10911".into(),
            enabled: true,
            config: r#"{"consumeEnable":true}"#.into(),
            beside,
        }
    }

    fn look(queues: &[(&str, i64, i64)]) -> Offsets {
        let queue = |(topic, queue, waiting): &(&str, i64, i64)| QueueSeen {
            topic: (*topic).into(),
            queue: *queue,
            at: 1000,
            end: 1000 + waiting,
        };
        Offsets(queues.iter().map(queue).collect())
    }

    fn lost() -> DriverError {
        DriverError::Lost {
            what: "offsets".into(),
            why: "it hung up".into(),
        }
    }

    #[test]
    fn what_waits_in_a_queue_is_the_least_that_was_seen_of_it() {
        let mut smallest = Smallest::default();
        smallest.see(&look(&[("orders", 0, 500), ("orders", 1, 0), ("stuck", 0, 40)]));
        smallest.see(&look(&[("orders", 0, 0), ("orders", 1, 500), ("stuck", 0, 60)]));
        assert_eq!(smallest.waiting(), 40);
        assert_eq!(smallest.busy(), ["stuck"].into());
        assert_eq!(smallest.topics(), ["orders", "stuck"].into());
        // A queue that comes later is seen with what waits in it; one that is not told any more is not gone.
        smallest.see(&look(&[("new", 0, 7)]));
        assert_eq!(smallest.waiting(), 47);
    }

    #[test]
    fn the_other_topics_are_left_over_while_more_waits_in_them_than_before() {
        let groups = [group_at("a", 60), group_at("b", 40)];
        let left = |a: i64, b: i64| {
            let mut beside = Beside::new(&groups, 200.0);
            for (broker, waiting) in [("a", a), ("b", b)] {
                let smallest = beside.seen.entry(broker.into()).or_default();
                smallest.see(&look(&[("orders", 0, waiting)]));
            }
            beside.leftovers(&"group g".into(), &Position::default())
        };
        assert_eq!(left(350, 0), vec![]);
        let over = left(300, 51);
        assert_eq!(over.len(), 1, "{over:?}");
        assert_eq!(over[0].what.en(), "other topics of group g");
        assert_eq!(
            over[0].why.en(),
            "351 waiting in the group's other topics (orders), 100 before"
        );
    }

    #[test]
    fn other_topics_that_cannot_be_read_are_unknown_and_told_once() {
        let mut beside = Beside::new(&[group_at("a", 0)], 200.0);
        beside.missing.push(("a".into(), lost()));
        let unknown = beside.leftovers(&"group g".into(), &Position::default());
        assert_eq!(unknown.len(), 1, "{unknown:?}");
        assert_eq!(unknown[0].certainty, Certainty::Unknown);
        let missing = Position {
            missing: vec![("a".into(), lost())],
            ..Position::default()
        };
        assert_eq!(beside.leftovers(&"group g".into(), &missing), vec![]);
    }

    #[test]
    fn many_topics_are_named_by_the_first_of_them() {
        assert_eq!(named(&["a", "b"].into()).en(), "a, b");
        assert_eq!(
            named(&["a", "b", "c", "d", "e", "f", "g"].into()).en(),
            "a, b, c, d, e and 2 more"
        );
    }
}

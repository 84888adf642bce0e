//! How far a group is in a topic, and who consumes for it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    DriverError, KafkaCluster,
    answer::check,
    calls::{DescribeGroup, End, ListGroups, ListOffsets, OffsetFetch, TopicsOf},
};
use crate::model::{playbook::OffsetReset, text::harmless};

/// How far a group is in one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionSeen {
    /// Its number.
    pub partition: i32,
    /// Where the group goes on: what it has committed, or where its reset policy puts it.
    pub at: i64,
    /// Where the log ends.
    pub end: i64,
    /// Whether the group has committed an offset that is still in the log.
    pub committed: bool,
}

/// How far a group is in a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// By partition.
    pub partitions: Vec<PartitionSeen>,
}

impl Position {
    /// Offsets between the group and the ends of the logs: messages, and the marks of transactions.
    pub fn backlog(&self) -> u64 {
        self.partitions
            .iter()
            .map(|p| (p.end - p.at).max(0).unsigned_abs())
            .sum()
    }

    /// How far the group has come since `earlier`.
    pub fn moved_since(&self, earlier: &Position) -> u64 {
        let moved = self.partitions.iter().map(|now| {
            let then = earlier.partitions.iter().find(|p| p.partition == now.partition);
            then.map_or(0, |then| (now.at - then.at).max(0).unsigned_abs())
        });
        moved.sum()
    }

    /// The same for each partition, in the order of their numbers.
    pub fn moved_each(&self, earlier: &Position) -> Vec<u64> {
        let moved = self.partitions.iter().map(|now| {
            let then = earlier.partitions.iter().find(|p| p.partition == now.partition);
            let moved = then.map_or(0, |then| (now.at - then.at).max(0).unsigned_abs());
            (now.partition, moved)
        });
        moved.collect::<BTreeMap<_, _>>().into_values().collect()
    }
}

impl KafkaCluster {
    /// How far a group is in a topic. Where it has committed nothing, or what it has committed is no longer there, it counts
    /// from the log's start or end, as its reset policy says.
    ///
    /// # Errors
    /// [`DriverError::NotThere`] for an unknown topic or group: an unknown group has no backlog of 0.
    pub async fn position(
        &self,
        topic: &str,
        group: &str,
        reset: OffsetReset,
    ) -> Result<Position, DriverError> {
        let leaders = self.leaders(topic).await?;
        let coordinator = self.coordinator(group).await?;
        let partitions: Vec<i32> = leaders.values().flatten().copied().collect();
        let call = OffsetFetch {
            group,
            topic,
            partitions: &partitions,
        };
        let what = format!("{}: offsets of group {group} in {topic}", self.what);
        let (code, offsets) = self.ask(&coordinator, &call).await?;
        check(code, None, &what)?;
        let mut committed = BTreeMap::new();
        for (partition, offset, code) in offsets {
            check(code, None, &what)?;
            committed.insert(partition, offset);
        }
        if committed.values().all(|offset| *offset < 0) {
            self.proves_group(&coordinator, group).await?;
        }
        let mut seen = Vec::new();
        for (leader, partitions) in &leaders {
            let first = self.ends(leader, topic, partitions, End::First).await?;
            let last = self.ends(leader, topic, partitions, End::Last).await?;
            for partition in partitions {
                let end = |of: &BTreeMap<i32, i64>| {
                    of.get(partition).copied().ok_or_else(|| DriverError::Garbage {
                        what: what.clone(),
                        why: format!("no offset of partition {partition}"),
                    })
                };
                let (start, end) = (end(&first)?, end(&last)?);
                let known = committed
                    .get(partition)
                    .copied()
                    .filter(|at| (start..=end).contains(at));
                let at = known.unwrap_or(match (reset, committed.get(partition)) {
                    // What was committed has been deleted since: the oldest message that is left comes next, whatever the policy
                    // would skip.
                    (_, Some(at)) if (0..start).contains(at) => start,
                    (OffsetReset::Earliest, _) => start,
                    (OffsetReset::Latest, _) => end,
                });
                seen.push(PartitionSeen {
                    partition: *partition,
                    at,
                    end,
                    committed: known.is_some(),
                });
            }
        }
        Ok(Position { partitions: seen })
    }

    /// The client ids of a group's members. Empty where it has none, or where it is of a protocol that does not tell them.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn clients(&self, group: &str) -> Result<BTreeSet<String>, DriverError> {
        let coordinator = self.coordinator(group).await?;
        let mut clients = BTreeSet::new();
        for seen in self.ask(&coordinator, &DescribeGroup { group }).await? {
            let what = format!("{}: members of group {group}", self.what);
            match seen.error {
                // A group of the newer protocol is none of these.
                69 => {}
                code => check(code, None, &what)?,
            }
            clients.extend(seen.clients);
        }
        Ok(clients)
    }

    /// The topics that a group consumes, as far as they may be seen.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn topics(&self, group: &str) -> Result<BTreeSet<String>, DriverError> {
        let coordinator = self.coordinator(group).await?;
        let (code, topics) = self.ask(&coordinator, &TopicsOf { group }).await?;
        check(code, None, &format!("{}: topics of group {group}", self.what))?;
        let consumed = topics.into_iter().filter(|(_, has_offset)| *has_offset);
        Ok(consumed.map(|(topic, _)| harmless(&topic, 249)).collect())
    }

    async fn proves_group(&self, coordinator: &str, group: &str) -> Result<(), DriverError> {
        let what = format!("{}: group {group}", self.what);
        let (code, groups) = self.ask(coordinator, &ListGroups).await?;
        check(code, None, &what)?;
        match groups.iter().any(|known| known == group) {
            true => Ok(()),
            false => Err(DriverError::NotThere {
                what,
                answer: "the cluster knows no such group, so that its backlog is not known either; start its consumers once, or correct the name".into(),
            }),
        }
    }

    pub(super) async fn ends(
        &self,
        leader: &str,
        topic: &str,
        partitions: &[i32],
        end: End,
    ) -> Result<BTreeMap<i32, i64>, DriverError> {
        let call = ListOffsets {
            topic,
            partitions,
            end,
        };
        let mut ends = BTreeMap::new();
        for (partition, code, offset) in self.ask(leader, &call).await? {
            check(code, None, &format!("{}: log of {topic}-{partition}", self.what))?;
            ends.insert(partition, offset);
        }
        Ok(ends)
    }
}

//! How large a topic's messages are, and how many brokers have them.

use super::{
    KafkaCluster, PartitionSeen, Position,
    answer::check,
    calls::{End, Fetch},
};
use crate::drivers::error::DriverError;

/// Bytes of a partition that are looked at to learn how large its messages are.
const SAMPLE: i32 = 256 << 10;
/// Partitions whose messages are looked at.
const SAMPLED: usize = 4;

/// How large a topic's waiting messages are, as a consumer has to fetch them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weight {
    /// Bytes a message, batches' own bytes included.
    pub message: f64,
    /// Bytes of the largest batch seen: no quota lets less through at once.
    pub batch: f64,
}

impl KafkaCluster {
    /// How many brokers lead partitions in which messages wait: each counts its quotas apart. At least 1.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn leading(&self, topic: &str, position: &Position) -> Result<usize, DriverError> {
        let waits = |partition: &i32| {
            let mut seen = position.partitions.iter();
            seen.any(|p| p.partition == *partition && p.end > p.at)
        };
        let leaders = self.leaders(topic).await?;
        let leading = leaders.values().filter(|of| of.iter().any(waits));
        Ok(leading.count().max(1))
    }

    /// How large the messages are that wait for the group. `None` where none wait.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] without the right to read the topic.
    pub async fn weight(&self, topic: &str, position: &Position) -> Result<Option<Weight>, DriverError> {
        let leaders = self.leaders(topic).await?;
        let mut waiting: Vec<&PartitionSeen> = position.partitions.iter().filter(|p| p.end > p.at).collect();
        waiting.sort_by_key(|p| std::cmp::Reverse(p.end - p.at));
        let (mut bytes, mut messages, mut largest) = (0, 0, 0);
        for seen in waiting.into_iter().take(SAMPLED) {
            let leader = leaders.iter().find(|(_, of)| of.contains(&seen.partition));
            let Some((leader, _)) = leader else { continue };
            let call = Fetch {
                topic,
                partition: seen.partition,
                offset: seen.at,
                at_most: SAMPLE,
            };
            let (code, batches) = self.ask(leader, &call).await?;
            check(code, None, &format!("{}: messages of {topic}", self.what))?;
            for batch in batches {
                bytes += batch.bytes;
                messages += batch.messages;
                largest = largest.max(batch.bytes);
            }
        }
        Ok((messages > 0).then(|| Weight {
            message: bytes as f64 / messages as f64,
            batch: largest as f64,
        }))
    }

    /// How large the newest messages of a topic are, whoever has read them. `None` where it has none.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] without the right to read the topic.
    pub async fn newest_weight(&self, topic: &str) -> Result<Option<Weight>, DriverError> {
        let mut partitions = Vec::new();
        for (leader, of) in self.leaders(topic).await? {
            let first = self.ends(&leader, topic, &of, End::First).await?;
            for (partition, end) in self.ends(&leader, topic, &of, End::Last).await? {
                let start = first.get(&partition).copied().unwrap_or(end);
                partitions.push(PartitionSeen {
                    partition,
                    at: (end - 1).max(start),
                    end,
                    committed: false,
                });
            }
        }
        self.weight(topic, &Position { partitions }).await
    }

    /// Proves the right to read a topic's messages, reading none.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] without it.
    pub async fn may_read(&self, topic: &str) -> Result<(), DriverError> {
        for (leader, partitions) in self.leaders(topic).await? {
            let ends = self.ends(&leader, topic, &partitions, End::Last).await?;
            if let Some((partition, end)) = ends.into_iter().next() {
                let call = Fetch {
                    topic,
                    partition,
                    offset: end,
                    at_most: 1,
                };
                let (code, _) = self.ask(&leader, &call).await?;
                return check(code, None, &format!("{}: messages of {topic}", self.what));
            }
        }
        Ok(())
    }
}

//! Retry topics in Kafka: how far a group is, and the client quotas that hold it and let it go.
//!
//! A small client of our own: eleven calls over one connection a broker. ARCHITECTURE.md says why.

mod access;
mod answer;
mod calls;
mod connection;
mod quota;
mod sasl;
mod scram;
mod weight;
mod wire;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::sync::Mutex;

use crate::model::{
    environment::Kafka,
    ids::{ClusterName, ServerName},
    playbook::OffsetReset,
    quota::Payer,
    secret::Secrets,
    text::harmless,
    time::Span,
};

use super::{
    error::{DriverError, Effect},
    unanswered::Unanswered,
};
use access::Access;
use answer::check;
use calls::{DescribeGroup, End, FindCoordinator, ListGroups, ListOffsets, Metadata, OffsetFetch, TopicsOf};
use connection::Connection;
use quota::{AlterQuota, DescribeQuotas};
pub use weight::Weight;
use wire::Call;

/// A Kafka cluster of the environment. Connections are kept while it lives, and dropped with the first error.
#[derive(Debug)]
pub struct KafkaCluster {
    name: ClusterName,
    what: String,
    bootstrap: Vec<String>,
    access: Access,
    limits: [Span; 2],
    open: Mutex<BTreeMap<String, Connection>>,
    unanswered: Unanswered,
}

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
    /// The cluster, not connected yet.
    ///
    /// # Errors
    /// [`DriverError::NoSecret`] or [`DriverError::Setup`].
    pub fn new(
        name: &ServerName,
        cluster: &Kafka,
        secrets: &Secrets,
        limits: [Span; 2],
        unanswered: Unanswered,
    ) -> Result<Self, DriverError> {
        let what = format!("Kafka {name}");
        Ok(Self {
            name: ClusterName::Kafka(name.clone()),
            access: Access::new(&what, cluster, secrets)?,
            what,
            bootstrap: cluster.bootstrap.clone(),
            limits,
            open: Mutex::default(),
            unanswered,
        })
    }

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

    /// A payer's byte rate. `None`: it has no quota of its own.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn quota(&self, payer: &Payer) -> Result<Option<f64>, DriverError> {
        let answer = self.ask_any(&DescribeQuotas::Of(payer)).await?;
        let what = format!("{}: quota of {payer}", self.what);
        check(answer.error, answer.message.as_deref(), &what)?;
        Ok(answer
            .entries
            .iter()
            .filter(|e| e.is_of(payer))
            .find_map(|e| e.byte_rate()))
    }

    /// Byte rates of users, with or without a client id: they stand above those of a client id alone.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn user_quotas(&self) -> Result<usize, DriverError> {
        let answer = self.ask_any(&DescribeQuotas::Any(&["user"])).await?;
        check(
            answer.error,
            answer.message.as_deref(),
            &format!("{}: quotas of users", self.what),
        )?;
        Ok(answer.entries.iter().filter(|e| e.byte_rate().is_some()).count())
    }

    /// Sets a payer's byte rate, or removes it. Nothing else of the payer is touched. Removing what is not there is well.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn set_quota(&self, payer: &Payer, to: Option<f64>) -> Result<(), DriverError> {
        self.alter(payer, to, false).await
    }

    /// Proves the right to change quotas, changing none.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] without it.
    pub async fn may_set_quota(&self, payer: &Payer) -> Result<(), DriverError> {
        self.alter(payer, Some(1e6), true).await
    }

    /// For how long a change that nobody answered may still take effect. `None`: what is read now stays so.
    pub fn may_land_for(&self) -> Option<Duration> {
        self.unanswered.may_land_for(&self.name)
    }

    /// Waits until no such change can take effect any more: a minute at most after the last.
    pub async fn landed(&self) {
        self.unanswered.landed(&self.name).await;
    }

    async fn alter(&self, payer: &Payer, to: Option<f64>, dry: bool) -> Result<(), DriverError> {
        let what = format!("{}: quota of {payer}", self.what);
        let asked = self.ask_any(&AlterQuota { payer, to, dry }).await;
        let done = asked.and_then(|(code, said)| check(code, said.as_deref(), &what));
        let in_doubt = |error: &DriverError| !dry && error.certainty() == Effect::Unknown;
        if done.as_ref().is_err_and(in_doubt) {
            self.unanswered.note(&self.name);
        }
        done
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

    async fn ends(
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

    /// A topic's partitions by the address of their leader.
    async fn leaders(&self, topic: &str) -> Result<BTreeMap<String, Vec<i32>>, DriverError> {
        let what = format!("{}: topic {topic}", self.what);
        let answer = self.ask_any(&Metadata { topics: &[topic] }).await?;
        let seen = answer.topics.into_iter().find(|t| t.name == topic);
        let seen = seen.ok_or_else(|| DriverError::Garbage {
            what: what.clone(),
            why: "it tells of other topics".into(),
        })?;
        check(seen.error, None, &what)?;
        let mut leaders: BTreeMap<String, Vec<i32>> = BTreeMap::new();
        for (code, partition, leader) in seen.partitions {
            // A replica that is away does not matter: the leader is asked.
            if code != 9 {
                check(code, None, &what)?;
            }
            let address = answer.brokers.iter().find(|(id, _)| *id == leader);
            match address {
                Some((_, address)) => leaders.entry(address.clone()).or_default().push(partition),
                None => check(5, None, &what)?,
            }
        }
        match leaders.is_empty() {
            true => check(5, None, &what).map(|()| leaders),
            false => Ok(leaders),
        }
    }

    async fn coordinator(&self, group: &str) -> Result<String, DriverError> {
        let seen = self.ask_any(&FindCoordinator { group }).await?;
        check(
            seen.error,
            seen.message.as_deref(),
            &format!("{}: group {group}", self.what),
        )?;
        Ok(seen.address)
    }

    /// Asks the first bootstrap broker that can be reached.
    async fn ask_any<C: Call>(&self, call: &C) -> Result<C::Answer, DriverError> {
        let mut last = DriverError::Setup {
            what: self.what.clone(),
            why: "the environment names no address".into(),
        };
        for address in &self.bootstrap {
            match self.ask(address, call).await {
                Err(error @ DriverError::Unreachable { .. }) => last = error,
                ended => return ended,
            }
        }
        Err(last)
    }

    async fn ask<C: Call>(&self, address: &str, call: &C) -> Result<C::Answer, DriverError> {
        let kept = self.open.lock().await.remove(address);
        let mut connection = match kept {
            Some(connection) => connection,
            None => Connection::open(&self.what, address, &self.access, self.limits).await?,
        };
        let answer = connection.call(call).await?;
        self.open.lock().await.insert(harmless(address, 300), connection);
        Ok(answer)
    }
}

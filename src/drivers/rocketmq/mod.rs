//! Retry queues in RocketMQ: how far a group is, and the switch that holds it and lets it go.
//!
//! A small client of our own for four calls of remoting. The group's config is always read from the table of all groups: the call
//! that asks for one group creates it where it is not known.

mod answers;
mod config;
mod connection;
mod frame;
mod json;

use std::{collections::BTreeMap, time::Duration};

use tokio::sync::Mutex;

use crate::model::{
    environment::Rocketmq,
    ids::{ClusterName, ServerName},
    secret::Secrets,
    text::harmless,
    time::Span,
};

use super::{Drivers, error::DriverError, unanswered::Unanswered};
use connection::Connection;
use frame::{Answer, Login, Request};

pub use config::GroupConfig;

/// `GET_ROUTEINFO_BY_TOPIC`.
const ROUTE: i32 = 105;
/// `UPDATE_AND_CREATE_SUBSCRIPTIONGROUP`.
const WRITE_GROUP: i32 = 200;
/// `GET_ALL_SUBSCRIPTIONGROUP_CONFIG`.
const ALL_GROUPS: i32 = 201;
/// `GET_CONSUME_STATS`.
const OFFSETS: i32 = 208;

/// A RocketMQ cluster of the environment. Connections are kept while it lives, and dropped with the first error.
#[derive(Debug)]
pub struct RocketmqCluster {
    name: ClusterName,
    what: String,
    nameservers: Vec<String>,
    login: Option<Login>,
    limits: [Span; 2],
    open: Mutex<BTreeMap<String, Connection>>,
    unanswered: Unanswered,
}

/// How far a group is in one queue of one broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSeen {
    /// The topic.
    pub topic: String,
    /// The queue's number.
    pub queue: i64,
    /// Where the group goes on: 0 where it has committed nothing.
    pub at: i64,
    /// Where the queue ends.
    pub end: i64,
}

impl QueueSeen {
    /// Messages between the group and the queue's end.
    pub fn backlog(&self) -> u64 {
        self.end.saturating_sub(self.at).max(0).unsigned_abs()
    }
}

/// How far a group is at one broker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offsets(pub Vec<QueueSeen>);

impl Offsets {
    /// Messages between the group and the queues' ends.
    pub fn backlog(&self) -> u64 {
        self.0.iter().map(QueueSeen::backlog).sum()
    }

    /// How far the group has come since `earlier`.
    pub fn moved_since(&self, earlier: &Offsets) -> u64 {
        let moved = self.0.iter().map(|now| {
            let same = |then: &&QueueSeen| (&then.topic, then.queue) == (&now.topic, now.queue);
            let then = earlier.0.iter().find(same);
            then.map_or(0, |then| now.at.saturating_sub(then.at).max(0).unsigned_abs())
        });
        moved.sum()
    }
}

impl RocketmqCluster {
    /// The cluster, not connected yet.
    ///
    /// # Errors
    /// [`DriverError::NoSecret`].
    pub fn new(
        name: &ServerName,
        cluster: &Rocketmq,
        secrets: &Secrets,
        limits: [Span; 2],
        unanswered: Unanswered,
    ) -> Result<Self, DriverError> {
        let what = format!("RocketMQ {name}");
        let login = cluster.login.as_ref().map(|login| {
            let secret_key = Drivers::secret(secrets, &login.secret_key, &what)?.clone();
            Ok::<_, DriverError>(Login {
                access_key: login.access_key.clone(),
                secret_key,
            })
        });
        Ok(Self {
            name: ClusterName::Rocketmq(name.clone()),
            login: login.transpose()?,
            what,
            nameservers: cluster.nameservers.clone(),
            limits,
            open: Mutex::default(),
            unanswered,
        })
    }

    /// The master brokers that have a topic, by name, with their addresses. A broker that is down is not among them.
    ///
    /// # Errors
    /// [`DriverError::NotThere`] if no name server knows the topic.
    pub async fn masters(&self, topic: &str) -> Result<BTreeMap<String, String>, DriverError> {
        let mut last = DriverError::Setup {
            what: self.what.clone(),
            why: "the environment names no name server".into(),
        };
        let what = format!("{}: route of topic {topic}", self.what);
        for address in &self.nameservers {
            let fields = [("topic", topic), ("acceptStandardJsonOnly", "true")];
            let asked = self.ask(address, &what, Request::new(ROUTE, &fields)).await;
            match asked.and_then(|answer| answers::masters(&answer, &what)) {
                // One that has just been started knows nothing yet.
                Err(error @ (DriverError::Unreachable { .. } | DriverError::NotThere { .. })) => last = error,
                ended => return ended,
            }
        }
        Err(last)
    }

    /// A group's config at a broker. Nothing is created.
    ///
    /// # Errors
    /// [`DriverError::NotThere`] if the broker does not know the group.
    pub async fn config(&self, address: &str, group: &str) -> Result<GroupConfig, DriverError> {
        let what = self.group_at(address, group);
        let answer = self.ask(address, &what, Request::new(ALL_GROUPS, &[])).await?;
        answers::config(&answer, group, &what)
    }

    /// Writes a group's config at a broker: the whole of it. A group that is not there would be created: read it first.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn write(&self, address: &str, group: &str, config: &GroupConfig) -> Result<(), DriverError> {
        let what = self.group_at(address, group);
        let request = Request {
            code: WRITE_GROUP,
            body: config.sent().into_bytes(),
            ..Request::default()
        };
        let writing = async {
            let answer = self.ask(address, &what, request).await?;
            answers::check(&answer, &what)
        };
        self.unanswered.sent(&self.name, writing).await
    }

    /// For how long a write that nobody answered may still take effect. `None`: what is read now stays so.
    pub fn may_land_for(&self) -> Option<Duration> {
        self.unanswered.may_land_for(&self.name)
    }

    /// Waits until no such write can take effect any more: a minute at most after the last.
    pub async fn landed(&self) {
        self.unanswered.landed(&self.name).await;
    }

    /// How far a group is in a topic at a broker, whether it has ever committed there or not.
    ///
    /// # Errors
    /// [`DriverError::NotThere`] if the broker has no queue of the topic.
    pub async fn offsets(&self, address: &str, group: &str, topic: &str) -> Result<Offsets, DriverError> {
        let what = format!("{} in {topic}", self.offsets_at(address, group));
        let fields = [("consumerGroup", group), ("topic", topic)];
        let answer = self.ask(address, &what, Request::new(OFFSETS, &fields)).await?;
        let mut offsets = answers::offsets(&answer, &what)?;
        offsets.0.retain(|q| q.topic == topic);
        match offsets.0.is_empty() {
            false => Ok(offsets),
            true => Err(DriverError::NotThere {
                what,
                answer: "the broker has no queue of this topic".into(),
            }),
        }
    }

    /// How far a group is at a broker in all other topics in which it has committed something there.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn offsets_beside(
        &self,
        address: &str,
        group: &str,
        topic: &str,
    ) -> Result<Offsets, DriverError> {
        let what = format!("{} in all its topics", self.offsets_at(address, group));
        let fields = [("consumerGroup", group)];
        let answer = self.ask(address, &what, Request::new(OFFSETS, &fields)).await?;
        let mut offsets = answers::offsets(&answer, &what)?;
        offsets.0.retain(|q| q.topic != topic);
        Ok(offsets)
    }

    fn offsets_at(&self, address: &str, group: &str) -> String {
        format!(
            "{}: offsets of group {group} at {}",
            self.what,
            harmless(address, 100)
        )
    }

    fn group_at(&self, address: &str, group: &str) -> String {
        format!("{}: group {group} at {}", self.what, harmless(address, 100))
    }

    async fn ask(&self, address: &str, what: &str, request: Request) -> Result<Answer, DriverError> {
        let kept = self.open.lock().await.remove(address);
        let mut connection = match kept {
            Some(connection) => connection,
            None => Connection::open(what, address, self.limits).await?,
        };
        let answer = connection.ask(what, request, self.login.as_ref()).await?;
        self.open.lock().await.insert(address.to_owned(), connection);
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt, net::TcpListener};

    use super::*;
    use crate::drivers::unanswered::LANDS_WITHIN;

    /// A server that reads what it is asked, and then says nothing or hangs up.
    async fn silent(hangs_up: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            let mut kept = Vec::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let _ = client.read_u8().await;
                if !hangs_up {
                    kept.push(client);
                }
            }
        });
        address
    }

    #[tokio::test]
    async fn a_write_without_an_answer_may_land_later_and_one_that_was_never_sent_may_not() {
        let config = GroupConfig::read(r#"{"consumeEnable":true}"#).unwrap();
        let nowhere = "127.0.0.1:1".to_owned();
        for (address, sent) in [
            (nowhere, false),
            (silent(false).await, true),
            (silent(true).await, true),
        ] {
            let cluster = Rocketmq {
                nameservers: Vec::new(),
                login: None,
            };
            let cluster = RocketmqCluster::new(
                &ServerName::new("main").unwrap(),
                &cluster,
                &Secrets::none(),
                [Span::millis(300); 2],
                Unanswered::default(),
            )
            .unwrap();
            assert!(cluster.config(&address, "g").await.is_err());
            assert_eq!(cluster.may_land_for(), None, "a read changes nothing");
            assert!(cluster.write(&address, "g", &config).await.is_err());
            let left = cluster.may_land_for();
            assert_eq!(
                left.is_some_and(|left| left <= LANDS_WITHIN),
                sent,
                "{address}: {left:?}"
            );
        }
    }
}

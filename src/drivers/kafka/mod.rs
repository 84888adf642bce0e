//! Retry topics in Kafka: how far a group is, and the client quotas that hold it and let it go.
//!
//! A small client of our own: eleven calls over one connection a broker. ARCHITECTURE.md says why.

mod access;
mod answer;
mod calls;
mod connection;
mod position;
mod quota;
mod sasl;
mod scram;
mod weight;
mod wire;

use std::collections::BTreeMap;

use tokio::sync::Mutex;

use crate::model::{
    environment::Kafka,
    ids::{ClusterName, ServerName},
    secret::Secrets,
    text::harmless,
    time::Span,
};

use super::{error::DriverError, unanswered::Unanswered};
use access::Access;
use answer::check;
use calls::{FindCoordinator, Metadata};
use connection::Connection;
pub use position::{PartitionSeen, Position};
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

    /// Asks the first bootstrap broker that can be reached. One that has answered before is asked first: another may keep everybody
    /// waiting who tries to reach it.
    async fn ask_any<C: Call>(&self, call: &C) -> Result<C::Answer, DriverError> {
        let mut last = DriverError::Setup {
            what: self.what.clone(),
            why: "the environment names no address".into(),
        };
        let (known, others): (Vec<_>, Vec<_>) = {
            let open = self.open.lock().await;
            self.bootstrap.iter().partition(|at| open.contains_key(*at))
        };
        for address in known.into_iter().chain(others) {
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

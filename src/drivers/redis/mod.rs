//! Degrade flags in Redis: keys that match a glob, on one server, on the master that Sentinels name, or on every master
//! of a cluster. And one key of our own, the environment's lease (`lease.rs`).
//!
//! Flags are found by `SCAN` and removed by `UNLINK`, or by `DEL` where the user may not `UNLINK`. None is ever
//! written, so that a full server evicts nothing for us. The topology is read anew for each look, and each look is
//! proved: a replica's or a moving cluster's answer is never taken for the whole truth.

mod cluster;
mod glob;
mod key;
mod lease;
mod mode;
mod node;
mod remove;
mod rights;
mod sentinel;
mod slot;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod values;
mod view;

use std::collections::BTreeSet;

use futures::future::try_join_all;
use redis::{RedisError, cmd};

use crate::model::{
    environment::{Redis, RedisPlace, Sentinels},
    ids::ServerName,
    secret::Secrets,
    text::harmless,
    time::Span,
};

use super::{Drivers, error::DriverError};
use cluster::Cluster;
use node::{Access, Node};

pub use glob::Glob;
pub use key::Key;
pub(super) use lease::RedisLease;
pub use node::host_and_port;

/// Keys looked at in one step of a scan.
const SCAN_COUNT: usize = 10_000;

/// What a look found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The keys that match, each once.
    pub keys: BTreeSet<Key>,
    /// Why there may be others: slots moved meanwhile. None: these are all.
    pub moving: Option<DriverError>,
}

impl Found {
    /// All keys that match.
    ///
    /// # Errors
    /// If there may be others; one that may pass.
    pub fn all(self) -> Result<BTreeSet<Key>, DriverError> {
        match self.moving {
            None => Ok(self.keys),
            Some(error) => Err(error),
        }
    }
}

/// A Redis of the environment: one server, or several that are one to their clients.
#[derive(Debug, Clone)]
pub struct RedisServer {
    what: String,
    user: Option<String>,
    place: RedisPlace,
    access: Access,
    sentinels: Access,
    scan: Span,
}

/// The masters, connected.
enum Masters {
    One(Node),
    Cluster(Cluster),
}

impl RedisServer {
    /// The server, not connected yet.
    ///
    /// # Errors
    /// [`DriverError::NoSecret`] or [`DriverError::Setup`].
    pub fn new(
        name: &ServerName,
        server: &Redis,
        secrets: &Secrets,
        [connect, call, scan]: [Span; 3],
    ) -> Result<Self, DriverError> {
        let what = match &server.place {
            RedisPlace::Address(_) => format!("Redis {name}"),
            RedisPlace::Sentinel(s) => format!("Redis {name} (Sentinel's {})", harmless(&s.master, 100)),
            RedisPlace::Cluster(_) => format!("Redis {name} (cluster)"),
        };
        let secret = |place: &Option<_>| {
            let found = place.as_ref().map(|place| Drivers::secret(secrets, place, &what));
            found.transpose()
        };
        let bare = Access::new(&what, server.tls.as_ref(), [connect, call])?;
        let sentinels = match &server.place {
            RedisPlace::Sentinel(s) => bare.clone().of(s.user.as_deref(), secret(&s.password)?),
            _ => bare.clone(),
        };
        let access = bare
            .of(server.user.as_deref(), secret(&server.password)?)
            .in_database(server.db);
        Ok(Self {
            what,
            user: server.user.clone(),
            place: server.place.clone(),
            access,
            sentinels,
            scan,
        })
    }

    /// The keys that match.
    ///
    /// # Errors
    /// [`DriverError::TooMany`] if they are more than `at_most`; others as they come.
    pub async fn matching(&self, glob: &Glob, at_most: u32) -> Result<Found, DriverError> {
        let what = format!("{}: SCAN {}", self.what, harmless(glob.as_str(), 100));
        let limited = tokio::time::timeout(self.scan.into(), self.look(&what, glob, at_most)).await;
        limited.unwrap_or(Err(DriverError::TimedOut {
            what,
            after: self.scan,
        }))
    }

    async fn look(&self, what: &str, glob: &Glob, at_most: u32) -> Result<Found, DriverError> {
        let (keys, moving) = match self.masters().await? {
            Masters::One(mut node) => {
                let keys = scan(&mut node, what, glob, at_most).await?;
                rights::proves_master(&mut node, glob).await?;
                (keys, None)
            }
            Masters::Cluster(mut cluster) => {
                let mut keys = BTreeSet::new();
                // What was on its way while the giving master was scanned has arrived by the second look.
                for again in [false, true] {
                    let shards = cluster.shards.iter_mut().filter(|s| !again || s.receives);
                    let scans = shards.map(|s| scan(&mut s.node, what, glob, at_most));
                    keys.extend(try_join_all(scans).await?.into_iter().flatten());
                }
                bounded(&keys, what, at_most)?;
                match cluster.is_still_so().await {
                    Err(error) if !error.may_pass() => return Err(error),
                    still => (keys, still.err()),
                }
            }
        };
        Ok(Found { keys, moving })
    }

    /// Connects to the masters as they are now.
    async fn masters(&self) -> Result<Masters, DriverError> {
        Ok(match &self.place {
            RedisPlace::Address(address) => Masters::One(self.at_address(address).await?),
            RedisPlace::Sentinel(s) => Masters::One(self.as_sentinels_say(s).await?),
            RedisPlace::Cluster(c) => {
                Masters::Cluster(Cluster::open(&self.access, &self.what, &c.addresses).await?)
            }
        })
    }

    async fn at_address(&self, address: &str) -> Result<Node, DriverError> {
        let mut node = self.access.open(&self.what, address).await?;
        mode::proves_single(&mut node).await?;
        Ok(node)
    }

    async fn as_sentinels_say(&self, sentinels: &Sentinels) -> Result<Node, DriverError> {
        let Sentinels {
            master, addresses, ..
        } = sentinels;
        let address = sentinel::master(&self.sentinels, &self.what, master, addresses).await?;
        self.access.open(&self.what, &address).await
    }
}

fn bounded(keys: &BTreeSet<Key>, what: &str, at_most: u32) -> Result<(), DriverError> {
    match keys.len() > at_most as usize {
        false => Ok(()),
        true => Err(DriverError::TooMany {
            what: what.to_owned(),
            count: keys.len(),
            at_most,
        }),
    }
}

async fn scan(node: &mut Node, what: &str, glob: &Glob, at_most: u32) -> Result<BTreeSet<Key>, DriverError> {
    let (mut cursor, mut keys) = (0_u64, BTreeSet::new());
    loop {
        let mut command = cmd("SCAN");
        command
            .arg(cursor)
            .arg("MATCH")
            .arg(glob.as_str())
            .arg("COUNT")
            .arg(SCAN_COUNT);
        let step: Result<(u64, Vec<Vec<u8>>), RedisError> = node.ask(&command).await;
        let (next, found) = step.map_err(|e| node.sorted("SCAN", &e))?;
        keys.extend(found.into_iter().map(Key::new));
        bounded(&keys, what, at_most)?;
        cursor = next;
        if cursor == 0 {
            return Ok(keys);
        }
    }
}

//! Removing keys, pipelined; in a cluster each where it lies just now.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use futures::future::join_all;
use redis::{RedisError, cmd};

use crate::{drivers::error::DriverError, model::snapshot::Removal};

use super::{
    Key, Masters, RedisServer,
    cluster::Cluster,
    node::{Node, host_and_port, moving},
};

/// Keys in one `UNLINK`.
const CHUNK: usize = 500;
/// Keys on their way at once: never an unbounded pipeline.
const BATCH: usize = 10_000;
/// How often a key is followed to another node.
const HOPS: usize = 5;

/// Keys that lie elsewhere, by how the node there is called; and whether it has to be asked specially, because the slot still
/// belongs to the one that sent us.
type Elsewhere<'k> = BTreeMap<(String, bool), Vec<&'k Key>>;

impl RedisServer {
    /// Removes these keys. How many of them were there is added to `removed`, also if not all could be.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn remove(&self, keys: &BTreeSet<Key>, removed: &AtomicU64) -> Result<(), DriverError> {
        let unlink = match self.remove_by(Removal::Unlink, keys, removed).await {
            Err(DriverError::Unauthorized { answer, .. }) => answer,
            ended => return ended,
        };
        match self.remove_by(Removal::Del, keys, removed).await {
            Err(DriverError::Unauthorized { what, answer }) => Err(DriverError::Unauthorized {
                what,
                answer: format!("{unlink}; {answer}"),
            }),
            ended => ended,
        }
    }

    pub(super) async fn remove_by(
        &self,
        removal: Removal,
        keys: &BTreeSet<Key>,
        removed: &AtomicU64,
    ) -> Result<(), DriverError> {
        match self.masters().await? {
            Masters::One(mut node) => {
                let all: Vec<&[u8]> = keys.iter().map(Key::bytes).collect();
                for batch in all.chunks(BATCH) {
                    let mut pipe = redis::pipe();
                    for chunk in batch.chunks(CHUNK) {
                        pipe.cmd(removal.command()).arg(chunk);
                    }
                    let answers = node.ask_all::<u64>(&mut pipe).await;
                    let answers = answers.map_err(|e| node.sorted(removal.command(), &e))?;
                    for answer in answers {
                        let count = answer.map_err(|e| node.sorted(removal.command(), &e))?;
                        removed.fetch_add(count, Relaxed);
                    }
                }
                Ok(())
            }
            Masters::Cluster(cluster) => self.remove_from(cluster, removal, keys, removed).await,
        }
    }

    /// The same in a cluster, as it was when it was opened: what has moved since is followed.
    pub(super) async fn remove_from(
        &self,
        mut cluster: Cluster,
        removal: Removal,
        keys: &BTreeSet<Key>,
        removed: &AtomicU64,
    ) -> Result<(), DriverError> {
        let mut by_shard: Vec<Vec<&Key>> = vec![Vec::new(); cluster.shards.len()];
        for key in keys {
            by_shard[cluster.owner(key)].push(key);
        }
        let shards = cluster.shards.iter_mut().zip(by_shard);
        let removals = shards.map(|(shard, keys)| one_by_one(&mut shard.node, removal, keys, false, removed));
        let mut elsewhere = gathered(join_all(removals).await)?;
        for _ in 0..HOPS {
            if elsewhere.is_empty() {
                return Ok(());
            }
            let followed = elsewhere.into_iter().map(async |((called, asking), keys)| {
                let mut node = self.access.open(&self.what, &cluster.reached_at(&called)).await?;
                one_by_one(&mut node, removal, keys, asking, removed).await
            });
            elsewhere = gathered(join_all(followed).await)?;
        }
        match elsewhere.is_empty() {
            true => Ok(()),
            false => Err(moving(
                &self.what,
                "the cluster's nodes send each other's keys round; look at its slots",
            )),
        }
    }
}

/// All parts have been tried before the first error counts: what can be removed is removed.
fn gathered<'k>(parts: Vec<Result<Elsewhere<'k>, DriverError>>) -> Result<Elsewhere<'k>, DriverError> {
    let mut all = Elsewhere::new();
    for part in parts {
        for (place, keys) in part? {
            all.entry(place).or_default().extend(keys);
        }
    }
    Ok(all)
}

/// A command a key: keys of several slots cannot share one, and keys of a slot that moves may not.
async fn one_by_one<'k>(
    node: &mut Node,
    removal: Removal,
    keys: Vec<&'k Key>,
    asking: bool,
    removed: &AtomicU64,
) -> Result<Elsewhere<'k>, DriverError> {
    if asking {
        may_ask(node).await?;
    }
    let mut elsewhere = Elsewhere::new();
    let mut first_error = None;
    for batch in keys.chunks(BATCH) {
        let mut pipe = redis::pipe();
        for key in batch {
            if asking {
                pipe.cmd("ASKING").ignore();
            }
            pipe.cmd(removal.command()).arg(key.bytes());
        }
        let answers = node.ask_all::<u64>(&mut pipe).await;
        let answers = answers.map_err(|e| node.sorted(removal.command(), &e))?;
        for (key, answer) in batch.iter().zip(answers) {
            match answer {
                Ok(count) => drop(removed.fetch_add(count, Relaxed)),
                Err(error) => match redirect(&error, node) {
                    Some(place) => elsewhere.entry(place).or_default().push(*key),
                    None => first_error = first_error.or(Some(error)),
                },
            }
        }
    }
    match first_error {
        Some(error) => Err(node.sorted(removal.command(), &error)),
        None => Ok(elsewhere),
    }
}

/// Proves the right to follow a key into a slot that is on the move. Refused among the removals it would pass for a slot that is sent
/// round for ever.
pub(super) async fn may_ask(node: &mut Node) -> Result<(), DriverError> {
    let asked: Result<(), RedisError> = node.ask(&cmd("ASKING")).await;
    asked.map_err(|e| node.sorted("ASKING", &e))
}

/// Where the node says that the key is, and whether that node has to be asked specially.
pub(super) fn redirect(error: &RedisError, node: &Node) -> Option<(String, bool)> {
    let (place, _slot) = error.redirect_node()?;
    let (host, port) = host_and_port(place)?;
    // A node that does not know its own host names none: it is the one that was just reached.
    let known = host_and_port(&node.address).map_or("", |(host, _)| host);
    let host = if host.is_empty() || host == "?" {
        known
    } else {
        host
    };
    Some((format!("{host}:{port}"), error.code() == Some("ASK")))
}

//! A cluster: its masters, which slots each has, and whether that has changed since.
//!
//! `SCAN` sees one node only, and a key that moves between two nodes may be missed by both scans. So a look counts only
//! if all masters tell the same of every slot before and after it. While slots are open (being moved), the receiving
//! masters are scanned once more: keys only move towards them.

use std::collections::BTreeMap;

use futures::future::{join_all, select_ok, try_join_all};
use redis::{RedisError, cmd};

use crate::drivers::error::DriverError;

use super::{
    key::Key,
    node::{Access, Node, host_and_port, moving},
    view::View,
};

/// A connected master.
pub(super) struct Shard {
    id: String,
    /// Its connection.
    pub(super) node: Node,
    view: View,
    /// Whether keys move to it while it is looked at.
    pub(super) receives: bool,
}

/// A cluster whose masters tell the same of every slot.
pub(super) struct Cluster {
    what: String,
    /// All masters.
    pub(super) shards: Vec<Shard>,
    /// First slot of each range → last slot, and the shard's place in `shards`.
    owners: BTreeMap<u16, (u16, usize)>,
    tls: bool,
}

impl Cluster {
    /// Finds the masters by any of `seeds` and connects to each.
    ///
    /// # Errors
    /// [`DriverError`]; one that may pass while the cluster is on the move.
    pub(super) async fn open(access: &Access, what: &str, seeds: &[String]) -> Result<Self, DriverError> {
        let tls = access.is_tls();
        let (_, first) = any(access, what, seeds).await?;
        let shards = first.holders().map(async |(id, seen)| {
            let (node, view) = looked_at(access, what, &seen.address).await?;
            Ok::<_, DriverError>(Shard {
                id: id.clone(),
                receives: view.receives(),
                node,
                view,
            })
        });
        let mut shards = try_join_all(shards).await?;
        let agree = first.is_whole()
            && shards
                .iter()
                .all(|s| s.view.myself.as_ref() == Some(&s.id) && s.view.agrees(&first));
        if !agree {
            let answer =
                "its masters do not agree on who has which slot; wait until `CLUSTER INFO` says ok on each";
            return Err(moving(what, answer));
        }
        let receivers: Vec<String> = shards
            .iter()
            .flat_map(|s| s.view.gives_to().map(str::to_owned))
            .collect();
        for shard in &mut shards {
            shard.receives |= receivers.contains(&shard.id);
        }
        let owners = shards.iter().enumerate().flat_map(|(index, shard)| {
            let slots = shard
                .view
                .masters
                .get(&shard.id)
                .map(|seen| seen.slots.as_slice());
            slots
                .unwrap_or_default()
                .iter()
                .map(move |(first, last)| (*first, (*last, index)))
        });
        Ok(Self {
            what: what.to_owned(),
            owners: owners.collect(),
            shards,
            tls,
        })
    }

    /// Proves that no slot has moved since the cluster was opened.
    ///
    /// # Errors
    /// One that may pass, if a slot has.
    pub(super) async fn is_still_so(&mut self) -> Result<(), DriverError> {
        let (what, tls) = (self.what.clone(), self.tls);
        let looks = self.shards.iter_mut().map(async |shard| {
            let now = view(&mut shard.node, tls).await?;
            let same = now.myself == shard.view.myself && now.open == shard.view.open;
            Ok::<_, DriverError>(same && now.agrees(&shard.view))
        });
        let mut same = true;
        for look in join_all(looks).await {
            same &= look?;
        }
        match same {
            true => Ok(()),
            false => Err(moving(
                &what,
                "slots moved while they were looked at; the moves must end before all keys can be seen",
            )),
        }
    }

    /// Where the node is reached that another one calls so. With TLS its certificate may prove its host name alone.
    pub(super) fn reached_at(&self, called: &str) -> String {
        let known = self.shards.iter().find_map(|shard| shard.view.known(called));
        known.unwrap_or(called).to_owned()
    }

    /// The shard that a key belongs to, by its place in `shards`.
    pub(super) fn owner(&self, key: &Key) -> usize {
        let slot = key.slot();
        let below = self.owners.range(..=slot).next_back();
        below
            .filter(|(_, (last, _))| slot <= *last)
            .map_or(0, |(_, (_, index))| *index)
    }
}

/// Whichever of the nodes answers first, and what it sees.
///
/// # Errors
/// [`DriverError`] if none does.
pub(super) async fn any(access: &Access, what: &str, seeds: &[String]) -> Result<(Node, View), DriverError> {
    if seeds.is_empty() {
        return Err(DriverError::Setup {
            what: what.to_owned(),
            why: "the cluster has no address; name one of its nodes".into(),
        });
    }
    let looks = seeds.iter().map(|seed| Box::pin(looked_at(access, what, seed)));
    let (first, _) = select_ok(looks).await?;
    Ok(first)
}

async fn looked_at(access: &Access, what: &str, address: &str) -> Result<(Node, View), DriverError> {
    let mut node = access.open(what, address).await?;
    let view = view(&mut node, access.is_tls()).await?;
    Ok((node, view))
}

async fn view(node: &mut Node, tls: bool) -> Result<View, DriverError> {
    let asked: Result<String, RedisError> = node.ask(cmd("CLUSTER").arg("NODES")).await;
    let text = asked.map_err(|e| node.sorted("CLUSTER NODES", &e))?;
    let host = host_and_port(&node.address).map_or("", |(host, _)| host);
    View::read(&text, host, tls).map_err(|why| DriverError::Garbage {
        what: format!("{}: CLUSTER NODES", node.what),
        why: crate::model::text::harmless(&why, 200),
    })
}

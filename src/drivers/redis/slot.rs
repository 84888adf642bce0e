//! The way to the master that has one key. A cluster is asked for it through any node: what its other masters do does
//! not matter to that key.

use redis::RedisError;

use super::{
    cluster::any,
    key::Key,
    node::{Access, Node, moving},
    remove::redirect,
    view::View,
};
use crate::drivers::error::DriverError;

/// A connection to that master, and how other nodes of its cluster are reached.
pub(super) struct Way {
    /// The connection.
    pub(super) node: Node,
    cluster: Option<View>,
}

impl Way {
    /// The way to a server of its own.
    pub(super) fn only(node: Node) -> Self {
        Self { node, cluster: None }
    }

    /// The way to a key of a cluster, as whichever of `seeds` sees it.
    ///
    /// # Errors
    /// [`DriverError`]; one that may pass if nobody has the key's slot.
    pub(super) async fn open(
        access: &Access,
        what: &str,
        seeds: &[String],
        key: &Key,
    ) -> Result<Self, DriverError> {
        let (_, view) = any(access, what, seeds).await?;
        let Some(address) = view.master_of(key.slot()) else {
            return Err(moving(what, format!("no master has the slot of {key}")));
        };
        Ok(Self {
            node: access.open(what, address).await?,
            cluster: Some(view),
        })
    }

    /// Where this node sends who asks for the key, if that is why it refused. A key that is on the move is not
    /// followed: it arrives within moments, and what builds on several commands would have to ask for leave before
    /// each.
    pub(super) fn sent_on(&self, error: &RedisError) -> Option<String> {
        let view = self.cluster.as_ref()?;
        let (called, asking) = redirect(error, &self.node)?;
        let address = view.known(&called).unwrap_or(&called).to_owned();
        (!asking).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use redis::cmd;

    use super::*;
    use crate::{drivers::redis::testing::cluster, model::time::Span};

    #[tokio::test]
    async fn whoever_asks_another_master_is_sent_to_the_one_that_has_the_key() {
        let part = cluster().await;
        let seeds: Vec<String> = part.nodes.iter().map(|node| node.address.clone()).collect();
        let access = Access::new("Redis", None, [Span::seconds(10); 2]).unwrap();
        let key = Key::new("allclear:lease:shop");
        let mut way = Way::open(&access, "Redis", &seeds, &key).await.unwrap();
        let has_it = way.node.address.clone();
        way.node
            .ask::<()>(cmd("SET").arg(key.bytes()).arg(1))
            .await
            .unwrap();
        for seed in seeds.iter().filter(|seed| **seed != has_it) {
            way.node = access.open("Redis", seed).await.unwrap();
            let asked = way.node.ask::<String>(cmd("GET").arg(key.bytes())).await;
            assert_eq!(way.sent_on(&asked.unwrap_err()), Some(has_it.clone()));
        }
    }
}

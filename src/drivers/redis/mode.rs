//! Whether the server at a plain address is one server. A node of a cluster has a part of the keys and says nothing of the
//! others: by a key that happens to lie on it, it would pass for the whole.

use std::collections::HashMap;

use redis::{RedisError, Value, cmd};

use crate::drivers::error::DriverError;

use super::node::Node;

/// Proves that this node is a server of its own: by `HELLO`, which every user may ask since Redis 6, else by `INFO server`, else by
/// `CLUSTER INFO`. One that answers none of them is taken for what the environment says.
///
/// # Errors
/// [`DriverError::Setup`] for a node of a cluster and for a Sentinel; others as they come.
pub(super) async fn proves_single(node: &mut Node) -> Result<(), DriverError> {
    let why = match mode(node).await?.as_deref() {
        Some("cluster") => {
            "this is a node of a cluster, which has only its part of the keys; write `cluster: {addresses: [\"host:port\"]}` \
             instead of `address` in the environment's `redis`"
        }
        Some("sentinel") => {
            "this is a Sentinel, which has no keys; write `sentinel: {master: NAME, addresses: [\"host:port\"]}` instead of \
             `address` in the environment's `redis`"
        }
        _ => return Ok(()),
    };
    Err(DriverError::Setup {
        what: node.what.clone(),
        why: why.to_owned(),
    })
}

/// `standalone`, `sentinel` or `cluster`, as the node says; `None` if it does not say.
async fn mode(node: &mut Node) -> Result<Option<String>, DriverError> {
    let hello: Result<HashMap<String, Value>, RedisError> = node.ask(&cmd("HELLO")).await;
    let said = heard(node, "HELLO", hello)?;
    let said = said.and_then(|mut said| redis::from_redis_value::<String>(said.remove("mode")?).ok());
    if said.is_some() {
        return Ok(said);
    }
    let info: Result<String, RedisError> = node.ask(cmd("INFO").arg("server")).await;
    if let Some(text) = heard(node, "INFO", info)? {
        let mode = text.lines().find_map(|line| line.strip_prefix("redis_mode:"));
        return Ok(mode.map(|mode| mode.trim().to_owned()));
    }
    // A server of its own says that its cluster support is disabled.
    let cluster: Result<String, RedisError> = node.ask(cmd("CLUSTER").arg("INFO")).await;
    let enabled = heard(node, "CLUSTER INFO", cluster)?.is_some_and(|text| text.contains("cluster_state:"));
    Ok(enabled.then(|| "cluster".to_owned()))
}

/// What was answered; `None` if the server does not know the question or does not permit it.
fn heard<T>(node: &Node, doing: &str, answer: Result<T, RedisError>) -> Result<Option<T>, DriverError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_io_error() || error.is_timeout() => Err(node.sorted(doing, &error)),
        Err(_) => Ok(None),
    }
}

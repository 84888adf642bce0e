//! What keys hold, as a digest: enough to know whether it is still the same, and nothing that may not be shown.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use redis::{Pipeline, RedisError, Value, cmd, from_redis_value};
use sha2::{Digest, Sha256};

use crate::{
    drivers::error::DriverError,
    model::snapshot::{Expires, KeptFlag},
};

use super::{
    Key, Masters, RedisServer,
    node::{Node, moving},
};

/// A value of more bytes is not read, and no more of them are asked for at once: a server at its memory limit would evict keys to make
/// room for its answer.
const LARGEST: u64 = 64 * 1024;

/// All values of a node together: what is over it is not read.
const TOGETHER: u64 = 4 << 20;

impl RedisServer {
    /// What these keys hold, those that are there. Digests of one `salt` can be compared with each other.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] if not even types may be asked; one that may pass if a key changes or moves meanwhile.
    pub async fn held(&self, keys: &BTreeSet<Key>, salt: &str) -> Result<Vec<KeptFlag>, DriverError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let limited = tokio::time::timeout(self.scan.into(), self.all_held(keys, salt)).await;
        limited.unwrap_or(Err(DriverError::TimedOut {
            what: format!("{}: what flags hold", self.what),
            after: self.scan,
        }))
    }

    async fn all_held(&self, keys: &BTreeSet<Key>, salt: &str) -> Result<Vec<KeptFlag>, DriverError> {
        match self.masters().await? {
            Masters::One(mut node) => held_at(&mut node, &keys.iter().collect::<Vec<_>>(), salt).await,
            Masters::Cluster(mut cluster) => {
                let mut by_shard: Vec<Vec<&Key>> = vec![Vec::new(); cluster.shards.len()];
                for key in keys {
                    by_shard[cluster.owner(key)].push(key);
                }
                let mut held = Vec::new();
                for (shard, keys) in cluster.shards.iter_mut().zip(by_shard) {
                    held.extend(held_at(&mut shard.node, &keys, salt).await?);
                }
                Ok(held)
            }
        }
    }
}

async fn held_at(node: &mut Node, keys: &[&Key], salt: &str) -> Result<Vec<KeptFlag>, DriverError> {
    let kinds = kinds(node, keys).await?;
    let there: Vec<&Key> = kinds.keys().copied().collect();
    let expiries = expiries(node, &there).await?;
    let small = small(node, &there, &kinds).await?;
    let mut values = Vec::with_capacity(there.len());
    for group in groups(&there, &small) {
        let answers = asked(node, group, |key| match kinds[key].as_str() {
            _ if !small.contains_key(key) => None,
            "string" => Some("GET"),
            "hash" => Some("HGETALL"),
            "list" => Some("LRANGE"),
            "set" => Some("SMEMBERS"),
            _ => Some("ZRANGE"),
        });
        values.extend(answers.await?);
    }
    let held = kinds.iter().zip(expiries).zip(values);
    let held = held.map(|(((key, kind), expires), value)| KeptFlag {
        key: key.to_string(),
        digest: value.and_then(|value| digest(salt, key, kind, value)),
        kind: kind.clone(),
        expires,
    });
    Ok(held.collect())
}

/// The types of the keys that are there.
async fn kinds<'k>(node: &mut Node, keys: &[&'k Key]) -> Result<BTreeMap<&'k Key, String>, DriverError> {
    let mut kinds = BTreeMap::new();
    for (key, kind) in keys.iter().zip(asked(node, keys, |_| Some("TYPE")).await?) {
        let Some(kind) = kind else {
            return Err(DriverError::Unauthorized {
                what: format!("{}: TYPE", node.what),
                answer: "the types of flags may not be asked".into(),
            });
        };
        match from_redis_value::<String>(kind) {
            Ok(kind) if kind == "none" => {}
            Ok(kind) => drop(kinds.insert(*key, kind)),
            Err(_) => {
                return Err(DriverError::Garbage {
                    what: format!("{}: TYPE", node.what),
                    why: "no type in it".into(),
                });
            }
        }
    }
    Ok(kinds)
}

/// When each key ends: `PEXPIRETIME` since Redis 7, else what is left of it now.
async fn expiries(node: &mut Node, keys: &[&Key]) -> Result<Vec<Expires>, DriverError> {
    let at = asked(node, keys, |_| Some("PEXPIRETIME")).await?;
    let untold = keys.iter().zip(&at).filter(|(_, at)| at.is_none());
    let untold: BTreeSet<&Key> = untold.map(|(key, _)| *key).collect();
    let left = asked(node, keys, |key| untold.contains(key).then_some("PTTL")).await?;
    let now = Timestamp::now().as_millisecond();
    let number = |value: Option<Value>| value.and_then(|value| from_redis_value::<i64>(value).ok());
    let ends = at
        .into_iter()
        .zip(left)
        .map(|(at, left)| match (number(at), number(left)) {
            (Some(-1), _) | (None, Some(-1)) => Expires::Never,
            (Some(at), _) if at >= 0 => Expires::At(at),
            (None, Some(left)) if left >= 0 => Expires::At(now.saturating_add(left)),
            _ => Expires::NotCompared,
        });
    Ok(ends.collect())
}

/// The keys whose values are small enough to be read, and how large each is.
async fn small<'k>(
    node: &mut Node,
    keys: &[&'k Key],
    kinds: &BTreeMap<&Key, String>,
) -> Result<BTreeMap<&'k Key, u64>, DriverError> {
    let sizes = asked(node, keys, |key| match kinds[key].as_str() {
        "string" => Some("STRLEN"),
        "hash" | "list" | "set" | "zset" => Some("MEMORY USAGE"),
        _ => None,
    })
    .await?;
    let mut room = TOGETHER;
    let fits = keys.iter().zip(sizes).filter_map(|(key, size)| {
        let size = from_redis_value::<u64>(size?).ok()?;
        (size <= LARGEST.min(room)).then(|| {
            room -= size;
            (*key, size)
        })
    });
    Ok(fits.collect())
}

/// The keys in their order, in groups whose values together are no larger than one may be.
fn groups<'a, 'k>(keys: &'a [&'k Key], sizes: &BTreeMap<&Key, u64>) -> Vec<&'a [&'k Key]> {
    let (mut groups, mut begin, mut together) = (Vec::new(), 0, 0);
    for (at, key) in keys.iter().enumerate() {
        let size = sizes.get(key).copied().unwrap_or(0);
        if together + size > LARGEST {
            groups.push(&keys[begin..at]);
            (begin, together) = (at, 0);
        }
        together += size;
    }
    groups.push(&keys[begin..]);
    groups
}

/// Asks what `command` says of each key, all at once. `None` where nothing is asked, or may not be, or is not known there.
async fn asked<'c>(
    node: &mut Node,
    keys: &[&Key],
    command: impl Fn(&Key) -> Option<&'c str>,
) -> Result<Vec<Option<Value>>, DriverError> {
    let commands: Vec<Option<&str>> = keys.iter().map(|key| command(key)).collect();
    if commands.iter().all(Option::is_none) {
        return Ok(vec![None; keys.len()]);
    }
    let mut pipe = Pipeline::new();
    for (key, command) in keys.iter().zip(&commands) {
        if let Some(command) = command {
            pipe.add_command(question(command, key));
        }
    }
    let answers: Result<Vec<Result<Value, RedisError>>, RedisError> = node.ask_all(&mut pipe).await;
    let mut answers = answers
        .map_err(|e| node.sorted("what flags hold", &e))?
        .into_iter();
    let mut all = Vec::with_capacity(keys.len());
    for command in &commands {
        all.push(match command.and_then(|_| answers.next()) {
            None => None,
            Some(Ok(Value::Nil)) => return Err(moving(&node.what, "a flag went while it was looked at")),
            Some(Ok(value)) => Some(value),
            Some(Err(error)) if is_passing(&error) => {
                return Err(moving(
                    &node.what,
                    "flags change or move while they are looked at",
                ));
            }
            Some(Err(_)) => None,
        });
    }
    Ok(all)
}

fn question(command: &str, key: &Key) -> redis::Cmd {
    let mut words = command.split(' ');
    let mut question = cmd(words.next().unwrap_or_default());
    for word in words {
        question.arg(word);
    }
    question.arg(key.bytes());
    let more: &[&str] = match command {
        "LRANGE" => &["0", "-1"],
        "ZRANGE" => &["0", "-1", "WITHSCORES"],
        _ => &[],
    };
    for word in more {
        question.arg(word);
    }
    question
}

/// The key has another type now, or lies elsewhere, or the server is not there for a moment.
fn is_passing(error: &RedisError) -> bool {
    let codes = [
        "WRONGTYPE",
        "MOVED",
        "ASK",
        "TRYAGAIN",
        "LOADING",
        "CLUSTERDOWN",
        "MASTERDOWN",
        "BUSY",
    ];
    error.code().is_some_and(|code| codes.contains(&code))
}

/// Of the parts of a value, in an order of their own where Redis has none.
fn digest(salt: &str, key: &Key, kind: &str, value: Value) -> Option<String> {
    let parts: Vec<Vec<u8>> = match kind {
        "string" => vec![from_redis_value(value).ok()?],
        "hash" => from_redis_value::<BTreeMap<Vec<u8>, Vec<u8>>>(value)
            .ok()?
            .into_iter()
            .flat_map(|(field, value)| [field, value])
            .collect(),
        "set" => from_redis_value::<BTreeSet<Vec<u8>>>(value)
            .ok()?
            .into_iter()
            .collect(),
        _ => from_redis_value(value).ok()?,
    };
    let mut hash = Sha256::new();
    let head = [salt.as_bytes(), key.bytes(), kind.as_bytes()];
    for part in head.into_iter().chain(parts.iter().map(Vec::as_slice)) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let half = hash.finalize().into_iter().take(16);
    Some(half.map(|byte| format!("{byte:02x}")).collect())
}

//! What may be done at a node, proved without doing it.

use redis::{RedisError, Value, cmd};

use crate::{
    drivers::error::DriverError,
    model::{snapshot::Removal, text::harmless},
};

use super::{
    Glob, Key, Masters, RedisServer,
    node::{Node, moving},
    remove::may_ask,
};

impl RedisServer {
    /// Proves the right to remove keys of this glob, removing none: by `ACL DRYRUN` on every master where the server has
    /// it, then by removing a key that nobody has, which a replica or a server that is loading refuses. In a cluster also the
    /// right to `ASKING`, which only a slot on the move would need.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] if neither `UNLINK` nor `DEL` is permitted, or no `ASKING`; others as they come.
    pub async fn can_remove(&self, glob: &Glob) -> Result<Removal, DriverError> {
        if let Masters::Cluster(cluster) = &mut self.masters().await? {
            for shard in &mut cluster.shards {
                may_ask(&mut shard.node).await?;
            }
        }
        let mut refusals = Vec::new();
        for removal in [Removal::Unlink, Removal::Del] {
            match self.proves(removal, glob).await {
                Ok(()) => return Ok(removal),
                Err(DriverError::Unauthorized { answer, .. }) => refusals.push(answer),
                Err(error) => return Err(error),
            }
        }
        Err(DriverError::Unauthorized {
            what: format!("{}: neither UNLINK nor DEL", self.what),
            answer: refusals.join("; "),
        })
    }

    async fn proves(&self, removal: Removal, glob: &Glob) -> Result<(), DriverError> {
        let sample = glob.sample();
        match &mut self.masters().await? {
            Masters::One(node) => self.dry_run(node, removal, &sample).await?,
            Masters::Cluster(cluster) => {
                for shard in &mut cluster.shards {
                    self.dry_run(&mut shard.node, removal, &sample).await?;
                }
            }
        }
        match glob.probe() {
            Some(probe) => {
                self.remove_by(removal, &[Key::new(probe)].into(), &0.into())
                    .await
            }
            None => Ok(()),
        }
    }

    /// `Ok` if permitted or if the server cannot say (older than 7, or `ACL` itself is not permitted).
    async fn dry_run(&self, node: &mut Node, removal: Removal, sample: &str) -> Result<(), DriverError> {
        let whoami: Result<String, RedisError> = node.ask(cmd("ACL").arg("WHOAMI")).await;
        let user = whoami.ok().or_else(|| self.user.clone());
        let mut command = cmd("ACL");
        command
            .arg("DRYRUN")
            .arg(user.unwrap_or_else(|| "default".into()))
            .arg(removal.command())
            .arg(sample);
        let answer: Result<String, RedisError> = node.ask(&command).await;
        match answer {
            Ok(text) if text != "OK" => Err(DriverError::Unauthorized {
                what: format!("{}: {}", node.what, removal.command()),
                answer: harmless(&text, 200),
            }),
            Err(error) if error.is_io_error() => Err(node.sorted("ACL DRYRUN", &error)),
            _ => Ok(()),
        }
    }
}

/// Proves that what this node said is the truth and not a replica's copy of it: by its role, or, where that may not be
/// asked, by removing a key that nobody has.
pub(super) async fn proves_master(node: &mut Node, glob: &Glob) -> Result<(), DriverError> {
    let asked: Result<Value, RedisError> = node.ask(&cmd("ROLE")).await;
    let refusal = match asked {
        Ok(Value::Array(role)) => {
            let word = role.into_iter().next().map(redis::from_redis_value::<String>);
            return match word {
                Some(Ok(word)) if word == "master" => Ok(()),
                Some(Ok(word)) if word == "slave" => {
                    Err(moving(&node.what, "a read-only replica; name its master"))
                }
                _ => Err(DriverError::Garbage {
                    what: format!("{}: ROLE", node.what),
                    why: "no role in it".into(),
                }),
            };
        }
        Ok(_) => None,
        Err(error) if error.is_io_error() => return Err(node.sorted("ROLE", &error)),
        Err(error) => Some(node.sorted("ROLE", &error)),
    };
    let mut refusal = refusal.unwrap_or_else(|| moving(&node.what, "no role"));
    for removal in [Removal::Unlink, Removal::Del] {
        let Some(probe) = glob.probe() else {
            break;
        };
        let removed: Result<u64, RedisError> = node.ask(cmd(removal.command()).arg(probe)).await;
        match removed.map_err(|e| node.sorted(removal.command(), &e)) {
            Ok(_) => return Ok(()),
            Err(error @ DriverError::Unauthorized { .. }) => refusal = error,
            Err(error) => return Err(error),
        }
    }
    Err(refusal)
}

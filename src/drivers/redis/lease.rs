//! A lease: a key that ends by itself. It is set only where there is none, and renewed or ended only while it holds
//! what this run wrote: the key is watched from the look at it to the change, so that a change between the two undoes
//! the change, no script needed. In a cluster all of that is asked at the master of the key's slot.

use redis::{RedisError, cmd};

use super::{
    Key, RedisServer,
    node::{Node, moving},
    slot::Way,
};
use crate::{
    drivers::{error::DriverError, lease::Hold},
    model::{
        environment::RedisPlace,
        ids::EnvironmentName,
        lease::{Held, Holder},
        said::{Said, said},
        time::Span,
    },
};

/// How often it is begun anew where the key changes between a look and a change.
const ROUNDS: usize = 4;
/// How often the key is followed to another node.
const HOPS: usize = 3;
/// The last byte that is read of what somebody else wrote there.
const LAST_BYTE: usize = 4095;
/// What `PTTL` says of a key that is not there.
const NOT_THERE: i64 = -2;

/// The key of an environment's lease.
#[derive(Debug)]
pub(in crate::drivers) struct RedisLease {
    server: RedisServer,
    key: Key,
}

/// What is to become of it.
#[derive(Clone, Copy)]
enum Wish {
    Hold { lasts: Span },
    GiveBack,
}

/// What became of it.
enum Became {
    Taken,
    Renewed,
    /// It is not this run's any more.
    Free,
    Other(Held),
}

impl RedisLease {
    pub(in crate::drivers) fn new(server: RedisServer, environment: &EnvironmentName) -> Self {
        let key = Key::new(format!("allclear:lease:{environment}"));
        Self { server, key }
    }

    /// The lease and its place, for errors.
    pub(in crate::drivers) fn what(&self) -> String {
        format!("{}: lease {}", self.server.what, self.key)
    }

    pub(in crate::drivers) async fn hold(&self, holder: &Holder, lasts: Span) -> Result<Hold, DriverError> {
        match self.become_so(holder, Wish::Hold { lasts }).await? {
            Became::Taken => Ok(Hold::Taken),
            Became::Renewed => Ok(Hold::Renewed),
            Became::Other(held) => Ok(Hold::Other(held)),
            Became::Free => Err(self.restless()),
        }
    }

    pub(in crate::drivers) async fn give_back(&self, holder: &Holder) -> Result<(), DriverError> {
        self.become_so(holder, Wish::GiveBack).await.map(drop)
    }

    /// The exact rights.
    pub(in crate::drivers) fn rights(&self) -> Said {
        let user = self.server.user.as_deref().unwrap_or("default");
        let cluster = match self.server.place {
            RedisPlace::Cluster(_) => " +cluster|nodes",
            _ => "",
        };
        let key = &self.key;
        said!(
            "permit it: `ACL SETUSER {user} ~{key} +set +watch +getrange +pttl +multi +pexpire +exec{cluster}`",
            "请授权：`ACL SETUSER {user} ~{key} +set +watch +getrange +pttl +multi +pexpire +exec{cluster}`"
        )
    }

    /// How a person frees it.
    pub(in crate::drivers) fn freed_by(&self) -> String {
        format!("DEL {}", self.key)
    }

    async fn become_so(&self, holder: &Holder, wish: Wish) -> Result<Became, DriverError> {
        let mut way = self.server.way_to(&self.key).await?;
        for _ in 0..HOPS {
            let error = match self.at(&mut way.node, holder, wish).await {
                Ok(Some(became)) => return Ok(became),
                Ok(None) => return Err(self.restless()),
                Err(error) => error,
            };
            match way.sent_on(&error) {
                Some(address) => way.node = self.server.access.open(&self.server.what, &address).await?,
                None => return Err(way.node.sorted(&format!("lease {}", self.key), &error)),
            }
        }
        Err(self.restless())
    }

    fn restless(&self) -> DriverError {
        moving(&self.what(), "it changes while it is looked at")
    }

    /// `None` if the key never stood still for long enough.
    async fn at(&self, node: &mut Node, holder: &Holder, wish: Wish) -> Result<Option<Became>, RedisError> {
        for _ in 0..ROUNDS {
            if let Wish::Hold { lasts } = wish
                && self.set_where_there_is_none(node, holder, lasts).await?
            {
                return Ok(Some(Became::Taken));
            }
            match (self.watched(node).await?, wish) {
                (Some(held), _) if !held.by.is_same_run(holder) => return Ok(Some(Became::Other(held))),
                (Some(_), Wish::Hold { lasts }) if self.ends_in(node, lasts).await? => {
                    return Ok(Some(Became::Renewed));
                }
                // A key whose time is over is deleted at once.
                (Some(_), Wish::GiveBack) if self.ends_in(node, Span::ZERO).await? => {
                    return Ok(Some(Became::Free));
                }
                (None, Wish::GiveBack) => return Ok(Some(Became::Free)),
                _ => {}
            }
        }
        Ok(None)
    }

    async fn set_where_there_is_none(
        &self,
        node: &mut Node,
        holder: &Holder,
        lasts: Span,
    ) -> Result<bool, RedisError> {
        let value = serde_json::to_string(holder).unwrap_or_else(|_| holder.run.clone());
        let mut set = cmd("SET");
        set.arg(self.key.bytes())
            .arg(value)
            .arg("NX")
            .arg("PX")
            .arg(lasts.0);
        let done: Option<String> = node.ask(&set).await?;
        Ok(done.is_some())
    }

    /// Who holds it; whatever changes it from here on undoes what follows.
    async fn watched(&self, node: &mut Node) -> Result<Option<Held>, RedisError> {
        let key = self.key.bytes();
        node.ask::<()>(cmd("WATCH").arg(key)).await?;
        let value: Vec<u8> = node.ask(cmd("GETRANGE").arg(key).arg(0).arg(LAST_BYTE)).await?;
        let left: i64 = node.ask(cmd("PTTL").arg(key)).await?;
        let held = || Held {
            by: Holder::read(&String::from_utf8_lossy(&value)),
            left: u64::try_from(left).ok().map(Span::millis),
        };
        Ok((left != NOT_THERE).then(held))
    }

    /// Whether it ends then. It does not if it has changed since it was looked at.
    async fn ends_in(&self, node: &mut Node, left: Span) -> Result<bool, RedisError> {
        node.ask::<()>(&cmd("MULTI")).await?;
        node.ask::<()>(cmd("PEXPIRE").arg(self.key.bytes()).arg(left.0))
            .await?;
        let done: Option<Vec<i64>> = node.ask(&cmd("EXEC")).await?;
        Ok(done.is_some_and(|done| done == [1]))
    }
}

impl RedisServer {
    /// The connection to the master that has a key.
    async fn way_to(&self, key: &Key) -> Result<Way, DriverError> {
        match &self.place {
            RedisPlace::Address(address) => self.at_address(address).await.map(Way::only),
            RedisPlace::Sentinel(sentinels) => self.as_sentinels_say(sentinels).await.map(Way::only),
            RedisPlace::Cluster(cluster) => {
                Way::open(&self.access, &self.what, &cluster.addresses, key).await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        drivers::redis::testing::redis_server,
        model::{
            ids::{RunId, ServerName},
            secret::Secrets,
        },
    };

    #[tokio::test]
    async fn what_somebody_changes_between_the_look_and_the_change_is_left_as_it_is() {
        // Another test may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let part = redis_server(&[]).await;
        let name = ServerName::new("main").unwrap();
        let limits = [Span::seconds(10); 3];
        let server = RedisServer::new(&name, &part.named(), &Secrets::none(), limits).unwrap();
        let lease = RedisLease::new(server, &EnvironmentName::new("shop").unwrap());
        let run = RunId::new("aaaa01").unwrap();
        let holder = Holder::of(&run, "ana", "ops-1", "2026-12-01T00:00:00Z".parse().unwrap());
        lease.hold(&holder, Span::seconds(60)).await.unwrap();
        for left in [Span::seconds(60), Span::ZERO] {
            let mut way = lease.server.way_to(&lease.key).await.unwrap();
            let seen = lease.watched(&mut way.node).await.unwrap();
            assert!(seen.unwrap().by.is_same_run(&holder));
            let theirs = ["SET", "allclear:lease:shop", r#"{"run": "bbbb02"}"#];
            part.ask(&[&theirs[..], &["PX", "60000"]].concat()).await;
            assert!(!lease.ends_in(&mut way.node, left).await.unwrap());
            let found = lease.watched(&mut way.node).await.unwrap().unwrap();
            assert_eq!(found.by.run, "bbbb02");
            let ours = serde_json::to_string(&holder).unwrap();
            part.ask(&["SET", "allclear:lease:shop", &ours]).await;
        }
    }
}

//! Degrade flags in Redis: keys that match a glob.
//!
//! Keys are found by `SCAN` and removed by `UNLINK`, or by `DEL` where the user may not `UNLINK`.

use std::{collections::BTreeSet, fmt};

use redis::{
    Client, ConnectionAddr, ErrorKind, IntoConnectionInfo, RedisConnectionInfo, RedisError, ServerErrorKind,
    aio::MultiplexedConnection, cmd,
};

use crate::model::{
    environment::Redis,
    ids::{RunId, ServerName},
    secret::Secrets,
    text::harmless,
    time::Span,
};

use super::{Drivers, error::DriverError, place::PlaceError};

/// Keys looked at in one step of a scan.
const SCAN_COUNT: usize = 10_000;
/// Keys in one `UNLINK`.
const CHUNK: usize = 500;

/// A key. Shown with every byte that is not plain text as `\xNN`, so that two keys never look the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Vec<u8>);

impl Key {
    /// A key of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                if c == '\\' || harmless(c.encode_utf8(&mut [0; 4]), 1) != c.to_string() {
                    c.encode_utf8(&mut [0; 4])
                        .bytes()
                        .try_for_each(|b| write!(f, "\\x{b:02x}"))?;
                } else {
                    write!(f, "{c}")?;
                }
            }
            chunk.invalid().iter().try_for_each(|b| write!(f, "\\x{b:02x}"))?;
        }
        Ok(())
    }
}

/// Which command removes keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// `UNLINK`: memory is given back in the background.
    Unlink,
    /// `DEL`: where the user may not `UNLINK`.
    Del,
}

impl Removal {
    fn command(self) -> &'static str {
        match self {
            Removal::Unlink => "UNLINK",
            Removal::Del => "DEL",
        }
    }
}

/// A glob of keys that is narrow enough to be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// The glob, if it has a literal character: one that is all `*`, `?` and classes would match other people's keys.
    ///
    /// # Errors
    /// [`PlaceError::TooWide`].
    pub fn new(pattern: &str) -> Result<Self, PlaceError> {
        let mut literal = false;
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            match c {
                '*' | '?' => {}
                '[' => drop(chars.by_ref().find(|c| *c == ']')),
                '\\' => literal |= chars.next().is_some(),
                _ => literal = true,
            }
        }
        match literal && pattern.len() <= 1024 {
            true => Ok(Self(pattern.to_owned())),
            false => Err(PlaceError::TooWide {
                pattern: harmless(pattern, 64),
            }),
        }
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it names one key rather than a form.
    fn is_one_key(&self) -> bool {
        !self.0.contains(['*', '?'])
    }

    /// A key that nobody has, of the glob's form: for proving the right to delete without deleting.
    fn probe(&self, run: &RunId) -> String {
        let plain = self.0.replace(['*', '?'], &format!("allclear-probe-{run}"));
        format!("{plain}{}", if self.0.ends_with('*') { ":probe" } else { "" })
    }
}

/// A Redis server of the environment.
#[derive(Debug, Clone)]
pub struct RedisServer {
    what: String,
    user: Option<String>,
    client: Client,
    connect: Span,
    call: Span,
    scan: Span,
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
        let what = format!("Redis {name} ({})", server.address);
        let setup = |why: String| DriverError::Setup {
            what: what.clone(),
            why,
        };
        let (host, port) = server
            .address
            .rsplit_once(':')
            .and_then(|(h, p)| Some((h.trim_matches(['[', ']']), p.parse::<u16>().ok()?)))
            .ok_or_else(|| setup("the address is not host:port".into()))?;
        let mut login = RedisConnectionInfo::default()
            .set_db(server.db.into())
            .set_skip_set_lib_name();
        if let Some(user) = &server.user {
            login = login.set_username(user);
        }
        if let Some(place) = &server.password {
            login = login.set_password(Drivers::secret(secrets, place, &what)?.reveal());
        }
        let info = ConnectionAddr::Tcp(host.to_owned(), port)
            .into_connection_info()
            .map_err(|e| setup(e.to_string()))?
            .set_redis_settings(login);
        let client = Client::open(info).map_err(|e| setup(e.to_string()))?;
        Ok(Self {
            what,
            user: server.user.clone(),
            client,
            connect,
            call,
            scan,
        })
    }

    /// The keys that match, each once.
    ///
    /// # Errors
    /// [`DriverError::TooMany`] if they are more than `at_most`; others as they come.
    pub async fn matching(&self, glob: &Glob, at_most: u32) -> Result<BTreeSet<Key>, DriverError> {
        let what = format!("{}: SCAN {}", self.what, harmless(glob.as_str(), 100));
        let mut connection = self.connected().await?;
        let scan = async {
            let (mut cursor, mut keys) = (0_u64, BTreeSet::new());
            loop {
                let (next, found): (u64, Vec<Vec<u8>>) = cmd("SCAN")
                    .arg(cursor)
                    .arg("MATCH")
                    .arg(glob.as_str())
                    .arg("COUNT")
                    .arg(SCAN_COUNT)
                    .query_async(&mut connection)
                    .await
                    .map_err(|e| self.sorted(&what, &e))?;
                keys.extend(found.into_iter().map(Key));
                if keys.len() > at_most as usize {
                    return Err(DriverError::TooMany {
                        what: what.clone(),
                        count: keys.len(),
                        at_most,
                    });
                }
                cursor = next;
                if cursor == 0 {
                    return Ok(keys);
                }
            }
        };
        let limited = tokio::time::timeout(self.scan.into(), scan).await;
        limited.unwrap_or_else(|_| {
            Err(DriverError::TimedOut {
                what: what.clone(),
                after: self.scan,
            })
        })
    }

    /// Removes these keys; how many of them were there.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn remove(&self, keys: &BTreeSet<Key>) -> Result<u64, DriverError> {
        match self.remove_by(Removal::Unlink, keys).await {
            Err(DriverError::Unauthorized { .. }) => self.remove_by(Removal::Del, keys).await,
            other => other,
        }
    }

    async fn remove_by(&self, removal: Removal, keys: &BTreeSet<Key>) -> Result<u64, DriverError> {
        let what = format!("{}: {} {} keys", self.what, removal.command(), keys.len());
        let mut connection = self.connected().await?;
        let all: Vec<&[u8]> = keys.iter().map(Key::bytes).collect();
        let mut removed = 0;
        // Several commands on their way at once, but never an unbounded pipeline.
        for batch in all.chunks(CHUNK * 20) {
            let mut pipe = redis::pipe();
            for chunk in batch.chunks(CHUNK) {
                pipe.cmd(removal.command()).arg(chunk);
            }
            let counts: Vec<u64> = pipe
                .query_async(&mut connection)
                .await
                .map_err(|e| self.sorted(&what, &e))?;
            removed += counts.iter().sum::<u64>();
        }
        Ok(removed)
    }

    /// Proves the right to remove keys of this glob, removing none: by `ACL DRYRUN` where the server has it, then by
    /// removing a key that nobody has, which a replica or a server that is loading refuses.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] if neither `UNLINK` nor `DEL` is permitted; others as they come.
    pub async fn can_remove(&self, glob: &Glob, run: &RunId) -> Result<Removal, DriverError> {
        let probe = glob.probe(run);
        let mut connection = self.connected().await?;
        let mut refusal = None;
        for removal in [Removal::Unlink, Removal::Del] {
            let dry = self.dry_run(&mut connection, removal, &probe).await;
            let proved = match dry {
                Err(error) => Err(error),
                // Without a wildcard the probe would be the key itself, which may be there and is to be kept.
                Ok(()) if glob.is_one_key() => Ok(()),
                Ok(()) => self.remove_probe(&mut connection, removal, &probe).await,
            };
            match proved {
                Ok(()) => return Ok(removal),
                Err(error @ DriverError::Unauthorized { .. }) => refusal = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(refusal.unwrap_or_else(|| DriverError::Garbage {
            what: self.what.clone(),
            why: "no answer about the right to delete".into(),
        }))
    }

    /// `Ok` if permitted or if the server cannot say (older than 7, or `ACL` itself is not permitted).
    async fn dry_run(
        &self,
        connection: &mut MultiplexedConnection,
        removal: Removal,
        probe: &str,
    ) -> Result<(), DriverError> {
        let whoami: Result<String, RedisError> = cmd("ACL").arg("WHOAMI").query_async(connection).await;
        let user = whoami
            .ok()
            .or_else(|| self.user.clone())
            .unwrap_or_else(|| "default".into());
        let answer: Result<String, RedisError> = cmd("ACL")
            .arg("DRYRUN")
            .arg(user)
            .arg(removal.command())
            .arg(probe)
            .query_async(connection)
            .await;
        match answer {
            Ok(text) if text != "OK" => Err(DriverError::Unauthorized {
                what: format!("{}: {}", self.what, removal.command()),
                answer: harmless(&text, 200),
            }),
            Err(error) if error.is_io_error() => Err(self.sorted(&self.what, &error)),
            _ => Ok(()),
        }
    }

    async fn remove_probe(
        &self,
        connection: &mut MultiplexedConnection,
        removal: Removal,
        probe: &str,
    ) -> Result<(), DriverError> {
        let what = format!("{}: {}", self.what, removal.command());
        let removed: Result<u64, RedisError> =
            cmd(removal.command()).arg(probe).query_async(connection).await;
        removed.map(|_| ()).map_err(|e| self.sorted(&what, &e))
    }

    async fn connected(&self) -> Result<MultiplexedConnection, DriverError> {
        let config = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect.into()))
            .set_response_timeout(Some(self.call.into()));
        let connecting = self.client.get_multiplexed_async_connection_with_config(&config);
        let unreachable = |why: String| DriverError::Unreachable {
            what: self.what.clone(),
            why,
        };
        // The library's limit covers the connection, not a server that accepts and then says nothing.
        match tokio::time::timeout((self.connect + self.call).into(), connecting).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) if error.is_io_error() => Err(unreachable(harmless(&error.to_string(), 200))),
            Ok(Err(error)) => Err(self.sorted(&self.what, &error)),
            Err(_) => Err(unreachable(format!(
                "no greeting within {}",
                self.connect + self.call
            ))),
        }
    }

    fn sorted(&self, what: &str, error: &RedisError) -> DriverError {
        let what = what.to_owned();
        let answer = harmless(&error.to_string(), 200);
        match error.kind() {
            ErrorKind::AuthenticationFailed | ErrorKind::Server(ServerErrorKind::NoPerm) => {
                DriverError::Unauthorized { what, answer }
            }
            _ if matches!(error.code(), Some("NOAUTH" | "WRONGPASS" | "NOPERM")) => {
                DriverError::Unauthorized { what, answer }
            }
            _ if error.is_timeout() => DriverError::TimedOut {
                what,
                after: self.call,
            },
            _ if error.is_io_error() => DriverError::Lost { what, why: answer },
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => DriverError::Garbage { what, why: answer },
            // Loading, failover and a cluster on the move pass.
            ErrorKind::Server(ServerErrorKind::ResponseError) => DriverError::Refused {
                what,
                status: None,
                answer,
            },
            ErrorKind::Server(_) => DriverError::Refused {
                what,
                status: Some(503),
                answer,
            },
            _ => DriverError::Refused {
                what,
                status: None,
                answer,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_that_matches_everything_is_refused() {
        for pattern in ["*", "**", "?*", "[a-z]*", "", "*\\"] {
            assert!(Glob::new(pattern).is_err(), "{pattern}");
        }
        assert_eq!(Glob::new("degrade:*").unwrap().as_str(), "degrade:*");
    }

    #[test]
    fn two_keys_never_look_the_same() {
        let shown: BTreeSet<String> = [&b"a\xff"[..], b"a\\xff", b"a\x1b", b"a"]
            .iter()
            .map(|k| Key::new(*k).to_string())
            .collect();
        assert_eq!(shown.len(), 4);
        assert!(shown.contains("a\\xff") && shown.iter().all(|s| !s.contains('\x1b')));
    }
}

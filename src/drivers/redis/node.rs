//! One connection to one Redis, and what its errors mean.

use redis::{
    Client, ClientTlsConfig, Cmd, ConnectionAddr, ErrorKind, FromRedisValue, IntoConnectionInfo, Pipeline,
    RedisConnectionInfo, RedisError, ServerErrorKind, TlsCertificates, aio::MultiplexedConnection,
};

use crate::{
    drivers::error::DriverError,
    model::{environment::Tls, secret::SecretText, text::harmless, time::Span},
};

/// A certificate file larger than this is none.
const FILE_LIMIT: u64 = 1 << 20;

/// How each node of a server is reached: who we are, TLS, time limits.
#[derive(Debug, Clone)]
pub(super) struct Access {
    login: RedisConnectionInfo,
    tls: Option<TlsCertificates>,
    connect: Span,
    call: Span,
}

impl Access {
    /// # Errors
    /// [`DriverError::Setup`] if a certificate cannot be read.
    pub(super) fn new(
        what: &str,
        tls: Option<&Tls>,
        [connect, call]: [Span; 2],
    ) -> Result<Self, DriverError> {
        Ok(Self {
            login: RedisConnectionInfo::default().set_skip_set_lib_name(),
            tls: tls.map(|tls| certificates(what, tls)).transpose()?,
            connect,
            call,
        })
    }

    /// The same, as this user.
    pub(super) fn of(mut self, user: Option<&str>, password: Option<&SecretText>) -> Self {
        if let Some(user) = user {
            self.login = self.login.set_username(user);
        }
        if let Some(password) = password {
            self.login = self.login.set_password(password.reveal());
        }
        self
    }

    /// The same, in this database.
    pub(super) fn in_database(mut self, db: u32) -> Self {
        self.login = self.login.set_db(db.into());
        self
    }

    /// Whether connections are encrypted.
    pub(super) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// A connection to `host:port`. `what` names the server.
    ///
    /// # Errors
    /// [`DriverError`].
    pub(super) async fn open(&self, what: &str, address: &str) -> Result<Node, DriverError> {
        let what = format!("{what} at {}", harmless(address, 200));
        let client = self.client(&what, address)?;
        let config = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect.into()))
            .set_response_timeout(Some(self.call.into()));
        let connecting = client.get_multiplexed_async_connection_with_config(&config);
        let limit = self.connect + self.call;
        let unreachable = |why: String| DriverError::Unreachable {
            what: what.clone(),
            why,
        };
        // The library's limit covers the connection, not a server that accepts and then says nothing.
        let connection = match tokio::time::timeout(limit.into(), connecting).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) if error.is_io_error() => {
                return Err(unreachable(harmless(&error.to_string(), 200)));
            }
            Ok(Err(error)) => return Err(sorted(&what, self.call, &error)),
            Err(_) => return Err(unreachable(format!("no greeting within {limit}"))),
        };
        Ok(Node {
            what,
            address: address.to_owned(),
            connection,
            call: self.call,
        })
    }

    fn client(&self, what: &str, address: &str) -> Result<Client, DriverError> {
        let setup = |why: String| DriverError::Setup {
            what: what.to_owned(),
            why,
        };
        let (host, port) =
            host_and_port(address).ok_or_else(|| setup("the address is not host:port".into()))?;
        let host = host.to_owned();
        let address = match self.tls {
            None => ConnectionAddr::Tcp(host, port),
            Some(_) => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            },
        };
        let bad = |e: RedisError| setup(harmless(&e.to_string(), 200));
        let info = address
            .into_connection_info()
            .map_err(bad)?
            .set_redis_settings(self.login.clone());
        match &self.tls {
            None => Client::open(info).map_err(bad),
            Some(certificates) => Client::build_with_tls(info, certificates.clone()).map_err(bad),
        }
    }
}

/// Host and port of `host:port`; an IPv6 host may stand in brackets.
pub fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    Some((host.trim_matches(['[', ']']), port.parse().ok()?))
}

fn certificates(what: &str, tls: &Tls) -> Result<TlsCertificates, DriverError> {
    let read = |path: &String| {
        let setup = |why: String| DriverError::Setup {
            what: what.to_owned(),
            why: format!(
                "{}: {why}; name a PEM file in the environment's `tls`",
                harmless(path, 200)
            ),
        };
        match std::fs::metadata(path) {
            Ok(file) if file.len() <= FILE_LIMIT => std::fs::read(path).map_err(|e| setup(e.to_string())),
            Ok(_) => Err(setup("larger than a certificate is".into())),
            Err(e) => Err(setup(e.to_string())),
        }
    };
    let client_tls = tls.client_cert.as_ref().map(|pair| {
        Ok::<_, DriverError>(ClientTlsConfig {
            client_cert: read(&pair.cert_file)?,
            client_key: read(&pair.key_file)?,
        })
    });
    Ok(TlsCertificates {
        client_tls: client_tls.transpose()?,
        root_cert: tls.ca_file.as_ref().map(read).transpose()?,
    })
}

/// A connected node.
pub(super) struct Node {
    /// The server and the node, for errors.
    pub(super) what: String,
    /// Where it was reached.
    pub(super) address: String,
    connection: MultiplexedConnection,
    call: Span,
}

impl Node {
    /// Asks, with the library's own error.
    pub(super) async fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, RedisError> {
        command.query_async(&mut self.connection).await
    }

    /// Sends all of them at once; the answers one by one.
    pub(super) async fn ask_all<T: FromRedisValue>(
        &mut self,
        pipe: &mut Pipeline,
    ) -> Result<Vec<Result<T, RedisError>>, RedisError> {
        pipe.ignore_errors().query_async(&mut self.connection).await
    }

    /// The error of a request to this node.
    pub(super) fn sorted(&self, doing: &str, error: &RedisError) -> DriverError {
        sorted(&format!("{}: {doing}", self.what), self.call, error)
    }
}

/// Codes that pass by themselves: a server that is loading, failing over, saving or busy, a cluster on the move.
const PASSING: [&str; 11] = [
    "LOADING",
    "MASTERDOWN",
    "READONLY",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MOVED",
    "ASK",
    "BUSY",
    "NOREPLICAS",
    "MISCONF",
    "UNBLOCKED",
];

fn sorted(what: &str, call: Span, error: &RedisError) -> DriverError {
    let what = what.to_owned();
    let code = error.code().unwrap_or_default();
    let said = match (code, error.detail()) {
        // As the server said it: what people look for.
        (_, Some(detail)) if !code.is_empty() => format!("{code} {detail}"),
        _ => error.to_string(),
    };
    let answer = harmless(&said, 200);
    match error.kind() {
        ErrorKind::AuthenticationFailed | ErrorKind::Server(ServerErrorKind::NoPerm) => {
            DriverError::Unauthorized { what, answer }
        }
        _ if matches!(code, "NOAUTH" | "WRONGPASS" | "NOPERM") => DriverError::Unauthorized { what, answer },
        // A transaction that may not be carried out.
        _ if code == "EXECABORT" && answer.contains("NOPERM") => DriverError::Unauthorized { what, answer },
        _ if error.is_timeout() => DriverError::TimedOut { what, after: call },
        _ if error.is_io_error() => DriverError::Lost { what, why: answer },
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => DriverError::Garbage { what, why: answer },
        _ => DriverError::Refused {
            what,
            status: PASSING.contains(&code).then_some(503),
            answer,
        },
    }
}

/// What is on the move and will come to rest: worth another look.
pub(super) fn moving(what: &str, answer: impl Into<String>) -> DriverError {
    DriverError::Refused {
        what: what.to_owned(),
        status: Some(503),
        answer: answer.into(),
    }
}

//! HAProxy's runtime API, over TCP or a unix socket: one connection a question, answered until the end of the stream.
//!
//! Success of a `set` is an empty line; a failure is a sentence. Percentages are never sent: HAProxy takes them of the
//! configured weight and rounds down, so 10 % of a weight of 1 would be 0. `state ready` does not restore a weight.

mod server;
mod socket;

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, UnixStream},
    time::timeout,
};

use crate::model::{ids::InstanceName, snapshot::GatewayState, text::harmless, time::Span};

use self::server::{parse_stat, parse_state};
pub use self::{
    server::{Carries, Server, find},
    socket::Socket,
};
use super::{error::DriverError, place::PlaceError};

/// The largest answer that is read.
const MAX_ANSWER: u64 = 8 * 1024 * 1024;

/// One backend at one load balancer.
#[derive(Debug, Clone)]
pub struct Haproxy {
    socket: Socket,
    backend: String,
    connect: Span,
    call: Span,
}

impl Haproxy {
    /// The backend behind that socket.
    ///
    /// # Errors
    /// [`PlaceError::NotAName`] if the backend's name could be taken for more commands.
    pub fn new(socket: Socket, backend: &str, connect: Span, call: Span) -> Result<Self, DriverError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        if backend.is_empty() || !backend.chars().all(allowed) {
            return Err(PlaceError::NotAName {
                text: harmless(backend, 64),
            }
            .into());
        }
        Ok(Self {
            socket,
            backend: backend.to_owned(),
            connect,
            call,
        })
    }

    /// Where it listens.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The backend's name.
    pub fn backend(&self) -> &str {
        &self.backend
    }

    /// All servers of the backend.
    ///
    /// # Errors
    /// [`DriverError`]; [`DriverError::NotThere`] if there is no such backend.
    pub async fn servers(&self) -> Result<Vec<Server>, DriverError> {
        let command = format!("show servers state {}", self.backend);
        let answer = self.ask(&command).await?;
        let what = self.what(&command);
        if !answer.lines().any(|l| l.starts_with('#')) {
            return Err(sentence(what, &answer));
        }
        self.is_whole(&what, &answer)?;
        parse_state(&answer).map_err(|why| DriverError::Garbage { what, why })
    }

    /// What the servers of the backend carry at this moment.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn carries(&self) -> Result<Vec<Carries>, DriverError> {
        let answer = self.ask("show stat").await?;
        let what = self.what("show stat");
        if !answer.starts_with('#') {
            return Err(sentence(what, &answer));
        }
        self.is_whole(&what, &answer)?;
        parse_stat(&answer, &self.backend).map_err(|why| DriverError::Garbage { what, why })
    }

    /// Sets a server's weight, 0 to 256.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn set_weight(&self, server: &InstanceName, weight: u32) -> Result<(), DriverError> {
        self.set(&format!("set server {}/{server} weight {weight}", self.backend))
            .await
    }

    /// Sets a server's state. Its weight stays.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn set_state(&self, server: &InstanceName, state: GatewayState) -> Result<(), DriverError> {
        self.set(&format!(
            "set server {}/{server} state {}",
            self.backend,
            state.as_str()
        ))
        .await
    }

    /// Proves the right to change weights, changing nothing: an impossible weight is refused for its value only to
    /// someone who may set one.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] if the socket's level does not permit it; others as they come.
    pub async fn proves_right(&self, server: &InstanceName) -> Result<(), DriverError> {
        let command = format!("set server {}/{server} weight 257", self.backend);
        let answer = self.ask(&command).await?;
        if answer.contains("Absolute weight") {
            return Ok(());
        }
        Err(match answer.trim() {
            "" => DriverError::Garbage {
                what: self.what(&command),
                why: "an impossible weight was accepted".into(),
            },
            _ => sentence(self.what(&command), &answer),
        })
    }

    async fn set(&self, command: &str) -> Result<(), DriverError> {
        let answer = self.ask(command).await?;
        match answer.trim() {
            "" => Ok(()),
            _ => Err(sentence(self.what(command), &answer)),
        }
    }

    async fn ask(&self, command: &str) -> Result<String, DriverError> {
        let what = self.what(command);
        match &self.socket {
            Socket::Tcp(address) => {
                let stream = self.connected(&what, TcpStream::connect(address)).await?;
                self.exchange(what, stream, command).await
            }
            Socket::Unix(path) => {
                let stream = self.connected(&what, UnixStream::connect(path)).await?;
                self.exchange(what, stream, command).await
            }
        }
    }

    async fn connected<S>(
        &self,
        what: &str,
        connect: impl Future<Output = std::io::Result<S>>,
    ) -> Result<S, DriverError> {
        let unreachable = |why: String| DriverError::Unreachable {
            what: what.to_owned(),
            why,
        };
        match timeout(self.connect.into(), connect).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(unreachable(error.to_string())),
            Err(_) => Err(unreachable(format!("no connection within {}", self.connect))),
        }
    }

    async fn exchange(
        &self,
        what: String,
        mut stream: impl AsyncRead + AsyncWrite + Unpin,
        command: &str,
    ) -> Result<String, DriverError> {
        let mut answer = Vec::new();
        let talk = async {
            stream.write_all(format!("{command}\n").as_bytes()).await?;
            stream.take(MAX_ANSWER).read_to_end(&mut answer).await
        };
        match timeout(self.call.into(), talk).await {
            Err(_) => {
                return Err(DriverError::TimedOut {
                    what,
                    after: self.call,
                });
            }
            Ok(Err(error)) => {
                return Err(DriverError::Lost {
                    what,
                    why: error.to_string(),
                });
            }
            Ok(Ok(_)) => {}
        }
        // Even success is an empty line: nothing at all means that the other end went away.
        if answer.is_empty() {
            return Err(DriverError::Lost {
                what,
                why: "closed without an answer".into(),
            });
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// A table ends with an empty line: one that does not was cut by a restart, and lacks servers.
    fn is_whole(&self, what: &str, answer: &str) -> Result<(), DriverError> {
        match answer.ends_with("\n\n") {
            true => Ok(()),
            false => Err(DriverError::Lost {
                what: what.to_owned(),
                why: "the answer ends in the middle".into(),
            }),
        }
    }

    fn what(&self, command: &str) -> String {
        let place = match &self.socket {
            Socket::Tcp(text) | Socket::Unix(text) => text,
        };
        format!("HAProxy {place}: {command}")
    }
}

fn sentence(what: String, answer: &str) -> DriverError {
    let answer = harmless(answer.trim(), 200);
    if answer.starts_with("No such") || answer.starts_with("Can't find") {
        DriverError::NotThere { what, answer }
    } else if answer.starts_with("Permission denied") {
        DriverError::Unauthorized { what, answer }
    } else if answer.is_empty() || answer.starts_with("HTTP/") {
        DriverError::Garbage { what, why: answer }
    } else {
        DriverError::Refused {
            what,
            status: None,
            answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_name_cannot_smuggle_a_command() {
        let socket = Socket::Tcp("h:1".into());
        let made = Haproxy::new(
            socket,
            "order; shutdown sessions",
            Span::seconds(1),
            Span::seconds(1),
        );
        assert!(made.is_err());
    }
}

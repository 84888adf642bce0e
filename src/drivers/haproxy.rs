//! HAProxy's runtime API, over TCP or a unix socket: one connection a question, answered until the end of the stream.
//!
//! Success of a `set` is an empty line; a failure is a sentence. Percentages are never sent: HAProxy takes them of the
//! configured weight and rounds down, so 10 % of a weight of 1 would be 0. `state ready` does not restore a weight.

use std::fmt;

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, UnixStream},
    time::timeout,
};

use crate::model::{
    environment::Environment,
    ids::{InstanceName, ServerName},
    snapshot::GatewayState,
    text::{harmless, nearest},
    time::Span,
};

use super::{error::DriverError, place::PlaceError};

/// The largest answer that is read.
const MAX_ANSWER: u64 = 8 * 1024 * 1024;

/// Where the runtime API listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Socket {
    /// `host:port`.
    Tcp(String),
    /// An absolute path.
    Unix(String),
}

impl Socket {
    /// `host:port`, an absolute path, or the name of a gateway of the environment.
    ///
    /// # Errors
    /// [`PlaceError::NotASocket`] if it is none of these.
    pub fn find(text: &str, environment: &Environment) -> Result<Self, PlaceError> {
        let named = ServerName::new(text)
            .ok()
            .and_then(|n| environment.gateways.get(&n));
        let address = named.map_or(text, String::as_str);
        let address = address.strip_prefix("unix:").unwrap_or(address);
        let port = address
            .rsplit_once(':')
            .and_then(|(host, p)| (!host.is_empty()).then_some(p));
        if address.starts_with('/') {
            Ok(Socket::Unix(address.to_owned()))
        } else if port.is_some_and(|p| p.parse::<u16>().is_ok()) {
            Ok(Socket::Tcp(address.to_owned()))
        } else {
            Err(PlaceError::NotASocket {
                text: harmless(text, 100),
                environment: environment.name.to_string(),
            })
        }
    }
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Socket::Tcp(address) => write!(f, "TCP:{address}"),
            Socket::Unix(path) => write!(f, "UNIX-CONNECT:{path}"),
        }
    }
}

/// A server of a backend, as HAProxy tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its present weight.
    pub weight: u32,
    /// The weight of the configuration.
    pub initial_weight: u32,
    /// Its administrative state.
    pub state: GatewayState,
    /// Whether it is running, as far as health checks know.
    pub running: bool,
}

impl Server {
    /// Whether it takes new traffic.
    pub fn serves(&self) -> bool {
        self.running && self.weight > 0 && self.state == GatewayState::Ready
    }
}

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
        parse_state(&answer).map_err(|why| DriverError::Garbage { what, why })
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
            state_word(state)
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

    fn what(&self, command: &str) -> String {
        let place = match &self.socket {
            Socket::Tcp(text) | Socket::Unix(text) => text,
        };
        format!("HAProxy {place}: {command}")
    }
}

/// The word of the runtime API for a state.
pub fn state_word(state: GatewayState) -> &'static str {
    match state {
        GatewayState::Ready => "ready",
        GatewayState::Drain => "drain",
        GatewayState::Maint => "maint",
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

/// Columns are found by their names: later versions add some.
fn parse_state(text: &str) -> Result<Vec<Server>, String> {
    let mut lines = text.lines().map(str::trim);
    let header = lines.find(|l| l.starts_with('#')).ok_or("no header line")?;
    let names: Vec<&str> = header.trim_start_matches('#').split_whitespace().collect();
    let column = |name: &str| {
        let found = names.iter().position(|n| *n == name);
        found.ok_or_else(|| format!("no column {name}"))
    };
    let (name, weight) = (column("srv_name")?, column("srv_uweight")?);
    let (initial, admin) = (column("srv_iweight")?, column("srv_admin_state")?);
    let running = column("srv_op_state")?;
    lines
        .filter(|l| !l.is_empty())
        .map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            let cell = |i: usize| {
                cells
                    .get(i)
                    .copied()
                    .ok_or_else(|| "a row is too short".to_owned())
            };
            let number = |i: usize| {
                let text = cell(i)?;
                text.parse::<u32>()
                    .map_err(|_| format!("`{}` is not a number", harmless(text, 20)))
            };
            Ok(Server {
                name: harmless(cell(name)?, 64),
                weight: number(weight)?,
                initial_weight: number(initial)?,
                state: admin_state(number(admin)?),
                running: matches!(number(running)?, 1 | 2),
            })
        })
        .collect()
}

/// The bits of `srv_admin_state`: 1, 2, 4, 32, 64 are kinds of maintenance; 8 and 16 of drain (HAProxy management
/// guide, "show servers state").
fn admin_state(bits: u32) -> GatewayState {
    match bits {
        b if b & (1 | 2 | 4 | 32 | 64) != 0 => GatewayState::Maint,
        b if b & (8 | 16) != 0 => GatewayState::Drain,
        _ => GatewayState::Ready,
    }
}

/// The server of an instance.
///
/// # Errors
/// [`DriverError::NotThere`] with the nearest name.
pub fn find<'a>(
    servers: &'a [Server],
    backend: &str,
    instance: &InstanceName,
) -> Result<&'a Server, DriverError> {
    servers
        .iter()
        .find(|s| s.name == instance.as_str())
        .ok_or_else(|| {
            let near = nearest(instance.as_str(), servers.iter().map(|s| s.name.as_str()));
            DriverError::NotThere {
                what: format!("server {instance} in backend {backend}"),
                answer: match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the backend has {} servers", servers.len()),
                },
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight new\n\
        3 order 1 order-0 127.0.0.1 2 8 30 100 x\n3 order 2 order-1 127.0.0.1 0 1 100 100 x\n\n";

    #[test]
    fn columns_are_found_by_name() {
        let servers = parse_state(STATE).unwrap();
        assert_eq!(
            (servers[0].weight, servers[0].state, servers[0].running),
            (30, GatewayState::Drain, true)
        );
        assert_eq!(
            (servers[1].state, servers[1].running),
            (GatewayState::Maint, false)
        );
    }

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

    proptest::proptest! {
        #[test]
        fn no_answer_panics_the_parser(text in "(# ?[a-z_ ]{0,80}\n)?[ -~\n]{0,200}") {
            let _ = parse_state(&text);
        }
    }
}

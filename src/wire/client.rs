//! The console's side of the socket.

use std::{io::ErrorKind, marker::PhantomData, path::Path, time::Duration};

use futures::StreamExt;
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    io::AsyncWriteExt,
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
};
use tokio_util::codec::FramedRead;

use super::{
    error::WireError,
    frames::Lines,
    message::{Attach, FromKeeper, Hello, MAX_FRAME, OVER, SNAPSHOT, STOP, STOPPING, ToKeeper},
    place,
    server::peer,
};

/// How long a keeper may take for its first answer.
const ANSWER: Duration = Duration::from_secs(5);

/// An attached console: what comes, and where to ask.
#[derive(Debug)]
pub struct Client<S> {
    /// Who answered.
    pub hello: Hello,
    /// What the keeper says.
    pub incoming: Incoming<S>,
    /// What it is asked.
    pub outgoing: Outgoing,
}

/// What the keeper says.
#[derive(Debug)]
pub struct Incoming<S> {
    lines: FramedRead<OwnedReadHalf, Lines>,
    state: PhantomData<fn() -> S>,
}

/// What the keeper is asked.
#[derive(Debug)]
pub struct Outgoing {
    write: OwnedWriteHalf,
}

impl<S: DeserializeOwned> Client<S> {
    /// Attaches to the keeper at `path`. The state comes next.
    ///
    /// # Errors
    /// [`WireError::NobodyThere`]; a socket that cannot be trusted; a keeper that does not answer.
    pub async fn connect(path: &Path, attach: Attach) -> Result<Self, WireError> {
        let (read, write) = connect(path).await?;
        let mut outgoing = Outgoing { write };
        outgoing.send(&ToKeeper::Attach(attach)).await?;
        let mut incoming = Incoming::<S> {
            lines: FramedRead::new(read, Lines::new(MAX_FRAME)),
            state: PhantomData,
        };
        match within(path, incoming.next()).await?? {
            FromKeeper::Hello(hello) => Ok(Self {
                hello,
                incoming,
                outgoing,
            }),
            FromKeeper::Bye { .. } => Err(WireError::NobodyThere {
                path: path.to_owned(),
            }),
            FromKeeper::Refused { why } => Err(WireError::Unreadable { why }),
            FromKeeper::State(_) | FromKeeper::Event(_) => Err(WireError::Unreadable {
                why: "the keeper did not say who it is".to_owned(),
            }),
        }
    }
}

impl<S: DeserializeOwned> Incoming<S> {
    /// The next thing the keeper says. Nothing is lost if this is dropped while it waits.
    ///
    /// # Errors
    /// [`WireError::Lost`] at the end. After [`WireError::Unreadable`] one may go on; a state that comes later is whole.
    pub async fn next(&mut self) -> Result<FromKeeper<S>, WireError> {
        let line = self.lines.next().await.ok_or(WireError::Lost)??;
        serde_json::from_str(&line).map_err(|e| WireError::Unreadable { why: e.to_string() })
    }
}

impl Outgoing {
    /// Asks the keeper for something. Half a line may have been sent if this is dropped while it waits.
    ///
    /// # Errors
    /// [`WireError::Broken`] if the keeper has gone.
    pub async fn send(&mut self, ask: &ToKeeper) -> Result<(), WireError> {
        self.send_line(&json(ask)?).await
    }

    async fn send_line(&mut self, line: &str) -> Result<(), WireError> {
        self.write.write_all(format!("{line}\n").as_bytes()).await?;
        Ok(())
    }
}

fn json(ask: &impl Serialize) -> Result<String, WireError> {
    serde_json::to_string(ask).map_err(|e| WireError::Unreadable { why: e.to_string() })
}

/// Tells the keeper at `path` to recover, whatever its version. True if it will; false if the run is over already.
///
/// # Errors
/// As for [`Client::connect`].
pub async fn stop(path: &Path) -> Result<bool, WireError> {
    match plain(path, STOP).await?.as_str() {
        STOPPING => Ok(true),
        OVER => Ok(false),
        other => Err(WireError::Unreadable {
            why: crate::model::text::harmless(other, 80),
        }),
    }
}

/// The state of the run of the keeper at `path`, as JSON, whatever its version.
///
/// # Errors
/// As for [`Client::connect`].
pub async fn snapshot(path: &Path) -> Result<serde_json::Value, WireError> {
    let line = plain(path, SNAPSHOT).await?;
    serde_json::from_str(&line).map_err(|e| WireError::Unreadable { why: e.to_string() })
}

async fn plain(path: &Path, word: &str) -> Result<String, WireError> {
    let (read, write) = connect(path).await?;
    let mut lines = FramedRead::new(read, Lines::new(MAX_FRAME));
    let mut outgoing = Outgoing { write };
    outgoing.send_line(word).await?;
    within(path, lines.next()).await?.ok_or(WireError::Lost)?
}

async fn within<T>(path: &Path, answer: impl Future<Output = T>) -> Result<T, WireError> {
    let silent = |_| WireError::Silent {
        path: path.to_owned(),
        seconds: ANSWER.as_secs(),
    };
    tokio::time::timeout(ANSWER, answer).await.map_err(silent)
}

async fn connect(path: &Path) -> Result<(OwnedReadHalf, OwnedWriteHalf), WireError> {
    path.parent().map_or(Ok(()), place::check)?;
    let stream = UnixStream::connect(path)
        .await
        .map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => WireError::NobodyThere {
                path: path.to_owned(),
            },
            _ => WireError::Io {
                doing: "connect to",
                path: path.to_owned(),
                source,
            },
        })?;
    peer(&stream)?;
    Ok(stream.into_split())
}

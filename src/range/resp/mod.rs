//! A small Redis: enough of RESP2 for degrade flags, so that the range needs nothing beside itself.

mod commands;
mod frame;
mod glob;
mod keyspace;
mod on_keys;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::commands::Session;
use self::frame::Parsed;
use self::keyspace::Keyspace;
use super::accept::accept;
use crate::point::Locked;

/// Databases, as in Redis' default configuration.
const DATABASES: usize = 16;
/// Most bytes that an unfinished command may take.
const MAX_PENDING: usize = 8 * 1024 * 1024;
/// A client that stops reading its answers is dropped after this long.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);

/// The keys of the server, by database.
pub(super) struct Databases(Vec<Locked<Keyspace>>);

impl Databases {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self((0..DATABASES).map(|_| Locked::default()).collect()))
    }

    fn select(&self, index: usize) -> Option<&Locked<Keyspace>> {
        self.0.get(index)
    }
}

/// Serves until `stop`.
pub(super) async fn serve(
    listener: TcpListener,
    databases: Arc<Databases>,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    accept(listener, tasks, stop, |stream| {
        let databases = Arc::clone(&databases);
        async move { converse(stream, &databases).await }
    })
    .await;
}

async fn converse(mut stream: TcpStream, databases: &Databases) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut session = Session::new(databases);
    let mut pending = Vec::new();
    loop {
        if stream.read_buf(&mut pending).await? == 0 {
            return Ok(());
        }
        let mut answers = Vec::new();
        let mut used = 0;
        let open = loop {
            match frame::parse(&pending[used..]) {
                Parsed::Command(words, length) => {
                    used += length;
                    if !session.answer(&words, &mut answers) {
                        break false;
                    }
                }
                Parsed::Incomplete => break pending.len() - used <= MAX_PENDING,
                Parsed::Broken(reason) => {
                    frame::error(&mut answers, &format!("ERR Protocol error: {reason}"));
                    break false;
                }
            }
        };
        pending.drain(..used);
        tokio::time::timeout(WRITE_PATIENCE, stream.write_all(&answers)).await??;
        if !open {
            return stream.shutdown().await;
        }
    }
}

#[cfg(test)]
mod tests;

//! The keeper's side of the socket.

use std::{path::Path, sync::Arc};

use serde::Serialize;
use tokio::{net::UnixStream, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    asks::{Asker, Asks, Peer, channel},
    connection,
    error::WireError,
    hub::Hub,
    message::{Hello, Shorten},
    place::Bound,
};

/// How long consoles have to take the goodbye.
pub(super) const GOODBYE: std::time::Duration = std::time::Duration::from_secs(1);

/// A state, and the number of the last event in it.
#[derive(Debug, Clone, PartialEq)]
pub struct StateAt<S> {
    /// The number.
    pub seq: u64,
    /// The state.
    pub state: S,
}

/// What every connection needs.
pub(super) struct Shared<S> {
    pub(super) hello: Hello,
    pub(super) hub: Hub,
    pub(super) state: Box<dyn Fn() -> StateAt<S> + Send + Sync>,
    pub(super) asker: Asker,
    pub(super) closing: CancellationToken,
}

/// A keeper's socket, open until it is closed or dropped.
#[derive(Debug)]
pub struct Server {
    closing: CancellationToken,
    connections: TaskTracker,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens at `path`, in a directory that only we can enter (made if need be). Consoles get `state` when they
    /// attach and whenever they were too slow, and the hub's events in between.
    ///
    /// # Errors
    /// [`WireError::InUse`] if another keeper answers there, [`WireError::NotOurs`] for a directory not to be trusted.
    pub async fn bind<S: Serialize + Shorten + Send + 'static>(
        path: &Path,
        hello: Hello,
        hub: Hub,
        state: impl Fn() -> StateAt<S> + Send + Sync + 'static,
    ) -> Result<(Server, Asks), WireError> {
        let bound = Bound::new(path).await?;
        let (asker, asks) = channel();
        let closing = CancellationToken::new();
        let connections = TaskTracker::new();
        let shared = Arc::new(Shared {
            hello,
            hub,
            state: Box::new(state),
            asker,
            closing: closing.clone(),
        });
        let accepting = tokio::spawn(accept(bound, shared, connections.clone()));
        let server = Server {
            closing,
            connections,
            accepting,
        };
        Ok((server, asks))
    }

    /// Says goodbye to every console, waits two seconds at most for those that are slow to take it, and removes the
    /// socket.
    pub async fn close(mut self) {
        self.closing.cancel();
        let _ = (&mut self.accepting).await;
        self.connections.close();
        let _ = tokio::time::timeout(GOODBYE + GOODBYE, self.connections.wait()).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closing.cancel();
        self.accepting.abort();
    }
}

async fn accept<S: Serialize + Shorten + Send + 'static>(
    bound: Bound,
    shared: Arc<Shared<S>>,
    connections: TaskTracker,
) {
    loop {
        let accepted = tokio::select! {
            () = shared.closing.cancelled() => return,
            accepted = bound.listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => match peer(&stream) {
                Ok(peer) => drop(connections.spawn(connection::serve(stream, peer, Arc::clone(&shared)))),
                Err(e) => tracing::warn!(error = %e, "a connection was refused"),
            },
            // Out of descriptors, most likely: there may be some again in a moment.
            Err(e) => {
                tracing::warn!(error = %e, "a connection could not be accepted");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

/// Who is at the other end, if it is one of us.
pub(super) fn peer(stream: &UnixStream) -> Result<Peer, WireError> {
    let cred = stream.peer_cred()?;
    let me = rustix::process::geteuid().as_raw();
    allowed(cred.uid(), me)?;
    Ok(Peer {
        uid: cred.uid(),
        pid: cred.pid(),
    })
}

/// Only the same user, and root, who could do anything anyway.
fn allowed(uid: u32, me: u32) -> Result<(), WireError> {
    if uid == me || uid == 0 {
        Ok(())
    } else {
        Err(WireError::Stranger { uid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_user_is_a_stranger_even_to_root() {
        assert!(allowed(1000, 1000).is_ok());
        assert!(allowed(0, 1000).is_ok());
        assert!(matches!(
            allowed(1001, 1000),
            Err(WireError::Stranger { uid: 1001 })
        ));
        assert!(matches!(allowed(1000, 0), Err(WireError::Stranger { uid: 1000 })));
    }
}

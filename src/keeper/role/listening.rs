//! The socket: where the keeper listens, what it passes on to the engine, what consoles get.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::mpsc;

use crate::{
    engine::Ask,
    journal::RunDir,
    keeper::{socket_of, socket_without_login},
    model::{event::Event, ids::RunId, phase::Cause},
    view::RunView,
    wire::{self, Asks, Hub, Server, StateAt, ToKeeper, WireError},
};

/// Listens where the keeper before did, so that consoles find us; elsewhere if that place is gone.
pub(super) async fn listen_at(
    run: &RunDir,
    id: &RunId,
    hello: wire::Hello,
    hub: Hub,
    state: impl Fn() -> StateAt<RunView> + Clone + Send + Sync + 'static,
) -> Result<(Server, Asks), WireError> {
    let before = run.socket();
    if let Some(socket) = &before
        && let Ok(bound) = Server::bind(socket, hello.clone(), hub.clone(), state.clone()).await
    {
        return Ok(bound);
    }
    let (mut socket, last_resort) = (socket_of(id), socket_without_login(id));
    let mut bound = Server::bind(&socket, hello.clone(), hub.clone(), state.clone()).await;
    if bound.is_err() && socket != last_resort {
        socket = last_resort;
        bound = Server::bind(&socket, hello, hub, state).await;
    }
    if bound.is_ok()
        && let Err(error) = run.record_socket(&socket)
    {
        // Consoles of the same login find it all the same, and no recovery waits for a full disk.
        tracing::warn!(%error, "the socket's place is not recorded");
    }
    bound
}

/// Folds every event into the state that new consoles get, then tells those that look.
pub(super) async fn publish(
    mut events: mpsc::UnboundedReceiver<Event>,
    view: Arc<RwLock<RunView>>,
    hub: Hub,
) {
    while let Some(event) = events.recv().await {
        view.write().unwrap_or_else(PoisonError::into_inner).apply(&event);
        hub.publish(&event);
    }
}

pub(super) async fn listen(asks: Option<Asks>, to_engine: mpsc::UnboundedSender<Ask>) {
    let Some(mut asks) = asks else {
        return;
    };
    while let Some(asked) = asks.next().await {
        let ask = match asked.ask {
            ToKeeper::Recover { by } => Ask::Recover(Cause::Asked { by }),
            ToKeeper::Extend { by } => Ask::Extend(by),
            ToKeeper::Note { by, text } => Ask::Note { by, text },
            ToKeeper::Attach(_) => continue,
        };
        if to_engine.send(ask).is_err() {
            return;
        }
    }
}

pub(super) async fn count(hub: Hub, to_engine: mpsc::UnboundedSender<Ask>) {
    let mut watching = hub.watching();
    while watching.changed().await.is_ok() {
        let consoles = *watching.borrow_and_update();
        if to_engine.send(Ask::Watching(consoles)).is_err() {
            return;
        }
    }
}

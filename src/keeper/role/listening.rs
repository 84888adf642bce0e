//! The socket: where the keeper listens, what it passes on to the engine, what consoles get.
#![expect(
    clippy::disallowed_types,
    reason = "the view that consoles get is held for an update or a copy, and never across a wait; poison is taken off"
)]

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::mpsc;

use super::Entry;
use crate::{
    engine::Ask,
    journal::RunDir,
    keeper::{socket_of, socket_without_login},
    model::{event::Event, ids::RunId, phase::Cause, plan::Plan},
    view::RunView,
    wire::{self, Asks, Hub, Server, Shorten, StateAt, ToKeeper, WireError},
};

/// The socket, if there is one.
pub(super) struct Listening {
    pub server: Option<Server>,
    /// Why no console can attach.
    pub deaf: Option<WireError>,
    pub consoles: Consoles,
}

/// What consoles ask, and what they are told.
pub(super) struct Consoles {
    pub asks: Option<Asks>,
    pub hub: Hub,
    pub view: Arc<RwLock<RunView>>,
}

impl Listening {
    /// Lets consoles attach to a run that is at `so_far`.
    pub async fn open(run: &RunDir, plan: &Plan, so_far: RunView, entry: &Entry) -> Result<Self, WireError> {
        let view = Arc::new(RwLock::new(so_far));
        let hub = Hub::default();
        let hello = wire::Hello {
            version: plan.allclear_version.clone(),
            run: plan.run.clone(),
            pid: std::process::id(),
        };
        let looked_at = view.clone();
        let now = move || {
            let view = looked_at.read().unwrap_or_else(PoisonError::into_inner);
            StateAt {
                seq: view.seq,
                state: view.clone(),
            }
        };
        let (server, asks, deaf) = match listen_at(run, &plan.run, hello, hub.clone(), now).await {
            Ok((server, asks)) => (Some(server), Some(asks), None),
            // A run begins with a console. Recovery needs none.
            Err(error) if *entry != Entry::Fresh => (None, None, Some(error)),
            Err(error) => return Err(error),
        };
        let consoles = Consoles { asks, hub, view };
        Ok(Self {
            server,
            deaf,
            consoles,
        })
    }
}

/// Listens where the keeper before did, so that consoles find us; elsewhere if that place is gone.
async fn listen_at(
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

impl Shorten for RunView {
    fn shorten(&mut self) -> bool {
        self.halve_charts()
    }
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

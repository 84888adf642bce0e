//! What runs beside the engine: consoles are told and heard, signals are heard, a deadman is kept alive.

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use super::{
    KeeperError,
    ending::leave,
    listening::{Consoles, count, listen, publish},
    signals::on_signals,
};
use crate::{
    engine::{Ask, Ended},
    journal::{RunDir, StateDir},
    keeper::guardian,
    model::{event::Event, time::Span},
    wire::Server,
};

/// How long a fresh run waits for its deadman before it begins. Without one it is never armed.
const DEADMAN_PATIENCE: Span = Span::seconds(5);

/// The tasks, until the run is over.
pub(super) struct Tasks {
    publishing: JoinHandle<()>,
    guarding: JoinHandle<()>,
    /// What only hears others: it ends with the run, wherever it is.
    hearing: [JoinHandle<()>; 3],
    guarded: watch::Receiver<bool>,
    end: watch::Sender<bool>,
}

/// The engine's ends of what leads to the tasks and back.
pub(super) struct EngineSide {
    pub asks: mpsc::UnboundedReceiver<Ask>,
    pub events: mpsc::UnboundedSender<Event>,
    pub beat: watch::Sender<u64>,
}

impl Tasks {
    /// Starts them all.
    pub fn spawn(
        state: &StateDir,
        run: &RunDir,
        consoles: Consoles,
    ) -> Result<(Self, EngineSide), KeeperError> {
        let (to_engine, asks) = mpsc::unbounded_channel();
        let signals = on_signals(to_engine.clone())?;
        let (events, feed) = mpsc::unbounded_channel();
        let (beat, beats) = watch::channel(0u64);
        let (end, ended) = watch::channel(false);
        let (up, guarded) = watch::channel(false);
        let Consoles {
            asks: from_consoles,
            hub,
            view,
        } = consoles;
        let guarding = tokio::spawn(guardian::guard(
            state.path().to_owned(),
            run.path().to_owned(),
            beats,
            ended,
            to_engine.clone(),
            up,
        ));
        let tasks = Self {
            publishing: tokio::spawn(publish(feed, view, hub.clone())),
            guarding,
            hearing: [
                signals,
                tokio::spawn(listen(from_consoles, to_engine.clone())),
                tokio::spawn(count(hub, to_engine)),
            ],
            guarded,
            end,
        };
        Ok((tasks, EngineSide { asks, events, beat }))
    }

    /// Waits until a deadman stands by, or for so long that none will: from the first record on there is someone to take over.
    pub async fn deadman_stands_by(&mut self) {
        let up = self.guarded.wait_for(|up| *up);
        let _ = tokio::time::timeout(DEADMAN_PATIENCE.into(), up).await;
    }

    /// Waits until the last event has been published. The engine and its ledger are gone: the feed ends.
    pub async fn all_is_published(&mut self) {
        let _ = (&mut self.publishing).await;
    }

    /// Ends them: consoles first, the deadman last.
    pub async fn end(self, run: &RunDir, server: Option<Server>, ended: &Ended) {
        let dismiss = || {
            self.end.send_replace(true);
        };
        leave(run, server, ended, dismiss).await;
        let _ = self.guarding.await;
        for task in self.hearing {
            task.abort();
        }
    }
}

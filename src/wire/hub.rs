//! The hub: what the keeper publishes goes to every console that looks. It never waits for one of them.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::{broadcast, watch};

use super::message::Said;
use crate::model::event::Event;

/// Events that a console may lag behind before it gets a new state instead.
const BACKLOG: usize = 512;

/// A published event, ready to be sent.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) seq: u64,
    pub(super) line: String,
}

/// Where a keeper publishes its events.
#[derive(Debug, Clone)]
pub struct Hub {
    events: broadcast::Sender<Arc<Published>>,
    watching: watch::Sender<usize>,
    dropped: Arc<AtomicU64>,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            events: broadcast::Sender::new(BACKLOG),
            watching: watch::Sender::new(0),
            dropped: Arc::default(),
        }
    }
}

impl Hub {
    /// Publishes an event. The state that new consoles get must contain it already, or one of them could miss it.
    pub fn publish(&self, event: &Event) {
        if self.events.receiver_count() == 0 {
            return;
        }
        let published = Published {
            seq: event.seq,
            line: Said::<()>::Event(event).line(),
        };
        // Fails only if the last console has just left.
        let _ = self.events.send(Arc::new(published));
    }

    /// How many consoles are attached; changes wake the receiver.
    pub fn watching(&self) -> watch::Receiver<usize> {
        self.watching.subscribe()
    }

    /// How many events slow consoles did not get, counted once for each console; they got a new state instead.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Arc<Published>> {
        self.events.subscribe()
    }

    pub(super) fn count_dropped(&self, events: u64) {
        self.dropped.fetch_add(events, Ordering::Relaxed);
    }

    /// Counts a console for as long as the result lives.
    pub(super) fn seat(&self) -> Seat {
        self.watching.send_modify(|n| *n += 1);
        Seat(self.watching.clone())
    }
}

/// One attached console.
#[derive(Debug)]
pub(super) struct Seat(watch::Sender<usize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.send_modify(|n| *n -= 1);
    }
}

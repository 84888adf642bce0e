//! A pool of threads or connections, with a bounded queue before it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::point::Locked;

/// A use longer than this is a thread that was stuck.
const STUCK: Duration = Duration::from_millis(200);

/// How soon a thread is free again after a call that held it for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drain {
    /// With the end of the call.
    AtOnce,
    /// Two threads a second, one after another: the weakness `slow-drain`.
    Slow,
}

/// Threads or connections. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    slots: Arc<Semaphore>,
    size: usize,
    waiting: AtomicUsize,
    most_waiting: usize,
    drain: Drain,
    stuck: Locked<VecDeque<OwnedSemaphorePermit>>,
}

/// No slot came free in time, or too many wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exhausted;

/// A slot in use.
#[derive(Debug)]
pub(super) struct Slot {
    pool: Arc<Inner>,
    permit: Option<OwnedSemaphorePermit>,
    since: Instant,
}

impl Pool {
    pub(super) fn new(size: usize, most_waiting: usize, drain: Drain) -> Self {
        let inner = Inner {
            slots: Arc::new(Semaphore::new(size)),
            size,
            waiting: AtomicUsize::new(0),
            most_waiting,
            drain,
            stuck: Locked::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Waits for a slot, at most this long.
    pub(super) async fn acquire(&self, patience: Duration) -> Result<Slot, Exhausted> {
        let inner = &self.inner;
        if let Ok(permit) = Arc::clone(&inner.slots).try_acquire_owned() {
            return Ok(Slot::new(inner, permit));
        }
        let place = Waiting::enter(inner)?;
        let permit = tokio::time::timeout(patience, Arc::clone(&inner.slots).acquire_owned()).await;
        drop(place);
        match permit {
            Ok(Ok(permit)) => Ok(Slot::new(inner, permit)),
            Ok(Err(_)) | Err(_) => Err(Exhausted),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.inner.size
    }

    pub(super) fn busy(&self) -> usize {
        self.inner
            .size
            .saturating_sub(self.inner.slots.available_permits())
    }

    pub(super) fn waiting(&self) -> usize {
        self.inner.waiting.load(Relaxed)
    }

    /// Frees one thread that a long call left stuck.
    pub(super) fn free_one_stuck(&self) {
        drop(self.inner.stuck.with(VecDeque::pop_front));
    }

    /// Frees every stuck thread, as a restart does.
    pub(super) fn free_stuck(&self) {
        drop(self.inner.stuck.with(std::mem::take));
    }
}

impl Slot {
    fn new(pool: &Arc<Inner>, permit: OwnedSemaphorePermit) -> Self {
        Self {
            pool: Arc::clone(pool),
            permit: Some(permit),
            since: Instant::now(),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.pool.drain == Drain::Slow
            && self.since.elapsed() > STUCK
            && let Some(permit) = self.permit.take()
        {
            self.pool.stuck.with(|stuck| stuck.push_back(permit));
        }
    }
}

/// A place in the queue, given up also when the caller goes away.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(inner: &'a Inner) -> Result<Self, Exhausted> {
        inner
            .waiting
            .fetch_update(Relaxed, Relaxed, |waiting| {
                (waiting < inner.most_waiting).then(|| waiting + 1)
            })
            .map(|_| Self(&inner.waiting))
            .map_err(|_| Exhausted)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

//! The ledger: numbers events, has them written, and passes them on. The engine alone writes in it.

use std::{future::Future, iter, mem, thread};

use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, timeout_at},
};

use super::remains;
use crate::{
    journal::{Clock, Journal, JournalError},
    model::{
        event::{Body, Event},
        said::Said,
        time::Span,
    },
};

/// How long one record may take to become durable before the journal counts as broken.
const PATIENCE: Span = Span::seconds(2);

/// How soon the last record is tried once more.
const AGAIN: std::time::Duration = std::time::Duration::from_millis(250);

/// Records that share one wait for the disk, at most.
const AT_ONCE: usize = 512;

/// Numbers events, has them written by a thread of its own, and passes them on to those who look.
pub struct Ledger {
    clock: Clock,
    seq: u64,
    to_writer: std::sync::mpsc::Sender<Record>,
    watchers: mpsc::UnboundedSender<Event>,
    failures: mpsc::UnboundedReceiver<JournalError>,
}

struct Record {
    event: Event,
    durable: Option<oneshot::Sender<Result<(), JournalError>>>,
}

/// A record that was not made durable.
#[derive(Debug, thiserror::Error)]
pub enum NotDurable {
    /// The journal said so.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The disk did not answer in time.
    #[error(
        "the disk did not take a record within {}: nothing new is injected until it does",
        PATIENCE
    )]
    Slow,
}

impl NotDurable {
    /// The same in both languages.
    pub fn said(&self) -> Said {
        match self {
            NotDurable::Journal(error) => error.said(),
            NotDurable::Slow => Said::new(
                self.to_string(),
                format!("磁盘 {PATIENCE} 内未接受一条记录：接受之前不再注入"),
            ),
        }
    }
}

impl Ledger {
    /// A ledger that goes on after `seq`, writing to `journal`, passing events to `watchers`.
    pub fn new(clock: Clock, seq: u64, journal: Journal, watchers: mpsc::UnboundedSender<Event>) -> Self {
        Self::begun_by(|| {}, clock, seq, journal, watchers)
    }

    /// The same, where the disk takes nothing before `first` is over.
    pub(super) fn begun_by(
        first: impl FnOnce() + Send + 'static,
        clock: Clock,
        seq: u64,
        journal: Journal,
        watchers: mpsc::UnboundedSender<Event>,
    ) -> Self {
        let (to_writer, records) = std::sync::mpsc::channel();
        let (failed, failures) = mpsc::unbounded_channel();
        thread::Builder::new()
            .name("journal".into())
            .spawn(move || {
                first();
                write_all(journal, &records, &failed);
            })
            .expect("a thread at the start of a process; without one nothing is armed");
        Self {
            clock,
            seq,
            to_writer,
            watchers,
            failures,
        }
    }

    /// Records an event. It is shown at once and written soon.
    pub fn emit(&mut self, body: Body) {
        self.record(body, None);
    }

    /// Records an event and waits until it is durable.
    pub async fn emit_durably(&mut self, body: Body) -> Result<(), NotDurable> {
        self.emit_pending(body).await
    }

    /// Records an event; the future resolves when it is durable. Others may be recorded meanwhile.
    pub fn emit_pending(
        &mut self,
        body: Body,
    ) -> impl Future<Output = Result<(), NotDurable>> + Send + use<> {
        let (done, durable) = oneshot::channel();
        self.record(body, Some(done));
        async {
            match tokio::time::timeout(PATIENCE.into(), durable).await {
                Ok(Ok(result)) => Ok(result?),
                Ok(Err(_)) | Err(_) => Err(NotDurable::Slow),
            }
        }
    }

    /// Records the last event. It is shown once, and given to the disk until it is durable there, `within` at most.
    pub fn emit_last(
        &mut self,
        body: Body,
        within: std::time::Duration,
    ) -> impl Future<Output = Result<(), NotDurable>> + Send + use<> {
        let event = self.shown(body);
        let to_writer = self.to_writer.clone();
        async move {
            let deadline = Instant::now() + within;
            loop {
                let (done, durable) = oneshot::channel();
                let _ = to_writer.send(Record {
                    event: event.clone(),
                    durable: Some(done),
                });
                // What the disk has not answered yet is not given to it twice.
                match timeout_at(deadline, durable).await {
                    Ok(Ok(Ok(()))) => return Ok(()),
                    Ok(Ok(Err(error))) if Instant::now() + AGAIN >= deadline => return Err(error.into()),
                    Ok(Ok(Err(_))) => sleep(AGAIN).await,
                    Ok(Err(_)) | Err(_) => return Err(NotDurable::Slow),
                }
            }
        }
    }

    fn record(&mut self, body: Body, durable: Option<oneshot::Sender<Result<(), JournalError>>>) {
        let event = self.shown(body);
        // The writer is gone: that may not stop a recovery.
        let _ = self.to_writer.send(Record { event, durable });
    }

    /// Numbers an event, and passes it on to those who look.
    fn shown(&mut self, body: Body) -> Event {
        self.seq += 1;
        let body = match body {
            Body::MayRemain(list) => Body::MayRemain(remains::bounded(list)),
            body => body,
        };
        let event = Event {
            seq: self.seq,
            at: self.clock.now(),
            wall: self.clock.wall(),
            body,
        };
        // Nobody looks: that may not stop a recovery either.
        let _ = self.watchers.send(event.clone());
        event
    }

    /// A failure of the journal since the last call.
    pub fn failure(&mut self) -> Option<JournalError> {
        self.failures.try_recv().ok()
    }
}

fn write_all(
    mut journal: Journal,
    records: &std::sync::mpsc::Receiver<Record>,
    failed: &mpsc::UnboundedSender<JournalError>,
) {
    let mut told = false;
    // What has come while the disk was busy is written together: a thousand intents wait for it a few times.
    while let Ok(first) = records.recv() {
        let batch: Vec<Record> = iter::once(first)
            .chain(records.try_iter())
            .take(AT_ONCE)
            .collect();
        let results = journal.append_all(batch.iter().map(|record| &record.event));
        // Whatever still fits in, the disk is full: the ballast is for last words, and nothing new may be begun.
        if journal.is_full() && !mem::replace(&mut told, true) {
            let _ = failed.send(journal.full());
        }
        for (record, result) in batch.into_iter().zip(results) {
            match (record.durable, result) {
                (Some(waiting), result) => drop(waiting.send(result)),
                (None, Err(error)) => drop(failed.send(error)),
                (None, Ok(())) => {}
            }
        }
    }
}

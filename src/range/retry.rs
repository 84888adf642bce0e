//! The retry queue of failed reservations (`order-retry`): held, released at a rate, really consumed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::call::Call;
use super::instance::Instance;
use super::meters::Counter;
use crate::point::Locked;

/// Messages a second that the consumers manage when no rate is set.
const CAPACITY: f64 = 100.0;
/// Most messages kept; more are lost.
const MOST: usize = 500_000;
/// How often the pace is kept.
const TICK: Duration = Duration::from_millis(10);
/// The sound queue gives up after this many attempts.
const ATTEMPTS: u32 = 3;
/// Copies that the storm makes of a failed message, one per line of the order.
const COPIES: u32 = 8;

/// What a failure leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Republishing {
    /// One message, some attempts, each later than the one before.
    Bounded,
    /// A message for each line, at once, without end: the weakness `retry-storm`.
    Storm,
}

/// A reservation to try again.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) call: Call,
    /// Index of the order instance that failed.
    pub(super) order: usize,
    attempt: u32,
}

/// What `PUT /app/retry` sets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Release {
    /// Nothing leaves the queue while it is held.
    pub(super) held: bool,
    /// Messages a second; none means as fast as the consumers can.
    #[serde(default)]
    pub(super) rate: Option<f64>,
}

/// What `GET /app/retry` shows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct RetryState {
    pub(super) backlog: usize,
    /// Messages given to consumers since the start.
    pub(super) released: u64,
    pub(super) rate: Option<f64>,
    pub(super) held: bool,
}

struct Queue {
    /// By the time they are due, then in the order they came.
    messages: BTreeMap<(Instant, u64), Message>,
    next: u64,
    release: Release,
}

pub(super) struct RetryQueue {
    queue: Arc<Locked<Queue>>,
    republishing: Republishing,
    published: Counter,
    released: Counter,
    abandoned: Counter,
}

impl RetryQueue {
    pub(super) fn new(instance: &Instance, republishing: Republishing) -> Self {
        let release = Release {
            held: false,
            rate: None,
        };
        let queue = Arc::new(Locked::new(Queue {
            messages: BTreeMap::new(),
            next: 0,
            release,
        }));
        let (backlog, held) = (Arc::clone(&queue), Arc::clone(&queue));
        let meters = &instance.meters;
        meters.gauge("retry_backlog", "Messages in the retry queue.", &[], move || {
            backlog.with(|queue| queue.messages.len()) as f64
        });
        meters.gauge(
            "retry_held",
            "1 while nothing leaves the retry queue.",
            &[],
            move || f64::from(u8::from(held.with(|queue| queue.release.held))),
        );
        let counter = |name, help| meters.counter(name, help, &[]);
        Self {
            queue,
            republishing,
            published: counter("retry_published_total", "Messages put into the retry queue."),
            released: counter("retry_released_total", "Messages given to consumers."),
            abandoned: counter(
                "retry_abandoned_total",
                "Messages given up after their last attempt.",
            ),
        }
    }

    /// A reservation has failed for the first time.
    pub(super) fn publish(&self, call: &Call, order: usize) {
        self.add(&Message {
            call: call.clone(),
            order,
            attempt: 1,
        });
    }

    /// An attempt has failed.
    fn failed_again(&self, message: &Message) {
        if self.republishing == Republishing::Bounded && message.attempt >= ATTEMPTS {
            self.abandoned.inc();
            return;
        }
        self.add(&Message {
            attempt: message.attempt + 1,
            ..message.clone()
        });
    }

    fn add(&self, message: &Message) {
        let (copies, backoff) = match self.republishing {
            Republishing::Bounded => (1, Duration::from_secs(1 << (message.attempt - 1))),
            Republishing::Storm => (COPIES, Duration::ZERO),
        };
        let due = Instant::now() + backoff;
        for _ in 0..copies {
            self.queue.with(|queue| {
                if queue.messages.len() < MOST {
                    queue.messages.insert((due, queue.next), message.clone());
                    queue.next += 1;
                    self.published.inc();
                }
            });
        }
    }

    pub(super) fn state(&self) -> RetryState {
        self.queue.with(|queue| RetryState {
            backlog: queue.messages.len(),
            released: self.released.get(),
            rate: queue.release.rate,
            held: queue.release.held,
        })
    }

    pub(super) fn set(&self, release: Release) {
        self.queue.with(|queue| queue.release = release);
    }

    /// Takes as many due messages as the release allows: what was saved up and what `elapsed` has added. Under one
    /// lock, so that nothing leaves after the answer to a hold.
    fn take(&self, saved: &mut f64, elapsed: Duration) -> Vec<Message> {
        let now = Instant::now();
        self.queue.with(|queue| {
            if queue.release.held {
                *saved = 0.0;
                return Vec::new();
            }
            let rate = queue.release.rate.unwrap_or(CAPACITY);
            *saved += rate * elapsed.as_secs_f64();
            let mut taken = Vec::new();
            while *saved >= 1.0
                && let Some(first) = queue.messages.first_entry()
                && first.key().0 <= now
            {
                taken.push(first.remove());
                *saved -= 1.0;
            }
            // An idle queue must not save up for a burst.
            *saved = saved.min(1.0_f64.max(rate * 0.05));
            self.released.add(taken.len() as u64);
            taken
        })
    }

    /// Consumes, for ever: `attempt` is the reservation, true if it succeeded.
    pub(super) async fn consume<F>(self: Arc<Self>, attempt: impl Fn(Message) -> F)
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let mut tick = tokio::time::interval(TICK);
        let mut last = Instant::now();
        let mut saved = 0.0;
        loop {
            tick.tick().await;
            let now = Instant::now();
            let messages = self.take(&mut saved, now - last);
            last = now;
            for message in messages {
                let (queue, trial) = (Arc::clone(&self), attempt(message.clone()));
                tokio::spawn(async move {
                    if !trial.await {
                        queue.failed_again(&message);
                    }
                });
            }
        }
    }
}

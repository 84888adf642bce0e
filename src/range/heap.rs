//! The heap of one order instance: fills, is collected, and stops the world for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::dice::Dice;
use super::instance::Instance;
use super::meters::Histogram;
use crate::point::{Locked, Points};

const MIB: u64 = 1024 * 1024;
/// Size of the heap.
const MAX: u64 = 128 * MIB;
/// Garbage that is collected at, on average.
const YOUNG: u64 = 10 * MIB;
/// What lives in it.
const LIVE: u64 = 48 * MIB;

pub(super) struct Heap {
    points: Points,
    dice: Dice,
    garbage: Arc<AtomicU64>,
    stopped_until: Locked<Option<Instant>>,
    pauses: Histogram,
}

impl Heap {
    pub(super) fn new(instance: &Instance, dice: Dice) -> Self {
        let garbage = Arc::new(AtomicU64::new(0));
        let (points, read) = (instance.points.clone(), Arc::clone(&garbage));
        let meters = &instance.meters;
        meters.gauge(
            "heap_used_bytes",
            "Heap in use, ballast of fault rules included.",
            &[],
            move || (LIVE + read.load(Relaxed) + points.ballast_bytes()).min(MAX) as f64,
        );
        meters.gauge("heap_max_bytes", "Size of the heap.", &[], || MAX as f64);
        Self {
            points: instance.points.clone(),
            dice,
            garbage,
            stopped_until: Locked::default(),
            pauses: meters.histogram("gc_pause_seconds", "Stops for garbage collection.", &[]),
        }
    }

    /// Waits while the world is stopped.
    pub(super) async fn run(&self) {
        if let Some(until) = self.stopped_until.with(|until| *until) {
            tokio::time::sleep_until(until).await;
        }
    }

    /// Fills and collects, for ever. The fuller the heap, the longer the stop.
    pub(super) async fn collect(self: Arc<Self>) {
        // No whole part of a second: a scrape must not always find the same moment of the cycle.
        let mut tick = tokio::time::interval(Duration::from_millis(83));
        let mut room = YOUNG;
        loop {
            tick.tick().await;
            let garbage = self.garbage.fetch_add(MIB / 2 + self.dice.below(MIB), Relaxed);
            if garbage >= room {
                self.stop_the_world().await;
                room = YOUNG / 2 + self.dice.below(YOUNG);
            }
        }
    }

    async fn stop_the_world(&self) {
        let full = (LIVE + self.points.ballast_bytes()) as f64 / MAX as f64;
        let pause = self.dice.latency(3.0 + 900.0 * (full - 0.6).clamp(0.0, 0.4), 0.2);
        self.garbage.store(0, Relaxed);
        self.pauses.observe(pause);
        self.stopped_until
            .with(|until| *until = Some(Instant::now() + pause));
        tokio::time::sleep(pause).await;
        self.stopped_until.with(|until| *until = None);
    }
}

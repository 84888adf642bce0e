//! One instance of the order service: a thread pool, a breaker and a fallback for the coupon, a retry for the
//! reservation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::breaker::Breaker;
use super::call::{ByTraffic, Call, Failed, PathMeters, passed};
use super::coupon::Coupon;
use super::database::Database;
use super::dice::Dice;
use super::flags::Flags;
use super::heap::Heap;
use super::instance::Instance;
use super::inventory::Inventory;
use super::meters::{Counter, Histogram};
use super::payment::Payment;
use super::pool::{Drain, Pool};
use super::retry::RetryQueue;
use crate::point::Outcome;

/// Share of orders that fail by nature.
const NATURAL_FAILURE: f64 = 0.0003;
/// Most orders that wait for a thread.
const MOST_WAITING: usize = 4000;
/// Without a failed coupon call for this long the coupon counts as healthy again.
const HEALTHY_AFTER: Duration = Duration::from_secs(3);

/// What an order does without a coupon quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithoutCoupon {
    /// Goes on without a discount.
    Degrade,
    /// Fails: the weakness `no-coupon-fallback`.
    Fail,
}

/// Whether the service deletes its own flags when the coupon is healthy again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlagsAfter {
    Lifted,
    /// The weakness `flags-stay`.
    Left,
}

/// How an instance is dimensioned and how it behaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct OrderConfig {
    pub(super) index: usize,
    pub(super) threads: usize,
    /// Timeout of the coupon call, and patience for a thread.
    pub(super) timeout: Duration,
    pub(super) without_coupon: WithoutCoupon,
    pub(super) flags_after: FlagsAfter,
    pub(super) drain: Drain,
}

/// What an order instance calls.
#[derive(Clone)]
pub(super) struct Downstream {
    pub(super) coupon: Arc<Coupon>,
    pub(super) inventory: Arc<Inventory>,
    pub(super) database: Arc<Database>,
    pub(super) retry: Arc<RetryQueue>,
    /// Payment for the drill's traffic, and for the users'.
    pub(super) payment: ByTraffic<Arc<Payment>>,
}

pub(super) struct Order {
    pub(super) instance: Arc<Instance>,
    pub(super) threads: Pool,
    pub(super) breaker: Breaker,
    pub(super) flags: Flags,
    pub(super) heap: Arc<Heap>,
    config: OrderConfig,
    dice: Dice,
    down: Downstream,
    orders: PathMeters,
    degraded: ByTraffic<Counter>,
    stale_reads: Counter,
    coupon_seconds: ByTraffic<Histogram>,
    /// When a coupon call last failed, ms after `started`.
    last_failure: AtomicU64,
    started: Instant,
}

impl Order {
    /// None if the instance cannot have another breaker.
    pub(super) fn new(
        instance: Arc<Instance>,
        dice: Dice,
        config: OrderConfig,
        flags: Flags,
        down: Downstream,
    ) -> Option<Arc<Self>> {
        let threads = Pool::new(config.threads, MOST_WAITING, config.drain);
        instance.own("order-threads", &threads);
        let meters = &instance.meters;
        let (busy, waiting) = (threads.clone(), threads.clone());
        meters.gauge("order_threads_busy", "Threads in use.", &[], move || {
            busy.busy() as f64
        });
        meters.gauge("order_threads_max", "Threads there are.", &[], move || {
            config.threads as f64
        });
        meters.gauge(
            "order_queue_depth",
            "Orders that wait for a thread.",
            &[],
            move || waiting.waiting() as f64,
        );
        let degraded = ByTraffic::new(|traffic| {
            let labels = [("traffic", traffic.label())];
            meters.counter("degraded_total", "Orders taken without a coupon quote.", &labels)
        });
        let coupon_seconds = ByTraffic::new(|traffic| {
            let labels = [("traffic", traffic.label())];
            meters.histogram(
                "coupon_calls_seconds",
                "Coupon calls as the caller sees them, seconds.",
                &labels,
            )
        });
        Some(Arc::new(Self {
            orders: PathMeters::new(meters, "/order", &[200, 202, 503, 500]),
            stale_reads: meters.counter("stale_reads_total", "Orders read back from an old copy.", &[]),
            breaker: instance.breakers.get_or_make("coupon")?,
            heap: Arc::new(Heap::new(&instance, dice.branch(1))),
            threads,
            flags,
            config,
            dice,
            down,
            degraded,
            coupon_seconds,
            last_failure: AtomicU64::new(0),
            started: Instant::now(),
            instance,
        }))
    }

    /// Places an order and answers with its status.
    pub(super) async fn place(&self, call: &Call) -> u16 {
        let begun = Instant::now();
        let life = self.instance.life();
        let code = tokio::select! {
            code = self.in_a_thread(call) => code,
            () = life.cancelled() => 503,
        };
        self.orders.observe(call.traffic(), code, begun.elapsed());
        code
    }

    async fn in_a_thread(&self, call: &Call) -> u16 {
        let Ok(thread) = self.threads.acquire(self.config.timeout).await else {
            return 503;
        };
        let code = self.steps(call).await.unwrap_or(500);
        drop(thread);
        code
    }

    async fn steps(&self, call: &Call) -> Result<u16, Failed> {
        self.heap.run().await;
        passed(&self.instance.points.pass("order.heap", call).await)?;
        self.discount(call).await?;
        passed(&self.instance.points.pass("inventory.query", call).await)?;
        let reading = self.down.inventory.stock(call).await?;
        let reserved = self.reserve(call, reading).await;
        if reserved.is_err() {
            self.down.retry.publish(call, self.config.index);
        }
        self.down.database.write(self.write_point(call)).await?;
        if self.dice.chance(NATURAL_FAILURE) {
            return Err(Failed::Answered);
        }
        self.down.payment.of(call.traffic()).receive(call.clone());
        // Taken, and to be completed from the retry queue.
        Ok(if reserved.is_ok() { 200 } else { 202 })
    }

    async fn write_point(&self, call: &Call) -> Result<(), Failed> {
        let outcome = self.instance.points.pass("order.db", call).await;
        if outcome == Outcome::Stale {
            self.stale_reads.inc();
        }
        passed(&outcome)
    }

    async fn reserve(&self, call: &Call, reading: i64) -> Result<(), Failed> {
        passed(&self.instance.points.pass("inventory.reserve", call).await)?;
        self.down.inventory.reserve(call, reading).await
    }

    /// A message of the retry queue: true if the reservation succeeded.
    pub(super) async fn retry(self: Arc<Self>, call: Call) -> bool {
        let Ok(reading) = self.down.inventory.stock(&call).await else {
            return false;
        };
        self.reserve(&call, reading).await.is_ok()
    }

    /// Gets a quote, or goes on without one.
    async fn discount(&self, call: &Call) -> Result<(), Failed> {
        let flagged = match call.campaign {
            Some(campaign) => self.flags.is_set(campaign).await,
            None => false,
        };
        let quote = if flagged {
            Err(Failed::Refused)
        } else {
            self.quote(call).await
        };
        let Err(failed) = quote else { return Ok(()) };
        if let (Failed::Timeout, Some(campaign)) = (failed, call.campaign) {
            self.flags.set(campaign).await;
        }
        match self.config.without_coupon {
            WithoutCoupon::Fail => Err(failed),
            WithoutCoupon::Degrade => {
                self.degraded.of(call.traffic()).inc();
                Ok(())
            }
        }
    }

    /// The coupon call, behind breaker and timeout.
    async fn quote(&self, call: &Call) -> Result<(), Failed> {
        let permit = self.breaker.permit().map_err(|_| Failed::Refused)?;
        let begun = Instant::now();
        let made = async {
            passed(&self.instance.points.pass("coupon.query", call).await)?;
            let served = tokio::spawn(Arc::clone(&self.down.coupon).quote(call.clone()));
            served.await.unwrap_or(Err(Failed::Answered))
        };
        let answer = tokio::time::timeout(self.config.timeout, made)
            .await
            .unwrap_or(Err(Failed::Timeout));
        let took = begun.elapsed();
        permit.record(answer.is_ok(), took);
        self.coupon_seconds.of(call.traffic()).observe(took);
        if answer.is_err() {
            self.last_failure.store(self.age_ms(), Relaxed);
        }
        answer
    }

    fn age_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What the instance does beside its requests, for ever: its flags, and its stuck threads.
    pub(super) async fn housekeeping(self: Arc<Self>) {
        let mut tick = tokio::time::interval(Duration::from_millis(500));
        loop {
            tick.tick().await;
            for (_, pool) in self.instance.pools() {
                pool.free_one_stuck();
            }
            let calm = self.age_ms().saturating_sub(self.last_failure.load(Relaxed));
            if self.config.flags_after == FlagsAfter::Lifted && u128::from(calm) > HEALTHY_AFTER.as_millis() {
                self.flags.lift().await;
            }
        }
    }
}

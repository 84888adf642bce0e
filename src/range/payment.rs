//! The payment service: works off the callbacks of the payment provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::call::{Call, PathMeters, passed};
use super::dice::Dice;
use super::instance::Instance;
use super::pool::{Drain, Pool};

/// Workers of one instance.
const WORKERS: usize = 64;
/// Most callbacks that wait.
const MOST_WAITING: usize = 100_000;
/// A callback waits for a worker as long as the provider keeps it.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) struct Payment {
    instance: Arc<Instance>,
    dice: Dice,
    workers: Pool,
    backlog: Arc<AtomicUsize>,
    callbacks: PathMeters,
}

impl Payment {
    pub(super) fn new(instance: Arc<Instance>, dice: Dice, drain: Drain) -> Arc<Self> {
        let workers = Pool::new(WORKERS, MOST_WAITING, drain);
        instance.own("payment-workers", &workers);
        let backlog = Arc::new(AtomicUsize::new(0));
        let (read, busy) = (Arc::clone(&backlog), workers.clone());
        let meters = &instance.meters;
        meters.gauge(
            "payment_backlog",
            "Callbacks received and not yet handled.",
            &[],
            move || read.load(Relaxed) as f64,
        );
        meters.gauge("payment_workers_busy", "Workers in use.", &[], move || {
            busy.busy() as f64
        });
        meters.gauge("payment_workers_max", "Workers there are.", &[], || {
            WORKERS as f64
        });
        let callbacks = PathMeters::new(meters, "/callback", &[200, 500, 503]);
        Arc::new(Self {
            instance,
            dice,
            workers,
            backlog,
            callbacks,
        })
    }

    /// Takes a callback in; it is worked off in its own time.
    pub(super) fn receive(self: &Arc<Self>, call: Call) {
        let payment = Arc::clone(self);
        self.backlog.fetch_add(1, Relaxed);
        tokio::spawn(async move {
            let begun = Instant::now();
            let code = payment.handle(&call).await;
            payment.backlog.fetch_sub(1, Relaxed);
            payment.callbacks.observe(call.traffic(), code, begun.elapsed());
        });
    }

    /// Frees stuck workers, for ever.
    pub(super) async fn housekeeping(self: Arc<Self>) {
        let mut tick = tokio::time::interval(Duration::from_millis(500));
        loop {
            tick.tick().await;
            self.workers.free_one_stuck();
        }
    }

    async fn handle(&self, call: &Call) -> u16 {
        let Ok(worker) = self.workers.acquire(PATIENCE).await else {
            return 503;
        };
        let life = self.instance.life();
        let work = async {
            let injected = passed(&self.instance.points.pass("callback.handle", call).await);
            tokio::time::sleep(self.dice.latency(15.0, 0.3)).await;
            if injected.is_ok() { 200 } else { 500 }
        };
        let code = tokio::select! {
            code = work => code,
            () = life.cancelled() => 503,
        };
        drop(worker);
        code
    }
}

//! The orders database: a connection pool shared by all order instances, and a replica that lags.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::call::Failed;
use super::dice::Dice;
use super::instance::Instance;
use super::pool::{Drain, Pool};

/// How long a caller waits for a connection.
const PATIENCE: Duration = Duration::from_secs(1);
/// Lag of an idle replica, ms.
const CALM_LAG_MS: f64 = 40.0;

pub(super) struct Database {
    connections: Pool,
    dice: Dice,
    /// Replica lag, µs.
    lag: Arc<AtomicU64>,
}

impl Database {
    pub(super) fn new(shown_by: &Instance, dice: Dice) -> Self {
        let connections = Pool::new(100, 2000, Drain::AtOnce);
        let lag = Arc::new(AtomicU64::new((CALM_LAG_MS * 1000.0) as u64));
        let (busy, max, read) = (connections.clone(), connections.clone(), Arc::clone(&lag));
        let meters = &shown_by.meters;
        meters.gauge("orders_db_pool_busy", "Connections in use.", &[], move || {
            busy.busy() as f64
        });
        meters.gauge("orders_db_pool_max", "Connections there are.", &[], move || {
            max.size() as f64
        });
        meters.gauge(
            "replica_lag_seconds",
            "How far the replica is behind.",
            &[],
            move || read.load(Relaxed) as f64 / 1e6,
        );
        Self {
            connections,
            dice,
            lag,
        }
    }

    /// Writes an order; `before` is what an injection point holds the connection for.
    pub(super) async fn write(&self, before: impl Future<Output = Result<(), Failed>>) -> Result<(), Failed> {
        let connection = self
            .connections
            .acquire(PATIENCE)
            .await
            .map_err(|_| Failed::Timeout)?;
        before.await?;
        tokio::time::sleep(self.dice.latency(5.0, 0.35)).await;
        drop(connection);
        Ok(())
    }

    /// The replica follows the load on the primary, for ever.
    pub(super) async fn replicate(self: Arc<Self>) {
        let mut tick = tokio::time::interval(Duration::from_millis(200));
        loop {
            tick.tick().await;
            let load = self.connections.busy().saturating_sub(10) as f64 / self.connections.size() as f64;
            let aim_ms = CALM_LAG_MS * (0.15 * self.dice.normal()).exp() + 3000.0 * load;
            let lag = self.lag.load(Relaxed) as f64;
            self.lag
                .store((0.7 * lag + 0.3 * aim_ms * 1000.0) as u64, Relaxed);
        }
    }
}

//! The cart service: a local cache, Redis behind it, the database behind that.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::call::{Call, Failed, PathMeters, passed};
use super::dice::Dice;
use super::instance::Instance;
use super::meters::Counter;
use super::pool::{Drain, Pool};
use crate::point::Locked;

/// Connections to the database of one instance.
const CONNECTIONS: usize = 50;
/// How long a request waits for a connection.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long an entry of the local cache lives.
const FRESH: Duration = Duration::from_secs(2);
/// Most entries of the local cache.
const MOST_ENTRIES: usize = 10_000;
/// Share of the carts that Redis has.
const REDIS_HAS: f64 = 0.85;

/// What a miss of the local cache does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnMiss {
    /// Redis for at most 50 ms; a connection only if the database is really needed.
    RedisThenDatabase,
    /// A connection, then Redis for up to a second, then the database in any case: the weakness `cart-enrich`.
    EnrichHoldingConnection,
}

pub(super) struct Cart {
    instance: Arc<Instance>,
    dice: Dice,
    on_miss: OnMiss,
    connections: Pool,
    fresh_until: Locked<HashMap<u64, Instant>>,
    requests: PathMeters,
    hits: Counter,
    misses: Counter,
}

impl Cart {
    /// `carts` are warmed into the cache, with ages as if it had run for long.
    pub(super) fn new(instance: Arc<Instance>, dice: Dice, on_miss: OnMiss, carts: u64) -> Self {
        let connections = Pool::new(CONNECTIONS, 2000, Drain::AtOnce);
        instance.own("cart-db", &connections);
        let (busy, waiting) = (connections.clone(), connections.clone());
        let meters = &instance.meters;
        meters.gauge("cart_db_pool_busy", "Connections in use.", &[], move || {
            busy.busy() as f64
        });
        meters.gauge("cart_db_pool_max", "Connections there are.", &[], || {
            CONNECTIONS as f64
        });
        meters.gauge(
            "cart_db_pool_waiting",
            "Requests that wait for a connection.",
            &[],
            move || waiting.waiting() as f64,
        );
        let now = Instant::now();
        // In the long run an entry is fresh for FRESH and missing for the mean time between two requests.
        let warm = (0..carts)
            .map(|cart| (cart, now + FRESH.mul_f64(dice.share() * 1.66)))
            .collect();
        Self {
            requests: PathMeters::new(meters, "/cart", &[200, 500, 503]),
            hits: meters.counter(
                "cart_cache_hits_total",
                "Requests answered from the local cache.",
                &[],
            ),
            misses: meters.counter(
                "cart_cache_misses_total",
                "Requests that the local cache did not have.",
                &[],
            ),
            instance,
            dice,
            on_miss,
            connections,
            fresh_until: Locked::new(warm),
        }
    }

    /// Answers a request for a cart with its status.
    pub(super) async fn get(&self, call: &Call, cart: u64) -> u16 {
        let begun = Instant::now();
        let life = self.instance.life();
        let work = async {
            if self.cached(cart) {
                self.hits.inc();
                tokio::time::sleep(self.dice.latency(2.0, 0.3)).await;
                return 200;
            }
            self.misses.inc();
            match self.fetch(call).await {
                Ok(()) => {
                    self.remember(cart);
                    200
                }
                Err(Failed::Timeout) => 503,
                Err(Failed::Refused | Failed::Answered) => 500,
            }
        };
        let code = tokio::select! {
            code = work => code,
            () = life.cancelled() => 503,
        };
        self.requests.observe(call.traffic(), code, begun.elapsed());
        code
    }

    fn cached(&self, cart: u64) -> bool {
        let now = Instant::now();
        self.fresh_until
            .with(|fresh| fresh.get(&cart).is_some_and(|until| *until > now))
    }

    fn remember(&self, cart: u64) {
        let now = Instant::now();
        let until = now + FRESH.mul_f64(0.9 + 0.2 * self.dice.share());
        self.fresh_until.with(|fresh| {
            if fresh.len() >= MOST_ENTRIES && !fresh.contains_key(&cart) {
                fresh.retain(|_, until| *until > now);
            }
            if fresh.len() < MOST_ENTRIES {
                fresh.insert(cart, until);
            }
        });
    }

    async fn fetch(&self, call: &Call) -> Result<(), Failed> {
        match self.on_miss {
            OnMiss::RedisThenDatabase => {
                let from_redis = self.redis(call, Duration::from_millis(50)).await;
                if from_redis.is_ok() && self.dice.chance(REDIS_HAS) {
                    return Ok(());
                }
                let connection = self
                    .connections
                    .acquire(PATIENCE)
                    .await
                    .map_err(|_| Failed::Timeout)?;
                let answer = self.database(call).await;
                drop(connection);
                answer
            }
            OnMiss::EnrichHoldingConnection => {
                let connection = self
                    .connections
                    .acquire(PATIENCE)
                    .await
                    .map_err(|_| Failed::Timeout)?;
                // What Redis says is only an enrichment: the database is asked in any case.
                let _ = self.redis(call, Duration::from_secs(1)).await;
                let answer = self.database(call).await;
                drop(connection);
                answer
            }
        }
    }

    async fn redis(&self, call: &Call, patience: Duration) -> Result<(), Failed> {
        let get = async {
            passed(&self.instance.points.pass("redis.get", call).await)?;
            tokio::time::sleep(self.dice.latency(1.0, 0.3)).await;
            Ok(())
        };
        tokio::time::timeout(patience, get)
            .await
            .unwrap_or(Err(Failed::Timeout))
    }

    async fn database(&self, call: &Call) -> Result<(), Failed> {
        passed(&self.instance.points.pass("db.query", call).await)?;
        tokio::time::sleep(self.dice.latency(95.0, 0.2)).await;
        Ok(())
    }
}

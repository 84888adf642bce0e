//! The inventory service: reads the stock and reserves from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::call::{Call, Failed, PathMeters, passed};
use super::dice::Dice;
use super::instance::Instance;
use super::meters::Counter;
use crate::point::Outcome;

/// Stock that the warehouse keeps the shelf at.
const SHELF: i64 = 10_000;

/// What becomes of a stock reading below zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NegativeStock {
    /// Read again from the books.
    ReadAgain,
    /// Sold: the weakness `negative-stock-accepted`.
    Sold,
}

pub(super) struct Inventory {
    instance: Arc<Instance>,
    dice: Dice,
    negative: NegativeStock,
    stock: Arc<AtomicI64>,
    queries: PathMeters,
    reservations: PathMeters,
    read_negative: Counter,
    oversold: Counter,
}

impl Inventory {
    pub(super) fn new(instance: Arc<Instance>, dice: Dice, negative: NegativeStock) -> Self {
        let meters = &instance.meters;
        let stock = Arc::new(AtomicI64::new(SHELF));
        let level = Arc::clone(&stock);
        meters.gauge("stock_level", "Pieces on the shelf.", &[], move || {
            level.load(Relaxed) as f64
        });
        Self {
            queries: PathMeters::new(meters, "/stock", &[200, 500]),
            reservations: PathMeters::new(meters, "/reserve", &[200, 500]),
            read_negative: meters.counter("stock_read_negative_total", "Stock readings below zero.", &[]),
            oversold: meters.counter(
                "oversold_total",
                "Pieces sold that the reading said were not there.",
                &[],
            ),
            stock,
            instance,
            dice,
            negative,
        }
    }

    /// The stock as the order service gets to see it.
    pub(super) async fn stock(&self, call: &Call) -> Result<i64, Failed> {
        let begun = Instant::now();
        let injected = self.instance.points.pass("stock.read", call).await;
        tokio::time::sleep(self.dice.latency(4.0, 0.35)).await;
        let answer = passed(&injected).map(|()| self.read(&injected));
        self.queries.observe(
            call.traffic(),
            if answer.is_ok() { 200 } else { 500 },
            begun.elapsed(),
        );
        let stock = answer?;
        if stock >= 0 {
            return Ok(stock);
        }
        self.read_negative.inc();
        match self.negative {
            NegativeStock::Sold => Ok(stock),
            NegativeStock::ReadAgain => {
                tokio::time::sleep(self.dice.latency(5.0, 0.3)).await;
                Ok(self.stock.load(Relaxed))
            }
        }
    }

    fn read(&self, injected: &Outcome) -> i64 {
        let stock = self.stock.load(Relaxed);
        let Outcome::Tamper(tamper) = injected else {
            return stock;
        };
        let mut answer = json!({ "stock": stock });
        tamper.apply(&mut answer);
        answer["stock"].as_i64().unwrap_or(stock)
    }

    /// Reserves a piece, on the strength of a reading.
    pub(super) async fn reserve(&self, call: &Call, reading: i64) -> Result<(), Failed> {
        let begun = Instant::now();
        tokio::time::sleep(self.dice.latency(5.0, 0.35)).await;
        self.stock.fetch_sub(1, Relaxed);
        if reading < 1 {
            self.oversold.inc();
        }
        self.reservations.observe(call.traffic(), 200, begun.elapsed());
        Ok(())
    }

    /// Refills the shelf, for ever.
    pub(super) async fn restock(self: Arc<Self>) {
        let mut tick = tokio::time::interval(Duration::from_millis(200));
        loop {
            tick.tick().await;
            self.stock.store(SHELF, Relaxed);
        }
    }
}

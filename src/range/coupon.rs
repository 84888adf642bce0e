//! The coupon service: quotes a discount.

use std::sync::Arc;

use tokio::time::Instant;

use super::call::{Call, Failed, PathMeters, passed};
use super::dice::Dice;
use super::instance::Instance;

/// Share of quotes that fail by nature.
const NATURAL_FAILURE: f64 = 0.0005;

pub(super) struct Coupon {
    instance: Arc<Instance>,
    dice: Dice,
    quotes: PathMeters,
}

impl Coupon {
    pub(super) fn new(instance: Arc<Instance>, dice: Dice) -> Self {
        let quotes = PathMeters::new(&instance.meters, "/quote", &[200, 500]);
        Self {
            instance,
            dice,
            quotes,
        }
    }

    /// The server's side of a quote. It goes on when the caller has given up, as a real server does.
    pub(super) async fn quote(self: Arc<Self>, call: Call) -> Result<(), Failed> {
        let begun = Instant::now();
        let injected = passed(&self.instance.points.pass("coupon.query", &call).await);
        tokio::time::sleep(self.dice.latency(14.0, 0.8)).await;
        let natural = if self.dice.chance(NATURAL_FAILURE) {
            Err(Failed::Answered)
        } else {
            Ok(())
        };
        let answer = injected.and(natural);
        self.quotes.observe(
            call.traffic(),
            if answer.is_ok() { 200 } else { 500 },
            begun.elapsed(),
        );
        answer
    }
}

//! How tests wait for something that takes its time: they ask until it holds, and never sleep in its place.
#![allow(dead_code, reason = "each test asks in one of the ways")]

use std::time::Duration;

use tokio::time::Instant;

/// How long is asked, and with which pause. Deadlines are for a busy machine: no test waits that long when all is well.
#[derive(Clone, Copy)]
pub struct Patience {
    limit: Duration,
    pause: Duration,
}

impl Patience {
    pub const fn new(limit: Duration, pause: Duration) -> Self {
        Self { limit, pause }
    }

    /// Whether it holds in time.
    pub async fn sees(self, mut holds: impl AsyncFnMut() -> bool) -> bool {
        let deadline = Instant::now() + self.limit;
        while !holds().await {
            if Instant::now() >= deadline {
                return false;
            }
            tokio::time::sleep(self.pause).await;
        }
        true
    }

    /// Fails unless it holds in time.
    pub async fn until(self, what: &str, holds: impl AsyncFnMut() -> bool) {
        assert!(self.sees(holds).await, "not within {:?}: {what}", self.limit);
    }
}

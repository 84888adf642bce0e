//! Reproducible chance: one seed, the same traffic.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// SplitMix64 (Steele, Lea, Flood 2014) behind an atomic, so that tasks may share it.
#[derive(Debug)]
pub(super) struct Dice(AtomicU64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Another independent sequence, told apart by `number`.
    pub(super) fn branch(&self, number: u64) -> Self {
        let seed = self.0.load(Relaxed) ^ number.wrapping_add(1).wrapping_mul(0xD134_2543_DE82_EF95);
        Self::new(Self::new(seed).bits())
    }

    fn bits(&self) -> u64 {
        let mut z = self
            .0
            .fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed)
            .wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub(super) fn share(&self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub(super) fn chance(&self, probability: f64) -> bool {
        self.share() < probability
    }

    /// Uniform in 0..n; 0 for n = 0.
    pub(super) fn below(&self, n: u64) -> u64 {
        ((self.share() * n as f64) as u64).min(n.saturating_sub(1))
    }

    /// Standard normal (Box and Muller).
    pub(super) fn normal(&self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }

    /// A service time: lognormal with this median (ms) and this sd of its logarithm.
    pub(super) fn latency(&self, median_ms: f64, sigma: f64) -> Duration {
        Duration::from_secs_f64(median_ms * (sigma * self.normal()).exp() / 1000.0)
    }
}

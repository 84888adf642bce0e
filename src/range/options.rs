//! How a range is started.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::point::nearest;

/// First port of the fixed layout.
pub const BASE_PORT: u16 = 7400;

/// Where the range listens, always on 127.0.0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// The fixed layout from this port on: 62 ports are used or kept free.
    From(u16),
    /// Free ports, chosen by the system.
    Ephemeral,
}

/// A known weakness; each changes one mechanism of the shop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weakness {
    /// A slow or failed coupon call fails the order.
    NoCouponFallback,
    /// The breaker opens when a tenth of the calls fail, and stays open until a hand half-opens or closes it.
    BreakerStaysOpen,
    /// Degrade flags are not deleted when their cause is gone.
    FlagsStay,
    /// A failed reservation is republished eightfold, without limit and without backoff.
    RetryStorm,
    /// Each miss of the cart's cache takes a database connection, waits for Redis, and queries the database.
    CartEnrich,
    /// A stock reading below zero is sold.
    NegativeStockAccepted,
    /// With every counting node gone, each request waits for a connect timeout.
    FlowControlConnects,
    /// The mark is dropped between the gateway and order, and users' requests reach order-0.
    HeaderLost,
    /// A thread that a long call held comes free late: two a second.
    SlowDrain,
}

impl Weakness {
    /// Every weakness.
    pub const ALL: [Self; 9] = [
        Self::NoCouponFallback,
        Self::BreakerStaysOpen,
        Self::FlagsStay,
        Self::RetryStorm,
        Self::CartEnrich,
        Self::NegativeStockAccepted,
        Self::FlowControlConnects,
        Self::HeaderLost,
        Self::SlowDrain,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoCouponFallback => "no-coupon-fallback",
            Self::BreakerStaysOpen => "breaker-stays-open",
            Self::FlagsStay => "flags-stay",
            Self::RetryStorm => "retry-storm",
            Self::CartEnrich => "cart-enrich",
            Self::NegativeStockAccepted => "negative-stock-accepted",
            Self::FlowControlConnects => "flow-control-connects",
            Self::HeaderLost => "header-lost",
            Self::SlowDrain => "slow-drain",
        }
    }
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No weakness has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no weakness is called `{given}`{}; there are: {}", nearest.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default(), Weakness::ALL.map(Weakness::name).join(", "))]
pub struct UnknownWeakness {
    given: String,
    nearest: Option<&'static str>,
}

impl FromStr for Weakness {
    type Err = UnknownWeakness;
    fn from_str(text: &str) -> Result<Self, UnknownWeakness> {
        Self::ALL
            .into_iter()
            .find(|weakness| weakness.name() == text)
            .ok_or_else(|| UnknownWeakness {
                given: text.escape_default().to_string(),
                nearest: nearest(text, Self::ALL.map(Self::name)),
            })
    }
}

/// How a range is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it listens.
    pub ports: Ports,
    /// What is weak in it; nothing means the sound shop.
    pub weaknesses: BTreeSet<Weakness>,
    /// Address of a real Redis for the degrade flags (`redis://…`); none means the range's own server.
    pub redis: Option<String>,
    /// Marked orders a second.
    pub marked_rate: u32,
    /// Users' orders a second.
    pub users_rate: u32,
    /// Value of the header `x-drill` on marked traffic.
    pub mark: String,
    /// The same seed gives the same traffic.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ports: Ports::From(BASE_PORT),
            weaknesses: BTreeSet::new(),
            redis: None,
            marked_rate: 130,
            users_rate: 250,
            mark: "drill".into(),
            seed: 1,
        }
    }
}

impl Options {
    pub(super) fn weak(&self, weakness: Weakness) -> bool {
        self.weaknesses.contains(&weakness)
    }
}

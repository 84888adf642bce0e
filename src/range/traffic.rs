//! The traffic generator: marked and users' orders, and their carts. An open loop: it never waits for answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::call::{Call, Traffic};
use super::dice::Dice;
use super::gateway::Gateway;
use super::options::Options;
use crate::point::Locked;

/// Most requests a second of one kind.
pub(super) const MAX_RATE: u32 = 5000;
/// Most requests in progress; more are not sent, so that a jam cannot fill the memory.
const MOST_IN_FLIGHT: usize = 20_000;
/// Share of orders that belong to a campaign.
const CAMPAIGN_SHARE: f64 = 0.12;
/// Campaigns there are.
const CAMPAIGNS: u64 = 48;
/// A sender that is this late skips what it missed.
const TOO_LATE: Duration = Duration::from_secs(1);
/// How often a rate of zero is looked at again.
const IDLE: Duration = Duration::from_millis(100);

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Order,
    Cart,
}

/// The rates of the generator, as `/range/traffic` shows and takes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rates {
    /// Marked orders a second; carts follow.
    pub(super) marked: u32,
    /// Users' orders a second; carts follow.
    pub(super) users: u32,
    /// Value of `x-drill` on marked traffic.
    pub(super) mark: String,
}

/// The generator's setting. Shared with its senders.
pub(super) struct Generator {
    marked: AtomicU32,
    users: AtomicU32,
    mark: Locked<Arc<str>>,
    in_flight: AtomicUsize,
}

/// Marked carts a second for a rate of marked orders: 130 orders go with 300 carts, 120 of them cache misses.
pub(super) fn marked_carts(marked: u32) -> u32 {
    marked * 30 / 13
}

/// Users' carts a second for a rate of users' orders.
pub(super) fn users_carts(users: u32) -> u32 {
    users / 4
}

/// Carts of one kind of traffic, so many that each is asked for 0.75 times a second.
pub(super) fn cart_count(carts_rate: u32) -> u64 {
    (u64::from(carts_rate) * 4 / 3).max(1)
}

/// A mark must fit into a header.
pub(super) fn is_mark(mark: &str) -> bool {
    (1..=128).contains(&mark.len()) && mark.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

impl Generator {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            marked: AtomicU32::new(options.marked_rate),
            users: AtomicU32::new(options.users_rate),
            mark: Locked::new(options.mark.as_str().into()),
            in_flight: AtomicUsize::new(0),
        }
    }

    pub(super) fn rates(&self) -> Rates {
        Rates {
            marked: self.marked.load(Relaxed),
            users: self.users.load(Relaxed),
            mark: self.mark.with(|mark| mark.to_string()),
        }
    }

    pub(super) fn set(&self, rates: &Rates) {
        self.marked.store(rates.marked, Relaxed);
        self.users.store(rates.users, Relaxed);
        self.mark.with(|mark| *mark = rates.mark.as_str().into());
    }

    fn rate(&self, traffic: Traffic, kind: Kind) -> u32 {
        match (traffic, kind) {
            (Traffic::Drill, Kind::Order) => self.marked.load(Relaxed),
            (Traffic::Users, Kind::Order) => self.users.load(Relaxed),
            (Traffic::Drill, Kind::Cart) => marked_carts(self.marked.load(Relaxed)),
            (Traffic::Users, Kind::Cart) => users_carts(self.users.load(Relaxed)),
        }
    }

    fn call(&self, traffic: Traffic, dice: &Dice) -> Call {
        let mark = match traffic {
            Traffic::Drill => Some(self.mark.with(|mark| Arc::clone(mark))),
            Traffic::Users => None,
        };
        let campaign = dice.chance(CAMPAIGN_SHARE).then(|| dice.below(CAMPAIGNS));
        Call { mark, campaign }
    }

    /// Sends one kind of one traffic, for ever: evenly, each a little early or late.
    pub(super) async fn send(
        self: Arc<Self>,
        gateway: Arc<Gateway>,
        stop: CancellationToken,
        (traffic, kind): (Traffic, Kind),
        carts: u64,
        dice: Dice,
    ) {
        let mut due = Instant::now();
        loop {
            let rate = self.rate(traffic, kind);
            if rate == 0 {
                tokio::time::sleep(IDLE).await;
                due = Instant::now();
                continue;
            }
            due += Duration::from_secs_f64((0.5 + dice.share()) / f64::from(rate));
            if due.elapsed() > TOO_LATE {
                due = Instant::now();
            }
            tokio::time::sleep_until(due).await;
            let call = self.call(traffic, &dice);
            let cart = dice.below(carts);
            if self.in_flight.load(Relaxed) >= MOST_IN_FLIGHT {
                continue;
            }
            let (generator, gateway) = (Arc::clone(&self), Arc::clone(&gateway));
            generator.in_flight.fetch_add(1, Relaxed);
            let stop = stop.clone();
            tokio::spawn(async move {
                let answered = async {
                    match kind {
                        Kind::Order => gateway.order(&call).await,
                        Kind::Cart => gateway.cart(&call, cart).await,
                    }
                };
                tokio::select! {
                    _ = answered => {}
                    () = stop.cancelled() => {}
                }
                generator.in_flight.fetch_sub(1, Relaxed);
            });
        }
    }
}

//! Flow control at the gateway: requests are counted in three Redis nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::call::{ByTraffic, Call, Traffic, passed};
use super::dice::Dice;
use super::instance::Instance;
use super::meters::{Counter, Histogram};
use crate::point::Locked;

/// The counting nodes, by their injection points.
const NODES: [&str; 3] = ["flow.redis-a", "flow.redis-b", "flow.redis-c"];
/// How long a connect to a node that is gone takes to fail.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a node may take to answer.
const NODE_TIMEOUT: Duration = Duration::from_millis(50);

/// What a request does when no node is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoNodes {
    /// Counts locally at once.
    CountLocally,
    /// Waits for a connect first: the weakness `flow-control-connects`.
    Connect,
}

/// Where a request was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Redis,
    Partial,
    Local,
}

impl Mode {
    const ALL: [Self; 3] = [Self::Redis, Self::Partial, Self::Local];

    fn label(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Partial => "partial",
            Self::Local => "local",
        }
    }
}

/// What flow control says of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Allow,
    Reject,
}

impl Decision {
    const ALL: [Self; 2] = [Self::Allow, Self::Reject];

    fn label(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Reject => "reject",
        }
    }
}

/// Requests of the current second.
struct Window {
    since: Instant,
    count: u64,
}

pub(super) struct FlowControl {
    instance: Arc<Instance>,
    dice: Dice,
    no_nodes: NoNodes,
    limit: ByTraffic<u64>,
    windows: ByTraffic<Locked<Window>>,
    up: ByTraffic<[Arc<AtomicBool>; 3]>,
    decisions: ByTraffic<[[Counter; 2]; 3]>,
    seconds: ByTraffic<Histogram>,
}

impl FlowControl {
    /// `limit` is the most requests a second of each kind of traffic.
    pub(super) fn new(instance: Arc<Instance>, dice: Dice, no_nodes: NoNodes, limit: [u64; 2]) -> Self {
        let meters = Arc::clone(&instance.meters);
        let up = ByTraffic::new(|traffic| {
            NODES.map(|node| {
                let up = Arc::new(AtomicBool::new(true));
                let read = Arc::clone(&up);
                let labels = [("node", &node["flow.".len()..]), ("traffic", traffic.label())];
                meters.gauge(
                    "redis_up",
                    "1 if the node answered when last asked.",
                    &labels,
                    move || f64::from(u8::from(read.load(Relaxed))),
                );
                up
            })
        });
        let decisions = ByTraffic::new(|traffic| {
            Mode::ALL.map(|mode| {
                Decision::ALL.map(|decision| {
                    let labels = [
                        ("decision", decision.label()),
                        ("mode", mode.label()),
                        ("traffic", traffic.label()),
                    ];
                    meters.counter(
                        "flow_decisions_total",
                        "Requests let through or turned away.",
                        &labels,
                    )
                })
            })
        });
        let seconds = ByTraffic::new(|traffic| {
            let labels = [("traffic", traffic.label())];
            meters.histogram("flow_check_seconds", "Time to decide, seconds.", &labels)
        });
        Self {
            instance,
            dice,
            no_nodes,
            limit: ByTraffic::new(|traffic| limit[traffic as usize]),
            windows: ByTraffic::new(|_| {
                Locked::new(Window {
                    since: Instant::now(),
                    count: 0,
                })
            }),
            up,
            decisions,
            seconds,
        }
    }

    /// Counts a request and decides about it.
    pub(super) async fn check(&self, call: &Call) -> Decision {
        let begun = Instant::now();
        let traffic = call.traffic();
        let mode = self.count_at(call, traffic).await;
        if mode == Mode::Local && self.no_nodes == NoNodes::Connect {
            tokio::time::sleep(CONNECT_TIMEOUT).await;
        }
        let decision = self.decide(traffic);
        self.decisions.of(traffic)[mode as usize][decision as usize].inc();
        self.seconds.of(traffic).observe(begun.elapsed());
        decision
    }

    /// Asks the request's node, then the others. A node that refuses is left at once.
    async fn count_at(&self, call: &Call, traffic: Traffic) -> Mode {
        let first = self.dice.below(NODES.len() as u64) as usize;
        for hop in 0..NODES.len() {
            let node = (first + hop) % NODES.len();
            let answer =
                tokio::time::timeout(NODE_TIMEOUT, self.instance.points.pass(NODES[node], call)).await;
            let alive = answer.is_ok_and(|outcome| passed(&outcome).is_ok());
            self.up.of(traffic)[node].store(alive, Relaxed);
            if alive {
                tokio::time::sleep(self.dice.latency(0.6, 0.3)).await;
                return if hop == 0 { Mode::Redis } else { Mode::Partial };
            }
        }
        Mode::Local
    }

    fn decide(&self, traffic: Traffic) -> Decision {
        let count = self.windows.of(traffic).with(|window| {
            if window.since.elapsed() >= Duration::from_secs(1) {
                *window = Window {
                    since: Instant::now(),
                    count: 0,
                };
            }
            window.count += 1;
            window.count
        });
        if count > *self.limit.of(traffic) {
            Decision::Reject
        } else {
            Decision::Allow
        }
    }
}

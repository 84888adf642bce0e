//! The built-in practice system: a small online shop on loopback, in one process.
//!
//! Its services call each other in memory, through real pools, breakers, timeouts and injection points. Outward it
//! speaks the protocols of production: Prometheus text, HAProxy's runtime API, the Resilience4j actuator, Redis,
//! the injection-point API. A [`Weakness`] changes one mechanism, so that each drill can be seen to fail.

mod accept;
mod actuator;
mod balancer;
mod breaker;
mod breakers;
mod call;
mod cart;
mod coupon;
mod database;
mod dice;
mod endpoints;
mod error;
mod flags;
mod flow;
mod front;
mod gateway;
mod haproxy;
mod heap;
mod instance;
mod inventory;
mod meters;
mod options;
mod order;
mod payment;
mod pool;
mod resp;
mod retry;
mod shop;
mod start;
mod status;
mod traffic;

pub use endpoints::{Endpoints, InstanceEndpoint, default_endpoints};
pub use error::RangeError;
pub use options::{BASE_PORT, Options, Ports, UnknownWeakness, Weakness};
pub use start::Range;

#[cfg(test)]
mod tests;

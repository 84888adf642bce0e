//! Why a range does not start.

use std::net::SocketAddr;

/// Why a range does not start.
#[derive(Debug, thiserror::Error)]
pub enum RangeError {
    /// An address is taken, or may not be used.
    #[error(
        "cannot listen on {address} for {what}: {source}; stop what holds the port, or choose another base port"
    )]
    Bind {
        /// The part that wanted to listen.
        what: String,
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The port layout does not fit below 65536.
    #[error(
        "base port {0} is too high: the range needs 62 ports from it on; take a lower one, or --free-ports"
    )]
    BasePort(u16),
    /// The Redis for the flags cannot be used.
    #[error(
        "cannot use the Redis at {address}: {source}; start it, or leave --redis out to use the range's own"
    )]
    Redis {
        /// The address, without its password.
        address: String,
        /// The client's reason.
        source: redis::RedisError,
    },
    /// The mark is not a header value.
    #[error("the mark `{0}` is not a header value: use 1 to 128 printable ASCII characters")]
    Mark(String),
    /// A rate is too high for one process.
    #[error("{0} requests a second are too many for the range: at most 5000")]
    Rate(u32),
}

//! The drivers.

pub mod haproxy;
pub mod kafka;
pub mod label;
pub mod pod;
pub mod pool;
pub mod program;
pub mod queue;
pub mod redis_cluster;
pub mod redis_one;
pub mod request;
pub mod resilience4j;
pub mod rocketmq;
pub mod route;
pub mod scale;
pub mod sentinel;
pub mod stand;

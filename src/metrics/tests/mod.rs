//! The behaviours of the whole module, from raw samples, from servers that answer badly, and from a real Prometheus.

mod bad_answers;
mod down;
mod real_prometheus;
mod scraping;
pub(super) mod serving;
mod store;
mod store_properties;
mod tls;

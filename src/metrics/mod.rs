//! Sources of samples, and how raw samples become windows.
//!
//! A [`Source`] (a Prometheus server, or the instances' own `/metrics`) gives raw samples with their own
//! timestamps. The [`Store`] turns them into windows for the judge and readings for the guard, in one place and
//! without any input or output: freshness, counter resets and gaps are known, never guessed.

mod answer;
mod api;
mod asking;
mod backoff;
mod causes;
mod counts;
mod credentials;
mod error;
mod exposition;
mod fetch;
mod gauges;
mod http;
mod matching;
mod part;
mod peers;
mod plan;
mod prometheus;
mod quantile;
mod ranges;
mod scrape;
mod source;
mod store;
mod summed;
pub mod tls;
mod track;
mod wanted;
mod watched;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use error::MetricsError;
pub use fetch::{Answer, Fetch, RawSeries, SeriesId, TargetId};
pub use peers::peer_selectors;
pub use ranges::longest_range;
pub use source::{Probe, Source};
pub use store::Store;
pub use wanted::{Wanted, wanted};

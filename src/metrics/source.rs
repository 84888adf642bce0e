//! Where samples come from.

use super::{error::MetricsError, fetch::Fetch, prometheus, scrape, wanted::Wanted};
use crate::model::{
    environment::{Environment, MetricsSource},
    ids::{InstanceName, ServiceName},
    said::Said,
    sample::Query,
    secret::Secrets,
    time::Span,
};

/// How often tripwires are read from the targets.
const TRIPWIRE_EVERY: Span = Span::seconds(1);

/// Where samples come from.
#[derive(Debug)]
pub enum Source {
    /// A Prometheus server.
    Prometheus(Box<prometheus::Client>),
    /// The instances' own `/metrics`.
    Scrape(Box<scrape::Scraper>),
}

/// What preflight learns about a source without changing anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The server's version, if it tells.
    pub version: Option<String>,
    /// The server's clock less ours, in milliseconds, within half of `round_trip`. Zero when scraping: the times are ours.
    pub skew_ms: i64,
    /// How long the question took.
    pub round_trip: Span,
    /// How often there are new samples, if it could be learnt.
    pub scrape_interval: Option<Span>,
    /// Instances that did not answer their scrape, and why.
    pub silent: Vec<(InstanceName, Said)>,
}

impl Source {
    /// The source of an environment's metrics. Asks nothing yet.
    ///
    /// # Errors
    /// A URL, header, certificate file or secret that cannot be used; an environment without instances to scrape.
    pub fn open(environment: &Environment, secrets: &Secrets) -> Result<Source, MetricsError> {
        match &environment.metrics {
            MetricsSource::Prometheus(config) => {
                let client = prometheus::Client::open(config, secrets)?;
                Ok(Source::Prometheus(Box::new(client)))
            }
            MetricsSource::Scrape { every, path } => {
                let all: Vec<(ServiceName, InstanceName)> = environment
                    .services
                    .iter()
                    .flat_map(|(service, instances)| instances.keys().map(|i| (service.clone(), i.clone())))
                    .collect();
                Self::scrape(environment, &all, *every, path)
            }
        }
    }

    /// The target instances' own metrics each second, for tripwires, whatever the environment's source is.
    ///
    /// # Errors
    /// An instance without an address; no instance at all.
    pub fn targets(
        environment: &Environment,
        targets: &[(ServiceName, InstanceName)],
    ) -> Result<Source, MetricsError> {
        let path = match &environment.metrics {
            MetricsSource::Scrape { path, .. } => path,
            MetricsSource::Prometheus(server) => &server.targets_path,
        };
        Self::scrape(environment, targets, TRIPWIRE_EVERY, path)
    }

    fn scrape(
        environment: &Environment,
        instances: &[(ServiceName, InstanceName)],
        every: Span,
        path: &str,
    ) -> Result<Source, MetricsError> {
        let scraper = scrape::Scraper::open(environment, instances, every, path)?;
        Ok(Source::Scrape(Box::new(scraper)))
    }

    /// How often [`Source::fetch`] is meant to be called.
    pub fn every(&self) -> Span {
        match self {
            Source::Prometheus(client) => client.every(),
            Source::Scrape(scraper) => scraper.every(),
        }
    }

    /// One round. It never fails as a whole, and takes at most twice the time limit of one query; problems are told
    /// per query. A server in trouble is left alone for up to ten seconds; rounds meanwhile say so at once.
    pub async fn fetch(&mut self, wanted: &[Wanted]) -> Fetch {
        match self {
            Source::Prometheus(client) => client.fetch(wanted).await,
            Source::Scrape(scraper) => scraper.fetch(wanted).await,
        }
    }

    /// Whether the source can be reached, and what is to be known about it. For preflight.
    ///
    /// # Errors
    /// It cannot be reached, is not what it should be, or does not let us in.
    pub async fn probe(&mut self) -> Result<Probe, MetricsError> {
        match self {
            Source::Prometheus(client) => client.probe().await,
            Source::Scrape(scraper) => scraper.probe().await,
        }
    }

    /// The queries that this source will never answer with one number, however long one waits: syntax errors, range
    /// vectors, strings, several series, PromQL without a server. For preflight; empty if all is well.
    pub async fn refusals(&mut self, wanted: &[Wanted]) -> Vec<(Query, MetricsError)> {
        match self {
            Source::Prometheus(client) => client.refusals(wanted).await,
            Source::Scrape(scraper) => scraper.refusals(wanted),
        }
    }
}

//! Why a source cannot be used, or did not answer as it should.

use crate::model::{
    ids::{InstanceName, ServiceName},
    sample::Gap,
    time::Span,
};

/// Why a source cannot be used, or did not answer as it should. Texts from outside are cleaned and cut, and secrets
/// in them are masked, before they get in here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricsError {
    /// The address is not one.
    #[error("`{url}` is no address of a metrics server: {why}; write http://HOST:PORT or https://HOST")]
    BadUrl {
        /// As written, without a password.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// A header cannot be sent.
    #[error(
        "the header `{name}` cannot be sent to the metrics server: {why}; correct it under `headers` of the environment"
    )]
    BadHeader {
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// A certificate or key file cannot be used.
    #[error("`{file}` ({what}) cannot be used: {why}; it must be readable and in PEM form")]
    BadFile {
        /// What it was meant to be.
        what: &'static str,
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// A secret was not looked up.
    #[error("the secret of the metrics server ({place}) is not there: set it and start again")]
    NoSecret {
        /// Where it should be.
        place: String,
    },
    /// The HTTP client cannot be made.
    #[error(
        "no HTTP client for the metrics server: {why}; check `ca_file` and `client_cert` of the environment"
    )]
    Client {
        /// What is wrong.
        why: String,
    },
    /// The environment does not know an instance.
    #[error("the environment has no address of `{instance}` of service `{service}`: add it under `services`")]
    UnknownInstance {
        /// The service.
        service: ServiceName,
        /// The instance.
        instance: InstanceName,
    },
    /// The environment has nothing to scrape.
    #[error("the environment has no instances to scrape: add them under `services`")]
    NoInstances,
    /// No connection.
    #[error("{server} cannot be reached: {why}; is it up, and is its address in the environment right?")]
    Unreachable {
        /// Host and port.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// The server's certificate is signed by nobody we know, expired, or for another name.
    #[error("certificate not trusted: {why} ({server}); name the authority's PEM file as `ca_file`")]
    Untrusted {
        /// Host and port.
        server: String,
        /// What is wrong with it.
        why: String,
    },
    /// No answer in time.
    #[error(
        "{server} did not answer within {after}: look at its load, or raise `timeout` of the environment"
    )]
    TimedOut {
        /// Host and port.
        server: String,
        /// The limit.
        after: Span,
    },
    /// Something else answers there: a login page, a redirect, a proxy.
    #[error("not Prometheus: log in again ({server} answered with {what})")]
    NotPrometheus {
        /// Host and port.
        server: String,
        /// What came instead.
        what: String,
    },
    /// 401 or 403.
    #[error("{server} refuses our credentials (HTTP {status}): check `auth` of the environment")]
    Refused {
        /// Host and port.
        server: String,
        /// The HTTP status.
        status: u16,
    },
    /// The server says that it cannot answer now.
    #[error("{server} cannot answer now (HTTP {status}): {why}; look at the server")]
    Unavailable {
        /// Host and port.
        server: String,
        /// The HTTP status.
        status: u16,
        /// Its words.
        why: String,
    },
    /// The server does not take the query.
    #[error("query refused: {why}: correct it in the dashboard: {query}")]
    QueryRefused {
        /// The query.
        query: String,
        /// The server's words.
        why: String,
    },
    /// The query gives something else than one number.
    #[error("{gap}; write a query that gives one number, such as sum(rate(…[1m]))")]
    NotOneNumber {
        /// What it gives.
        gap: Gap,
    },
    /// The answer is larger than allclear is willing to hold.
    #[error("{server} answered with more than {limit_mib} MiB: narrow the selector: {query}")]
    TooLarge {
        /// Host and port.
        server: String,
        /// The limit.
        limit_mib: usize,
        /// What was asked.
        query: String,
    },
    /// The answer cannot be read.
    #[error(
        "{server} answered something unreadable: {why}; is it a metrics server, and not a proxy before it?"
    )]
    Unreadable {
        /// Host and port.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// The server failed a moment ago; it is left alone for a little while.
    #[error("{why}; asked again in {again_in}")]
    BackingOff {
        /// What it failed with.
        why: String,
        /// When it is asked again.
        again_in: Span,
    },
    /// PromQL without a server.
    #[error(
        "promql needs a Prometheus server, and this environment scrapes its instances: read a gauge or a rate instead of {query}"
    )]
    NeedsServer {
        /// The query.
        query: String,
    },
    /// A regular expression that does not compile.
    #[error("not a regular expression: {pattern}: {why}; correct the matcher in the dashboard")]
    BadPattern {
        /// As written.
        pattern: String,
        /// What is wrong.
        why: String,
    },
}

impl MetricsError {
    /// As the reason why a query has no numbers.
    pub(super) fn into_gap(self) -> Gap {
        match self {
            MetricsError::NotOneNumber { gap } => gap,
            other => Gap::Source(other.to_string()),
        }
    }

    /// Whether the whole server is in trouble, so that asking more of it would only make it worse.
    pub(super) fn is_of_the_server(&self) -> bool {
        matches!(
            self,
            MetricsError::Unreachable { .. }
                | MetricsError::TimedOut { .. }
                | MetricsError::Unavailable { .. }
        )
    }
}

//! A retry queue's own switch over HTTP: `GET` tells {backlog, released, rate, held}, `PUT` sets {held, rate}.

use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::{error::DriverError, http::Http, unanswered::Unanswered};

/// The switches of all queues; each call names its resource.
#[derive(Debug, Clone, Copy)]
pub struct RetryHttp<'a> {
    http: &'a Http,
    unanswered: &'a Unanswered<String>,
}

/// A retry queue as it tells of itself.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct QueueSeen {
    /// Messages waiting.
    pub backlog: u64,
    /// Messages let go since it started.
    pub released: u64,
    /// Messages a second at most, if limited.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Whether it is held.
    pub held: bool,
}

impl QueueSeen {
    /// Whether the switch stands so.
    pub fn stands(&self, held: bool, rate: Option<f64>) -> bool {
        let same_rate = match (self.rate, rate) {
            (None, None) => true,
            (Some(a), Some(b)) => (a - b).abs() <= 1e-6 * b.abs().max(1.0),
            _ => false,
        };
        self.held == held && same_rate
    }
}

impl<'a> RetryHttp<'a> {
    /// Over this client. What nobody answers is noted there, by its URL.
    pub fn new(http: &'a Http, unanswered: &'a Unanswered<String>) -> Self {
        Self { http, unanswered }
    }

    /// How the queue is.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn read(self, url: &str) -> Result<QueueSeen, DriverError> {
        self.http.ask(Method::GET, url, None).await?.json()
    }

    /// Holds it or lets it go, at a rate or without a limit. One that nobody answered may still take effect.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn set(self, url: &str, held: bool, rate: Option<f64>) -> Result<(), DriverError> {
        let body = json!({"held": held, "rate": rate});
        let sending = self.http.ask(Method::PUT, url, Some(&body));
        self.unanswered.sent(&url.to_owned(), sending).await.map(|_| ())
    }

    /// Somebody may have set it just now, and nobody knows what became of it.
    pub fn may_have_been_set(self, url: &str) {
        self.unanswered.note(&url.to_owned());
    }

    /// Waits until no such change can take effect any more: a minute at most after the last.
    pub async fn landed(self, url: &str) {
        self.unanswered.landed(&url.to_owned()).await;
    }
}

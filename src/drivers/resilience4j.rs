//! Resilience4j's circuit breakers through Spring Boot's actuator, and an endpoint of the service that half-opens one.
//!
//! The actuator answers 200 to an unknown name and creates a fresh breaker: so nothing is posted for a name that its
//! list does not have. It closes, force-opens and disables; it cannot half-open.

use std::collections::BTreeMap;

use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::model::{
    snapshot::BreakerState,
    text::{harmless, nearest},
};

use super::{
    error::DriverError,
    http::{Http, shown_url},
    place::encoded,
};

/// The actuators of all instances; each call names its base, `http://host:port/actuator`.
#[derive(Debug, Clone, Copy)]
pub struct Resilience4j<'a> {
    http: &'a Http,
}

#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "circuitBreakers")]
    circuit_breakers: BTreeMap<String, ListedBreaker>,
}

#[derive(Deserialize)]
struct ListedBreaker {
    state: BreakerState,
}

/// The breakers of one instance.
pub type Breakers = BTreeMap<String, BreakerState>;

impl<'a> Resilience4j<'a> {
    /// Over this client.
    pub fn new(http: &'a Http) -> Self {
        Self { http }
    }

    /// All breakers of an instance.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn list(self, base: &str) -> Result<Breakers, DriverError> {
        let url = format!("{}/circuitbreakers", base.trim_end_matches('/'));
        let listed: Listed = self.http.ask(Method::GET, &url, None).await?.json()?;
        let named = listed.circuit_breakers.into_iter();
        Ok(named.map(|(name, b)| (harmless(&name, 200), b.state)).collect())
    }

    /// Closes a breaker at once. Its window of calls is lost.
    ///
    /// # Errors
    /// [`DriverError::NotThere`] if the list does not have it, and then nothing is posted.
    pub async fn close(self, base: &str, name: &str) -> Result<(), DriverError> {
        find(&self.list(base).await?, base, name)?;
        let body = json!({"updateState": "CLOSE"});
        self.http
            .ask(Method::POST, &breaker_url(base, name), Some(&body))
            .await
            .map(|_| ())
    }

    /// Proves that breakers may be closed there, without changing one: the actuator refuses an update to no known state
    /// with 400, and answers 404 to any where its access is `read-only`.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] if they may only be read; others as they come.
    pub async fn proves_close(self, base: &str, name: &str) -> Result<(), DriverError> {
        let (url, body) = (breaker_url(base, name), json!({"updateState": "NO_STATE"}));
        match self.http.ask(Method::POST, &url, Some(&body)).await {
            Err(DriverError::Refused {
                status: Some(400), ..
            }) => Ok(()),
            Err(DriverError::NotThere { what, answer }) => Err(DriverError::Unauthorized {
                what,
                answer: format!("{answer}; the actuator can be read, but its access is not unrestricted"),
            }),
            Err(error) => Err(error),
            Ok(answer) => Err(DriverError::Garbage {
                why: format!("an update to no known state was taken: {}", answer.text()),
                what: answer.what,
            }),
        }
    }

    /// Proves that the service has an endpoint there that half-opens, without asking it to: it takes no `GET`, and says
    /// so with 405.
    ///
    /// # Errors
    /// [`DriverError::NotThere`] if there is none; others as they come.
    pub async fn proves_half_open(self, url: &str) -> Result<(), DriverError> {
        match self.http.ask(Method::GET, url, None).await {
            Err(DriverError::Refused {
                status: Some(405), ..
            }) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Calls a URL that leads through a breaker. Whether the call itself goes well does not matter here.
    ///
    /// # Errors
    /// [`DriverError`] if it is no such URL: not reached, not there, not for a `GET`, not permitted.
    pub async fn probe(self, url: &str) -> Result<(), DriverError> {
        match self.http.ask(Method::GET, url, None).await {
            Err(DriverError::Refused {
                status: Some(429 | 500..),
                ..
            }) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Asks the service's own endpoint to half-open a breaker.
    ///
    /// # Errors
    /// [`DriverError::Conflict`] if it is not open; others as they come.
    pub async fn half_open(self, url: &str) -> Result<(), DriverError> {
        self.http.ask(Method::POST, url, None).await.map(|_| ())
    }
}

/// The URL of a breaker at the actuator.
pub fn breaker_url(base: &str, name: &str) -> String {
    format!("{}/circuitbreakers/{}", base.trim_end_matches('/'), encoded(name))
}

/// The state of the breaker of that name.
///
/// # Errors
/// [`DriverError::NotThere`] with the nearest name, or with all names if none is near.
pub fn find(breakers: &Breakers, base: &str, name: &str) -> Result<BreakerState, DriverError> {
    breakers.get(name).copied().ok_or_else(|| {
        let known = || breakers.keys().map(String::as_str);
        let answer = match nearest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if breakers.is_empty() => "the actuator lists no breaker".to_owned(),
            None => format!("there are: {}", known().take(10).collect::<Vec<_>>().join(", ")),
        };
        DriverError::NotThere {
            what: format!("breaker {} at {}", harmless(name, 64), shown_url(base)),
            answer,
        }
    })
}

//! One HTTP client for all HTTP systems: no redirects, no proxies, bounded answers, a time limit on every call.

use std::time::Duration;

use futures::StreamExt;
use reqwest::{Client, Method, StatusCode, Url, redirect::Policy};
use serde_json::Value;

use crate::model::{text::harmless, time::Span};

use super::error::DriverError;

/// The largest answer that is read.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// How much of an answer is shown in an error.
const SHOWN: usize = 200;
/// And of a URL.
const SHOWN_URL: usize = 300;

/// The client.
#[derive(Debug, Clone)]
pub struct Http {
    client: Client,
    call: Span,
}

/// What is sent with a request.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// Nothing.
    None,
    /// JSON, with its content type.
    Json(&'a Value),
    /// A text as it is, without a content type.
    Text(&'a str),
    /// The fields of a form, with its content type.
    Form(&'a [(&'a str, &'a str)]),
}

/// An answer: its status and its whole body.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The request and the place, for errors.
    pub what: String,
    /// The HTTP status.
    pub status: StatusCode,
    /// The body.
    pub body: Vec<u8>,
}

impl Http {
    /// A client that gives up connecting after `connect` and on a whole call after `call`.
    ///
    /// # Errors
    /// [`DriverError::Setup`] if the TLS set-up of this machine cannot be read.
    pub fn new(connect: Span, call: Span) -> Result<Self, DriverError> {
        let builder = || {
            Client::builder()
                .redirect(Policy::none())
                .no_proxy()
                .connect_timeout(connect.into())
                .pool_idle_timeout(Duration::from_secs(20))
                .tcp_nodelay(true)
                .user_agent(concat!("allclear/", env!("CARGO_PKG_VERSION")))
        };
        // A machine without certificate authorities can still recover everything that speaks plain HTTP.
        let client = builder()
            .build()
            .or_else(|_| builder().tls_certs_only(Vec::new()).build())
            .map_err(|e| DriverError::Setup {
                what: "HTTP client".into(),
                why: reason(&e),
            })?;
        Ok(Self { client, call })
    }

    /// One request, once. Only a 2xx answer is `Ok`.
    ///
    /// # Errors
    /// Everything else, sorted by what it means; see [`DriverError`].
    pub async fn ask(&self, method: Method, url: &str, json: Option<&Value>) -> Result<Answer, DriverError> {
        self.ask_with_token(method, url, json, None).await
    }

    /// The same with a bearer token.
    ///
    /// # Errors
    /// As [`Http::ask`].
    pub async fn ask_with_token(
        &self,
        method: Method,
        url: &str,
        json: Option<&Value>,
        bearer: Option<&str>,
    ) -> Result<Answer, DriverError> {
        let content = json.map_or(Content::None, Content::Json);
        self.exchange(method, url, content, bearer).await?.successful()
    }

    /// One `POST` of a form, once.
    ///
    /// # Errors
    /// As [`Http::ask`].
    pub async fn ask_form(&self, url: &str, form: &[(&str, &str)]) -> Result<Answer, DriverError> {
        self.exchange(Method::POST, url, Content::Form(form), None)
            .await?
            .successful()
    }

    /// One request, once, whatever its status: for checks that say which status is right.
    ///
    /// # Errors
    /// [`DriverError`] if there is no whole answer.
    pub async fn ask_any_status(
        &self,
        method: Method,
        url: &str,
        content: Content<'_>,
    ) -> Result<Answer, DriverError> {
        self.exchange(method, url, content, None).await
    }

    async fn exchange(
        &self,
        method: Method,
        url: &str,
        content: Content<'_>,
        bearer: Option<&str>,
    ) -> Result<Answer, DriverError> {
        let what = format!("{method} {}", shown_url(url));
        let parsed = parse(&what, url)?;
        let mut request = self.client.request(method, parsed);
        request = match content {
            Content::None => request,
            Content::Json(json) => request.json(json),
            Content::Text(text) => request.body(text.to_owned()),
            Content::Form(fields) => request.form(fields),
        };
        if let Some(token) = bearer {
            request = request.bearer_auth(token);
        }
        let exchange = async {
            let response = request.send().await.map_err(|e| self.broken(&what, &e))?;
            let status = response.status();
            let body = bounded(&what, response).await?;
            Ok::<_, DriverError>(Answer {
                what: what.clone(),
                status,
                body,
            })
        };
        tokio::time::timeout(self.call.into(), exchange)
            .await
            .map_err(|_| DriverError::TimedOut {
                what: what.clone(),
                after: self.call,
            })?
    }

    /// The client itself, for requests that are not about an answer (load).
    pub fn client(&self) -> &Client {
        &self.client
    }

    fn broken(&self, what: &str, error: &reqwest::Error) -> DriverError {
        let what = what.to_owned();
        if error.is_connect() {
            DriverError::Unreachable {
                what,
                why: reason(error),
            }
        } else if error.is_timeout() {
            DriverError::TimedOut {
                what,
                after: self.call,
            }
        } else if error.is_builder() {
            DriverError::Setup {
                what,
                why: reason(error),
            }
        } else {
            DriverError::Lost {
                what,
                why: reason(error),
            }
        }
    }
}

impl Answer {
    /// The answer if it is a 2xx.
    ///
    /// # Errors
    /// What another status means; see [`DriverError`].
    pub fn successful(self) -> Result<Self, DriverError> {
        match DriverError::of_status(&self.what, self.status.as_u16(), self.text()) {
            None => Ok(self),
            Some(error) => Err(error),
        }
    }

    /// Status and the beginning of the body, safe to print.
    pub fn text(&self) -> String {
        let body = harmless(String::from_utf8_lossy(&self.body).trim(), SHOWN);
        match body.is_empty() {
            true => format!("HTTP {}", self.status.as_u16()),
            false => format!("HTTP {}: {body}", self.status.as_u16()),
        }
    }

    /// The body as JSON of the expected form.
    ///
    /// # Errors
    /// [`DriverError::Garbage`] if it is not.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, DriverError> {
        serde_json::from_slice(&self.body).map_err(|e| DriverError::Garbage {
            what: self.what.clone(),
            why: format!("{}; {}", harmless(&e.to_string(), SHOWN), self.text()),
        })
    }
}

/// A URL as it may be shown: without user, password or control characters, and not longer than a line of a screen's detail.
pub fn shown_url(url: &str) -> String {
    harmless(&typed_url(url), SHOWN_URL)
}

/// A URL as a person types it: whole, but without user and password.
pub fn typed_url(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut parsed) => {
            let clean = parsed.set_username("").and_then(|()| parsed.set_password(None));
            match clean {
                Ok(()) => parsed.into(),
                Err(()) => parsed.scheme().to_owned(),
            }
        }
        Err(_) => harmless(url.rsplit('@').next().unwrap_or_default(), SHOWN_URL),
    }
}

fn parse(what: &str, url: &str) -> Result<Url, DriverError> {
    let setup = |why: String| DriverError::Setup {
        what: what.to_owned(),
        why,
    };
    let parsed = Url::parse(url).map_err(|e| setup(format!("not a URL: {e}")))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        other => Err(setup(format!("`{other}` is not http or https"))),
    }
}

async fn bounded(what: &str, response: reqwest::Response) -> Result<Vec<u8>, DriverError> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|e| DriverError::Lost {
            what: what.to_owned(),
            why: reason(&e),
        })?;
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(DriverError::too_long(what, MAX_ANSWER));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The innermost cause: the outer layers only repeat the URL.
fn reason(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    harmless(&innermost.to_string(), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_url_has_no_password() {
        assert_eq!(shown_url("http://u:secret@h:1/x"), "http://h:1/x");
        assert!(!shown_url("u:secret@nonsense").contains("secret"));
        let long = format!("http://u:secret@h:1/{}", "x".repeat(1_000));
        assert_eq!(typed_url(&long), long.replace("u:secret@", ""));
        assert!(shown_url(&long).len() < 400);
    }
}

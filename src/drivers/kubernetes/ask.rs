//! One request to the API server: within its time, its answer within its size, its failure sorted by what it means.

use std::{error::Error, io::ErrorKind};

use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::client::{AuthError, Body};
use reqwest::Url;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::model::text::harmless;

use super::{Kubernetes, Write};
use crate::drivers::error::DriverError;

/// The largest answer that is read.
const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// How much of an answer is shown in an error.
const SHOWN: usize = 300;

/// A request that is not sent yet.
pub(super) struct Ask {
    method: Method,
    url: Url,
    body: Option<(&'static str, Value)>,
}

impl Ask {
    /// Each part of the path is one segment, whatever stands in it.
    pub(super) fn new(method: Method, path: Vec<&str>) -> Self {
        let mut url = Url::parse("http://cluster/").expect("a URL");
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        Self {
            method,
            url,
            body: None,
        }
    }

    pub(super) fn with(mut self, key: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(key, value);
        self
    }

    pub(super) fn saying(mut self, content_type: &'static str, body: Value) -> Self {
        self.body = Some((content_type, body));
        self
    }

    pub(super) fn writing(self, write: Write) -> Self {
        match write {
            Write::Store => self,
            Write::DryRun => self.with("dryRun", "All"),
        }
    }

    fn target(&self) -> String {
        match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        }
    }
}

/// Every answer says what it is.
#[derive(Deserialize)]
struct Kind {
    kind: String,
}

/// What the API server answers when it does not do as asked.
#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    message: String,
}

impl Kubernetes {
    /// The request and the place.
    pub(super) fn what(&self, ask: &Ask) -> String {
        let dry = if ask.url.query().is_some_and(|q| q.contains("dryRun")) {
            " (dry run)"
        } else {
            ""
        };
        let path = harmless(ask.url.path(), SHOWN);
        format!("{} {path}{dry} at Kubernetes {}", ask.method, self.name())
    }

    /// One request, once.
    ///
    /// # Errors
    /// Everything but a 2xx answer of this kind, sorted by what it means; see [`DriverError`].
    pub(super) async fn ask<T: DeserializeOwned>(&self, ask: Ask, kind: &str) -> Result<T, DriverError> {
        let what = self.what(&ask);
        let (mut status, mut body) = self.exchange(&what, &ask).await?;
        if status == 401 {
            // A login that has run out: the next request reads the kubeconfig again.
            self.forget().await;
        }
        if status == 403 {
            self.proves_ready(&what, &body).await?;
            // It may have become ready since: nothing was done yet.
            (status, body) = self.exchange(&what, &ask).await?;
        }
        if let Some(error) = DriverError::of_status(&what, status, said(status, &body)) {
            return Err(error);
        }
        let garbage = |why: String| DriverError::Garbage {
            what: what.clone(),
            why,
        };
        let found: Kind = serde_json::from_slice(&body).map_err(|e| {
            let start = harmless(&String::from_utf8_lossy(&body), 60);
            garbage(format!(
                "{}; it begins with {start}",
                harmless(&e.to_string(), SHOWN)
            ))
        })?;
        if found.kind != kind {
            return Err(garbage(format!(
                "a {} and not a {kind}",
                harmless(&found.kind, 60)
            )));
        }
        serde_json::from_slice(&body).map_err(|e| garbage(harmless(&e.to_string(), SHOWN)))
    }

    /// A server that has just started refuses everybody until it has read who may do what. Only one that is ready is believed.
    async fn proves_ready(&self, what: &str, body: &[u8]) -> Result<(), DriverError> {
        let readyz = Ask::new(Method::GET, vec!["readyz"]);
        let (status, _) = self.exchange(&self.what(&readyz), &readyz).await?;
        match status {
            200 => Ok(()),
            _ => Err(DriverError::Unreachable {
                what: what.to_owned(),
                why: format!(
                    "{}, but it is not ready: /readyz says HTTP {status}",
                    said(403, body)
                ),
            }),
        }
    }

    async fn exchange(&self, what: &str, ask: &Ask) -> Result<(u16, Vec<u8>), DriverError> {
        let exchange = async {
            let client = self.client(what).await?;
            let sent = client.send(request(what, ask)?).await;
            let response = sent.map_err(|e| broken(what, e))?;
            let status = response.status().as_u16();
            Ok((status, body(what, response).await?))
        };
        let answered = tokio::time::timeout(self.call.into(), exchange).await;
        answered.map_err(|_| DriverError::TimedOut {
            what: what.to_owned(),
            after: self.call,
        })?
    }
}

fn request(what: &str, ask: &Ask) -> Result<Request<Body>, DriverError> {
    let mut request = Request::builder()
        .method(ask.method.clone())
        .uri(ask.target())
        .header(header::ACCEPT, "application/json")
        .header(
            header::USER_AGENT,
            concat!("allclear/", env!("CARGO_PKG_VERSION")),
        );
    let body = match &ask.body {
        Some((content_type, json)) => {
            request = request.header(header::CONTENT_TYPE, *content_type);
            Body::from(json.to_string().into_bytes())
        }
        None => Body::empty(),
    };
    request.body(body).map_err(|e| DriverError::Setup {
        what: what.to_owned(),
        why: e.to_string(),
    })
}

async fn body(what: &str, response: Response<Body>) -> Result<Vec<u8>, DriverError> {
    match Limited::new(response.into_body(), MAX_ANSWER).collect().await {
        Ok(collected) => Ok(collected.to_bytes().to_vec()),
        Err(error) if error.is::<LengthLimitError>() => Err(DriverError::too_long(what, MAX_ANSWER)),
        Err(error) => Err(DriverError::Lost {
            what: what.to_owned(),
            why: reason(error.as_ref()),
        }),
    }
}

/// The status and the server's own words: its sentence names the user, the verb and the resource.
fn said(status: u16, body: &[u8]) -> String {
    let said = serde_json::from_slice(body).map(|s: Status| s.message);
    let said = said.unwrap_or_default();
    let said = match said.is_empty() {
        true => String::from_utf8_lossy(body).into_owned(),
        false => said,
    };
    match harmless(said.trim(), SHOWN) {
        said if said.is_empty() => format!("HTTP {status}"),
        said => format!("HTTP {status}: {said}"),
    }
}

/// A request without a whole answer. Only what surely was not sent counts as unreachable.
pub(super) fn broken(what: &str, error: kube::Error) -> DriverError {
    let what = what.to_owned();
    let mut unreachable = false;
    let mut link: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(at) = link {
        if let Some(auth) = at.downcast_ref::<AuthError>() {
            return DriverError::Unauthorized {
                what,
                answer: login(auth),
            };
        }
        if let Some(io) = at.downcast_ref::<std::io::Error>() {
            let tls = io
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<rustls::Error>());
            unreachable |= matches!(tls, Some(rustls::Error::InvalidCertificate(_)))
                || matches!(
                    io.kind(),
                    ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable
                );
        }
        link = at.source();
    }
    let why = reason(&error);
    match unreachable {
        true => DriverError::Unreachable { what, why },
        false => DriverError::Lost { what, why },
    }
}

/// What a login's failure says, without what its plugin has printed: that may hold a token.
pub(super) fn login(error: &AuthError) -> String {
    let said = match error {
        AuthError::AuthExecStart(error) => format!("its credential plugin cannot be started: {error}"),
        AuthError::AuthExecRun { out, .. } => format!("its credential plugin ended with {}", out.status),
        AuthError::ReadTokenFile(error, path) => format!("its token file {}: {error}", path.display()),
        AuthError::MissingCommand => "its credential plugin has no command".into(),
        AuthError::AuthExecParse(_) | AuthError::ExecPluginFailed => {
            "its credential plugin prints no ExecCredential".into()
        }
        _ => "the login of the kubeconfig does not work".into(),
    };
    harmless(&said, SHOWN)
}

/// The innermost cause: the outer layers only repeat that it failed.
pub(super) fn reason(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    harmless(&innermost.to_string(), SHOWN)
}

//! One HTTP server that is asked: who we are, whom we trust, and what its answers mean before they are read.

use reqwest::{
    Client, ClientBuilder, RequestBuilder, Response, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, LOCATION},
    redirect::Policy,
};
use tokio::time::{Instant, timeout_at};

use super::{
    causes::{certificate_problem, root_cause},
    credentials::{authorities, authorization, extra_headers, identity},
    error::MetricsError,
    tls::install_tls_provider,
};
use crate::model::{environment::Prometheus, secret::Secrets, text::harmless, time::Span};

/// The largest answer that is read.
pub(super) const MAX_BODY_MIB: usize = 64;

/// The longest text of a server that is shown.
pub(super) const MAX_WORDS: usize = 200;

/// A Prometheus server behind HTTP.
#[derive(Debug)]
pub(super) struct Http {
    client: Client,
    base: Url,
    server: String,
    headers: HeaderMap,
    timeout: Span,
    secrets: Secrets,
}

impl Http {
    /// # Errors
    /// A URL, header, file or secret that cannot be used.
    pub(super) fn open(config: &Prometheus, secrets: &Secrets) -> Result<Self, MetricsError> {
        let base = base_url(&config.url)?;
        let mut own = Secrets::none();
        let mut headers = extra_headers(config)?;
        if let Some(value) = authorization(&config.auth, secrets, &mut own)? {
            headers.insert(AUTHORIZATION, value);
        }
        let mut builder = plain_client();
        builder = match &config.ca_file {
            Some(file) => builder.tls_certs_only(authorities(file)?),
            // Without TLS there is nobody to trust, and a machine without any authorities must do.
            None if base.scheme() == "http" => builder.tls_certs_only([]),
            None => builder,
        };
        if let Some(own_cert) = &config.client_cert {
            builder = builder.identity(identity(own_cert)?);
        }
        Ok(Self {
            client: build(builder)?,
            server: server_of(&base),
            base,
            headers,
            timeout: config.timeout,
            secrets: own,
        })
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn timeout(&self) -> Span {
        self.timeout
    }

    /// The body of the answer to a posted form.
    pub(super) async fn post(
        &self,
        path: &str,
        form: &[(&str, &str)],
        deadline: Instant,
    ) -> Result<Vec<u8>, MetricsError> {
        let request = self.client.post(self.url(path)).form(form);
        let query = form.first().map_or("", |(_, value)| value);
        self.exchange(request, query, deadline).await
    }

    /// The body of the answer to a GET.
    pub(super) async fn get(&self, path: &str, deadline: Instant) -> Result<Vec<u8>, MetricsError> {
        let request = self.client.get(self.url(path));
        self.exchange(request, path, deadline).await
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }

    async fn exchange(
        &self,
        request: RequestBuilder,
        query: &str,
        deadline: Instant,
    ) -> Result<Vec<u8>, MetricsError> {
        let request = request.headers(self.headers.clone());
        let whole = async {
            let response = request.send().await.map_err(|e| self.unreachable(&e))?;
            let verdict = self.judge_head(&response);
            let status = response.status();
            verdict?;
            let body = bounded(response, MAX_BODY_MIB << 20).await.map_err(|e| match e {
                BodyError::TooLarge => MetricsError::TooLarge {
                    server: self.server.clone(),
                    limit_mib: MAX_BODY_MIB,
                    query: harmless(query, MAX_WORDS),
                },
                BodyError::Broken(e) => self.unreachable(&e),
            })?;
            self.judge_status(status, body, query)
        };
        timeout_at(deadline, whole).await.unwrap_or_else(|_| {
            Err(MetricsError::TimedOut {
                server: self.server.clone(),
                after: self.timeout,
            })
        })
    }

    /// What can be said before the body is read.
    fn judge_head(&self, response: &Response) -> Result<(), MetricsError> {
        let status = response.status();
        let server = self.server.clone();
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|l| l.to_str().ok());
            let host = to
                .and_then(|l| self.base.join(l).ok())
                .map(|url| server_of(&url))
                .unwrap_or_else(|| "nowhere".to_owned());
            let what = format!("HTTP {}, a redirect to {}", status.as_u16(), harmless(&host, 80));
            return Err(MetricsError::NotPrometheus { server, what });
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let status = status.as_u16();
            return Err(MetricsError::Refused { server, status });
        }
        if status.is_success() && is_web_page(response) {
            let what = "a web page".to_owned();
            return Err(MetricsError::NotPrometheus { server, what });
        }
        Ok(())
    }

    fn judge_status(&self, status: StatusCode, body: Vec<u8>, query: &str) -> Result<Vec<u8>, MetricsError> {
        if status.is_success() {
            return Ok(body);
        }
        let why = self.words(status, &body);
        Err(match status {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => MetricsError::QueryRefused {
                query: harmless(query, MAX_WORDS),
                why,
            },
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => MetricsError::Unreadable {
                server: self.server.clone(),
                why: format!("HTTP {}, so there is no query API: check `url`", status.as_u16()),
            },
            _ => MetricsError::Unavailable {
                server: self.server.clone(),
                status: status.as_u16(),
                why,
            },
        })
    }

    /// What the server says about an error: Prometheus' own words if it gives any, else the status.
    fn words(&self, status: StatusCode, body: &[u8]) -> String {
        #[derive(serde::Deserialize)]
        struct Said {
            error: String,
        }
        let said = serde_json::from_slice::<Said>(body).map(|s| s.error);
        let text = said.unwrap_or_else(|_| status.canonical_reason().unwrap_or("no reason given").to_owned());
        self.clean(&text)
    }

    /// A text of the server's, fit for a screen: no secret of ours, no control characters, not too long.
    pub(super) fn clean(&self, text: &str) -> String {
        harmless(&self.secrets.mask(text), MAX_WORDS)
    }

    fn unreachable(&self, error: &reqwest::Error) -> MetricsError {
        let server = self.server.clone();
        match certificate_problem(error) {
            Some(why) => MetricsError::Untrusted { server, why },
            None => MetricsError::Unreachable {
                server,
                why: self.clean(&root_cause(error)),
            },
        }
    }
}

/// A client that follows no redirect and knows no proxy: credentials go to the configured host and nowhere else.
pub(super) fn plain_client() -> ClientBuilder {
    install_tls_provider();
    Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .user_agent(concat!("allclear/", env!("CARGO_PKG_VERSION")))
        .pool_max_idle_per_host(16)
}

pub(super) fn build(builder: ClientBuilder) -> Result<Client, MetricsError> {
    builder.build().map_err(|e| MetricsError::Client {
        why: harmless(&root_cause(&e), MAX_WORDS),
    })
}

fn base_url(text: &str) -> Result<Url, MetricsError> {
    // A password in the text must not come back in the message.
    let shown = text.rsplit('@').next().unwrap_or_default();
    let bad = |why: &str| MetricsError::BadUrl {
        url: harmless(shown, 120),
        why: why.to_owned(),
    };
    let url = Url::parse(text).map_err(|e| bad(&e.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad("neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it holds a user or password, which belong under `auth`"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("it holds a query or fragment"));
    }
    Ok(url)
}

pub(super) fn server_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Why a body could not be read.
#[derive(Debug)]
pub(super) enum BodyError {
    TooLarge,
    Broken(reqwest::Error),
}

/// The body, up to a limit that holds after decompression.
pub(super) async fn bounded(mut response: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Broken)? {
        if body.len() + chunk.len() > limit {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

pub(super) fn is_web_page(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    kind.is_some_and(|k| k.trim_start().to_ascii_lowercase().starts_with("text/html"))
}

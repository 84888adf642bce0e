//! Prometheus' query API: one question, one typed answer.

use tokio::time::Instant;

use super::{
    answer::{Body, Data, Item, Series, millis},
    error::MetricsError,
    http::Http,
};
use crate::model::{
    environment::Prometheus,
    said::Said,
    sample::{Gap, SourceMs},
    secret::Secrets,
    time::Span,
};

/// The query API of one server.
#[derive(Debug)]
pub(super) struct Api {
    http: Http,
}

impl Api {
    pub(super) fn open(config: &Prometheus, secrets: &Secrets) -> Result<Self, MetricsError> {
        let http = Http::open(config, secrets)?;
        Ok(Self { http })
    }

    pub(super) fn timeout(&self) -> Span {
        self.http.timeout()
    }

    /// A text of ours or of the server's, fit for a screen.
    pub(super) fn clean(&self, text: &str) -> String {
        self.http.clean(text)
    }

    /// The series of a result of this kind.
    pub(super) fn series(&self, data: Data, kind: &str, query: &str) -> Result<Vec<Series>, MetricsError> {
        if data.kind != kind {
            return Err(self.wrong_type(&data.kind, query));
        }
        data.series().ok_or_else(|| MetricsError::Unreadable {
            server: self.http.server().to_owned(),
            why: format!("a {kind} that holds something else than series"),
        })
    }

    pub(super) fn wrong_type(&self, kind: &str, query: &str) -> MetricsError {
        let gap = Gap::WrongType {
            kind: self.http.clean(kind),
            query: self.http.clean(query),
        };
        MetricsError::NotOneNumber { gap }
    }

    /// One query of the API: its result, and what the server remarks about it.
    pub(super) async fn query(
        &self,
        query: &str,
        deadline: Instant,
    ) -> Result<(Data, Vec<Said>), MetricsError> {
        let bytes = self
            .http
            .post("/api/v1/query", &[("query", query)], deadline)
            .await?;
        let unreadable = |why: &str| MetricsError::Unreadable {
            server: self.http.server().to_owned(),
            why: self.http.clean(why),
        };
        let body: Body = serde_json::from_slice(&bytes).map_err(|e| unreadable(&e.to_string()))?;
        if body.status != "success" {
            let kind = body.error_type.unwrap_or_default();
            let why = body.error.unwrap_or_else(|| format!("status {}", body.status));
            return Err(MetricsError::QueryRefused {
                query: self.http.clean(query),
                why: self.http.clean(&format!("{kind} {why}")),
            });
        }
        let notes = body.warnings.into_iter().chain(body.infos).flatten();
        let notes = notes
            .take(20)
            .map(|n| Said::as_it_is(self.http.clean(&n)))
            .collect();
        Ok((body.data.ok_or_else(|| unreadable("no data"))?, notes))
    }

    pub(super) async fn number(&self, query: &str, deadline: Instant) -> Result<f64, MetricsError> {
        let (data, _) = self.query(query, deadline).await?;
        let kind = data.kind.clone();
        let number = data.result.first().and_then(|item| match item {
            Item::Series(series) => series.samples.first().map(|s| s.1),
            Item::Number(time) => Some(*time),
            Item::Text(_) => None,
        });
        number.ok_or_else(|| self.wrong_type(&kind, query))
    }

    /// The server's clock. Of a scalar the first number is the evaluation time.
    pub(super) async fn server_time(&self) -> Result<SourceMs, MetricsError> {
        let deadline = Instant::now() + self.http.timeout().into();
        let seconds = self.number("time()", deadline).await?;
        millis(seconds).ok_or_else(|| MetricsError::Unreadable {
            server: self.http.server().to_owned(),
            why: format!("its clock says {seconds} s since 1970"),
        })
    }

    /// Other servers speak the same API without telling a version, so none is no error.
    pub(super) async fn version(&self) -> Option<String> {
        let deadline = Instant::now() + self.http.timeout().into();
        let body = self.http.get("/api/v1/status/buildinfo", deadline).await.ok()?;
        let value: serde_json::Value = serde_json::from_slice(&body).ok()?;
        let version = value.get("data")?.get("version")?.as_str()?;
        Some(self.http.clean(version))
    }
}

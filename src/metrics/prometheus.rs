//! A Prometheus server as a source of raw samples.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use futures::{StreamExt, stream};
use tokio::time::Instant;

use super::{
    answer::{Body, Data, Series},
    backoff::Backoff,
    error::MetricsError,
    fetch::{Answer, Fetch, MAX_RAW_SERIES, MAX_SERIES, RawSeries, SeriesId, TargetId},
    http::Http,
    source::Probe,
    summed,
    wanted::Wanted,
};
use crate::model::{
    dashboard::{Agg, Read},
    environment::Prometheus,
    sample::{Gap, Query, SourceMs},
    secret::Secrets,
    time::Span,
};

/// Queries under way at once: enough to hide the network, few enough not to be a load test.
const IN_FLIGHT: usize = 16;

/// How far back the first question of a selector goes, so that a guard has its window at once.
const FIRST_RANGE: Span = Span::seconds(300);

/// How far back a later question goes at most.
const LONGEST_RANGE: Span = Span::seconds(600);

/// How much a range reaches over what is needed, for scrapes that were under way at the question before.
const OVERLAP: Span = Span::seconds(5);

/// The scrape interval while nothing is known of it.
const USUAL_INTERVAL: Span = Span::seconds(15);

/// The most targets for which `up` is read to learn the scrape interval.
const MAX_UP: f64 = 500.0;

/// A Prometheus server.
#[derive(Debug)]
pub struct Client {
    http: Http,
    every: Span,
    interval: Option<Span>,
    clock: Option<(Instant, SourceMs)>,
    backoff: Backoff,
    trouble: Option<MetricsError>,
    /// By question: when it was last answered, and whether its series are too many.
    history: HashMap<Ask, Past>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Past {
    asked: Option<Instant>,
    too_many: bool,
}

/// A question, asked once however many queries need it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Ask {
    Raw { selector: String, form: RawForm },
    Promql(String),
}

/// What a selector's series are, as far as the question depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum RawForm {
    Counter,
    Histogram,
    Sum,
    Max,
    Avg,
}

impl RawForm {
    fn agg(self) -> Option<Agg> {
        match self {
            RawForm::Counter | RawForm::Histogram => None,
            RawForm::Sum => Some(Agg::Sum),
            RawForm::Max => Some(Agg::Max),
            RawForm::Avg => Some(Agg::Avg),
        }
    }
}

/// The answer to a question.
#[derive(Debug)]
struct Reply {
    series: Vec<RawSeries>,
    since: SourceMs,
    summed: bool,
    notes: Vec<String>,
    partial: bool,
}

type Users = Vec<(usize, usize)>;

impl Client {
    pub(super) fn open(config: &Prometheus, secrets: &Secrets) -> Result<Self, MetricsError> {
        Ok(Self {
            http: Http::open(config, secrets)?,
            every: config.every,
            interval: config.scrape_interval,
            clock: None,
            backoff: Backoff::default(),
            trouble: None,
            history: HashMap::new(),
        })
    }

    pub(super) fn every(&self) -> Span {
        self.every
    }

    pub(super) async fn fetch(&mut self, wanted: &[Wanted]) -> Fetch {
        let now = Instant::now();
        if let (Some(left), Some(trouble)) = (self.backoff.remaining(now), &self.trouble) {
            let why = trouble.to_string();
            let again_in = Span::from(left);
            return self.failed(wanted, &MetricsError::BackingOff { why, again_in });
        }
        let source_now = match self.server_time().await {
            Ok(time) => time,
            Err(error) => {
                self.note_trouble(&error);
                return self.failed(wanted, &error);
            }
        };
        self.backoff.answered();
        self.clock = Some((now, source_now));
        let replies = self.ask_all(wanted, now, source_now).await;
        self.learn(&replies);
        self.fetched(wanted, source_now, replies)
    }

    fn note_trouble(&mut self, error: &MetricsError) {
        if error.is_of_the_server() {
            self.backoff.failed(Instant::now());
            self.trouble = Some(error.clone());
        }
    }

    /// A round in which nothing could be asked. The server's clock is carried on, so that windows still end.
    fn failed(&self, wanted: &[Wanted], error: &MetricsError) -> Fetch {
        let source_now = match self.clock {
            Some((at, time)) => time + Span::from(at.elapsed()).0 as SourceMs,
            None => jiff::Timestamp::now().as_millisecond(),
        };
        let gap = error.clone().into_gap();
        Fetch {
            source_now,
            interval: self.interval,
            problems: wanted.iter().map(|w| (w.query.clone(), gap.clone())).collect(),
            ..Fetch::default()
        }
    }

    fn fetched(
        &self,
        wanted: &[Wanted],
        source_now: SourceMs,
        replies: Vec<(Users, Result<Reply, MetricsError>)>,
    ) -> Fetch {
        let mut fetch = Fetch {
            source_now,
            interval: self.interval,
            ..Fetch::default()
        };
        let mut up: BTreeMap<TargetId, Vec<SourceMs>> = BTreeMap::new();
        for (users, reply) in replies {
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) => {
                    let gap = error.into_gap();
                    let queries = users.iter().map(|(i, _)| wanted[*i].query.clone());
                    fetch.problems.extend(queries.map(|q| (q, gap.clone())));
                    continue;
                }
            };
            note_sightings(&mut up, &reply);
            fetch.partial |= reply.partial;
            fetch.warnings.extend(reply.notes);
            let series = Arc::new(reply.series);
            fetch.raw.extend(users.iter().map(|(i, part)| Answer {
                query: wanted[*i].query.clone(),
                part: *part,
                since: reply.since,
                summed: reply.summed,
                partial: reply.partial,
                series: Arc::clone(&series),
            }));
        }
        fetch.warnings.sort();
        fetch.warnings.dedup();
        fetch.up = up.into_iter().collect();
        fetch
    }

    async fn ask_all(
        &mut self,
        wanted: &[Wanted],
        now: Instant,
        source_now: SourceMs,
    ) -> Vec<(Users, Result<Reply, MetricsError>)> {
        let deadline = now + self.http.timeout().into();
        let this = &*self;
        let mut replies: Vec<(Ask, Users, Result<Reply, MetricsError>)> = stream::iter(asks(wanted))
            .map(|(ask, users)| async move {
                let reply = this.ask(&ask, now, source_now, deadline).await;
                (ask, users, reply)
            })
            .buffer_unordered(IN_FLIGHT)
            .collect()
            .await;
        replies.sort_by(|a, b| a.0.cmp(&b.0));
        let answered = |(ask, users, reply): (Ask, Users, Result<Reply, MetricsError>)| {
            if let Ok(reply) = &reply {
                let past = Past {
                    asked: Some(now),
                    too_many: reply.summed,
                };
                self.history.insert(ask, past);
            }
            (users, reply)
        };
        replies.into_iter().map(answered).collect()
    }

    async fn ask(
        &self,
        ask: &Ask,
        now: Instant,
        source_now: SourceMs,
        deadline: Instant,
    ) -> Result<Reply, MetricsError> {
        let past = self.history.get(ask).copied().unwrap_or_default();
        match ask {
            Ask::Promql(query) => self.ask_promql(query, source_now, deadline).await,
            Ask::Raw { selector, form } if past.too_many => {
                self.ask_summed(selector, *form, source_now, deadline).await
            }
            Ask::Raw { selector, form } => {
                let range = self.range(past.asked, now);
                let raw = self
                    .ask_raw(selector, *form, range, source_now, now, deadline)
                    .await;
                match raw {
                    Ok(reply) if reply.series.len() <= MAX_RAW_SERIES => Ok(reply),
                    Ok(_) | Err(MetricsError::TooLarge { .. }) => {
                        self.ask_summed(selector, *form, source_now, deadline).await
                    }
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// How far back to ask: without a hole since the last answer.
    fn range(&self, last: Option<Instant>, now: Instant) -> Span {
        let interval = self.interval.unwrap_or(USUAL_INTERVAL);
        let reach = match last {
            Some(last) => Span::from(now.duration_since(last)) + interval * 2 + OVERLAP,
            None => FIRST_RANGE,
        };
        reach.min(LONGEST_RANGE)
    }

    async fn ask_raw(
        &self,
        selector: &str,
        form: RawForm,
        range: Span,
        source_now: SourceMs,
        now: Instant,
        deadline: Instant,
    ) -> Result<Reply, MetricsError> {
        let query = format!("{selector}[{}ms]", range.0);
        let (data, notes) = self.query(&query, deadline).await?;
        let series = self.series(data, "matrix", &query)?;
        // The server evaluated it at some moment before now: only from here on is the answer surely whole.
        let evaluated_by = source_now + Span::from(now.elapsed()).0 as SourceMs;
        Ok(Reply {
            series: raw_series(series, form),
            since: evaluated_by - range.0 as SourceMs,
            summed: false,
            partial: !notes.is_empty(),
            notes,
        })
    }

    async fn ask_summed(
        &self,
        selector: &str,
        form: RawForm,
        source_now: SourceMs,
        deadline: Instant,
    ) -> Result<Reply, MetricsError> {
        let query = summed::query(selector, form == RawForm::Histogram, form.agg());
        let (data, mut notes) = self.query(&query, deadline).await?;
        let series = summed::joined(self.series(data, "vector", &query)?);
        if series.len() > MAX_SERIES {
            return Err(MetricsError::QueryRefused {
                query: self.http.clean(selector),
                why: format!("more than {MAX_SERIES} series even when added up by target: narrow it"),
            });
        }
        let partial = !notes.is_empty();
        notes.push(format!(
            "more than {MAX_RAW_SERIES} series, added up by the server: {}",
            self.http.clean(selector)
        ));
        Ok(Reply {
            series: raw_series(series, form),
            since: source_now,
            summed: true,
            partial,
            notes,
        })
    }

    async fn ask_promql(
        &self,
        query: &str,
        source_now: SourceMs,
        deadline: Instant,
    ) -> Result<Reply, MetricsError> {
        let (data, notes) = self.query(query, deadline).await?;
        let mut series = self.series(data, "vector", query)?;
        let samples = match series.len() {
            1 => series.remove(0).samples,
            count => {
                let query = self.http.clean(query);
                let gap = match count {
                    0 => Gap::NoSeries { query },
                    count => Gap::SeveralSeries { count, query },
                };
                return Err(MetricsError::NotOneNumber { gap });
            }
        };
        if samples.is_empty() {
            return Err(self.wrong_type("native histogram", query));
        }
        let one = RawSeries {
            id: SeriesId::of([("", query)].into_iter()),
            target: None,
            le: None,
            samples,
        };
        Ok(Reply {
            series: vec![one],
            since: source_now,
            summed: false,
            partial: !notes.is_empty(),
            notes,
        })
    }

    fn series(&self, data: Data, kind: &str, query: &str) -> Result<Vec<Series>, MetricsError> {
        if data.kind != kind {
            return Err(self.wrong_type(&data.kind, query));
        }
        data.series().ok_or_else(|| MetricsError::Unreadable {
            server: self.http.server().to_owned(),
            why: format!("a {kind} that holds something else than series"),
        })
    }

    fn wrong_type(&self, kind: &str, query: &str) -> MetricsError {
        let gap = Gap::WrongType {
            kind: self.http.clean(kind),
            query: self.http.clean(query),
        };
        MetricsError::NotOneNumber { gap }
    }

    /// One query of the API: its result, and what the server remarks about it.
    async fn query(&self, query: &str, deadline: Instant) -> Result<(Data, Vec<String>), MetricsError> {
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
        let notes = notes.take(20).map(|n| self.http.clean(&n)).collect();
        Ok((body.data.ok_or_else(|| unreadable("no data"))?, notes))
    }

    async fn number(&self, query: &str, deadline: Instant) -> Result<f64, MetricsError> {
        let (data, _) = self.query(query, deadline).await?;
        let kind = data.kind.clone();
        let number = data.result.first().and_then(|item| match item {
            super::answer::Item::Series(series) => series.samples.first().map(|s| s.1),
            super::answer::Item::Number(time) => Some(*time),
            super::answer::Item::Text(_) => None,
        });
        number.ok_or_else(|| self.wrong_type(&kind, query))
    }

    /// The server's clock. Of a scalar the first number is the evaluation time.
    async fn server_time(&self) -> Result<SourceMs, MetricsError> {
        let deadline = Instant::now() + self.http.timeout().into();
        let seconds = self.number("time()", deadline).await?;
        Ok((seconds * 1000.0).round() as SourceMs)
    }

    /// The median time between samples, over all answers.
    fn learn(&mut self, replies: &[(Users, Result<Reply, MetricsError>)]) {
        let raw = replies.iter().filter_map(|(_, r)| r.as_ref().ok());
        let raw = raw.filter(|r| !r.summed).filter_map(|r| r.series.first());
        if let Some(gap) = median_gap(raw.map(|s| s.samples.as_slice())) {
            self.interval = Some(gap);
        }
    }

    pub(super) async fn probe(&mut self) -> Result<Probe, MetricsError> {
        let began = Instant::now();
        let ours = jiff::Timestamp::now().as_millisecond();
        let theirs = self.server_time().await?;
        let round_trip = Span::from(began.elapsed());
        if self.interval.is_none() {
            self.interval = self.interval_of_up().await;
        }
        Ok(Probe {
            version: self.version().await,
            skew_ms: theirs - ours - (round_trip.0 / 2) as i64,
            round_trip,
            scrape_interval: self.interval,
            silent: Vec::new(),
        })
    }

    /// Other servers speak the same API without telling a version, so none is no error.
    async fn version(&self) -> Option<String> {
        let deadline = Instant::now() + self.http.timeout().into();
        let body = self.http.get("/api/v1/status/buildinfo", deadline).await.ok()?;
        let value: serde_json::Value = serde_json::from_slice(&body).ok()?;
        let version = value.get("data")?.get("version")?.as_str()?;
        Some(self.http.clean(version))
    }

    async fn interval_of_up(&self) -> Option<Span> {
        let deadline = Instant::now() + self.http.timeout().into();
        if self.number("count(up)", deadline).await.ok()? > MAX_UP {
            return None;
        }
        let query = format!("up[{}ms]", FIRST_RANGE.0);
        let (data, _) = self.query(&query, deadline).await.ok()?;
        let series = data.series()?;
        median_gap(series.iter().map(|s| s.samples.as_slice()))
    }

    pub(super) async fn refusals(&mut self, wanted: &[Wanted]) -> Vec<(Query, MetricsError)> {
        let now = Instant::now();
        let mut out = Vec::new();
        for (users, reply) in self.ask_all(wanted, now, 0).await {
            let Err(error) = reply else { continue };
            let lasting = match &error {
                MetricsError::QueryRefused { .. } => true,
                MetricsError::NotOneNumber { gap } => !matches!(gap, Gap::NoSeries { .. }),
                _ => false,
            };
            if lasting {
                let queries = users.iter().map(|(i, _)| wanted[*i].query.clone());
                out.extend(queries.map(|q| (q, error.clone())));
            }
        }
        // The answers were not kept, so the first round must ask for the whole range again.
        self.history.clear();
        out
    }
}

/// The questions behind the queries, each once, with the queries and parts that use its answer.
fn asks(wanted: &[Wanted]) -> Vec<(Ask, Users)> {
    let mut out: BTreeMap<Ask, Users> = BTreeMap::new();
    for (i, w) in wanted.iter().enumerate() {
        let form = match &w.read {
            Read::Promql { query } => {
                out.entry(Ask::Promql(query.clone())).or_default().push((i, 0));
                continue;
            }
            Read::Ratio { .. } | Read::Rate { .. } => RawForm::Counter,
            Read::Quantile { .. } => RawForm::Histogram,
            Read::Gauge { agg: Agg::Sum, .. } => RawForm::Sum,
            Read::Gauge { agg: Agg::Max, .. } => RawForm::Max,
            Read::Gauge { agg: Agg::Avg, .. } => RawForm::Avg,
        };
        for (part, selector) in w.selectors().into_iter().enumerate() {
            let selector = selector.promql();
            out.entry(Ask::Raw { selector, form })
                .or_default()
                .push((i, part));
        }
    }
    out.into_iter().collect()
}

fn raw_series(series: Vec<Series>, form: RawForm) -> Vec<RawSeries> {
    let raw = |s: Series| {
        let label = |name: &str| s.labels.get(name).map(String::as_str);
        let in_id = |name: &str| !(form == RawForm::Histogram && name == "le");
        let pairs = s.labels.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        let instance = label("instance").filter(|i| !i.is_empty());
        RawSeries {
            id: SeriesId::of(pairs.filter(|(n, _)| in_id(n))),
            target: instance
                .map(|i| TargetId::of([("job", label("job").unwrap_or("")), ("instance", i)].into_iter())),
            le: label("le").and_then(super::exposition::number),
            samples: s.samples,
        }
    };
    series.into_iter().map(raw).collect()
}

/// Each sample of a series is a sighting of its target.
fn note_sightings(up: &mut BTreeMap<TargetId, Vec<SourceMs>>, reply: &Reply) {
    if reply.summed {
        return;
    }
    for series in &reply.series {
        let Some(target) = series.target else { continue };
        let seen = up.entry(target).or_default();
        for (time, _) in series.samples.iter().rev().take(4).rev() {
            if let Err(place) = seen.binary_search(time) {
                seen.insert(place, *time);
            }
        }
    }
}

fn median_gap<'a>(series: impl Iterator<Item = &'a [(SourceMs, f64)]>) -> Option<Span> {
    let mut gaps: Vec<SourceMs> = series
        .filter_map(|s| match s {
            [.., a, b] => Some(b.0 - a.0),
            _ => None,
        })
        .collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).map(|gap| Span(gap.unsigned_abs()))
}

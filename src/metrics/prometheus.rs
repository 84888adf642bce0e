//! A Prometheus server as a source of raw samples.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use futures::{StreamExt, stream};
use tokio::time::Instant;

use super::{
    answer::Series,
    api::Api,
    asking::{Ask, RawForm, Reply, Users, asks, median_gap, note_sightings, raw_series},
    backoff::Backoff,
    error::MetricsError,
    fetch::{Answer, Fetch, MAX_RAW_SERIES, MAX_SERIES, RawSeries, SeriesId, TargetId},
    source::Probe,
    summed,
    wanted::Wanted,
};
use crate::model::{
    environment::Prometheus,
    sample::{Gap, Peer, Query, SourceMs},
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
    api: Api,
    every: Span,
    interval: Option<Span>,
    /// The configuration does not tell the scrape interval, so that samples must.
    learns: bool,
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

impl Client {
    pub(super) fn open(config: &Prometheus, secrets: &Secrets) -> Result<Self, MetricsError> {
        Ok(Self {
            api: Api::open(config, secrets)?,
            every: config.every,
            interval: config.scrape_interval,
            learns: config.scrape_interval.is_none(),
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
        let source_now = match self.api.server_time().await {
            Ok(time) => time,
            Err(error) => {
                self.note_trouble(&error);
                return self.failed(wanted, &error);
            }
        };
        self.clock = Some((now, source_now));
        let replies = self.ask_all(wanted, now, source_now).await;
        match common_trouble(&replies) {
            Some(error) => self.note_trouble(&error),
            None => self.backoff.answered(),
        }
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
        let deadline = now + self.api.timeout().into();
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

    /// The instances of an answer with one series each.
    pub(super) async fn peers(&self, query: &str) -> Result<Vec<Peer>, MetricsError> {
        let deadline = Instant::now() + self.api.timeout().into();
        let (data, _) = self.api.query(query, deadline).await?;
        let series = self.api.series(data, "vector", query)?;
        let clean = |s: &Series, name: &str| s.labels.get(name).map(|value| self.api.clean(value));
        let peers = series.iter().take(MAX_SERIES).filter_map(|s| {
            Some(Peer {
                job: clean(s, "job").unwrap_or_default(),
                instance: clean(s, "instance")?,
            })
        });
        Ok(peers.collect())
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
        let (data, notes) = self.api.query(&query, deadline).await?;
        let series = self.api.series(data, "matrix", &query)?;
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
        let (data, mut notes) = self.api.query(&query, deadline).await?;
        let series = summed::joined(self.api.series(data, "vector", &query)?);
        if series.len() > MAX_SERIES {
            return Err(MetricsError::QueryRefused {
                query: self.api.clean(selector),
                why: format!("more than {MAX_SERIES} series even when added up by target: narrow it"),
            });
        }
        let partial = !notes.is_empty();
        notes.push(format!(
            "more than {MAX_RAW_SERIES} series, added up by the server: {}",
            self.api.clean(selector)
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
        let (data, notes) = self.api.query(query, deadline).await?;
        let mut series = self.api.series(data, "vector", query)?;
        let samples = match series.len() {
            1 => series.remove(0).samples,
            count => {
                let query = self.api.clean(query);
                let gap = match count {
                    0 => Gap::NoSeries { query },
                    count => Gap::SeveralSeries { count, query },
                };
                return Err(MetricsError::NotOneNumber { gap });
            }
        };
        if samples.is_empty() {
            return Err(self.api.wrong_type("native histogram", query));
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

    /// The median time between samples, over all answers.
    fn learn(&mut self, replies: &[(Users, Result<Reply, MetricsError>)]) {
        let raw = replies.iter().filter_map(|(_, r)| r.as_ref().ok());
        let raw = raw.filter(|r| !r.summed).filter_map(|r| r.series.first());
        if self.learns
            && let Some(gap) = median_gap(raw.map(|s| s.samples.as_slice()))
        {
            self.interval = Some(gap);
        }
    }

    pub(super) async fn probe(&mut self) -> Result<Probe, MetricsError> {
        let began = Instant::now();
        let ours = jiff::Timestamp::now().as_millisecond();
        let theirs = self.api.server_time().await?;
        let round_trip = Span::from(began.elapsed());
        if self.interval.is_none() {
            self.interval = self.interval_of_up().await;
        }
        Ok(Probe {
            version: self.api.version().await,
            skew_ms: theirs - ours - (round_trip.0 / 2) as i64,
            round_trip,
            scrape_interval: self.interval,
            silent: Vec::new(),
        })
    }

    async fn interval_of_up(&self) -> Option<Span> {
        let deadline = Instant::now() + self.api.timeout().into();
        if self.api.number("count(up)", deadline).await.ok()? > MAX_UP {
            return None;
        }
        let query = format!("up[{}ms]", FIRST_RANGE.0);
        let (data, _) = self.api.query(&query, deadline).await.ok()?;
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

/// What all questions failed with, if it is the whole server that is in trouble.
fn common_trouble(replies: &[(Users, Result<Reply, MetricsError>)]) -> Option<MetricsError> {
    let mut errors = replies.iter().map(|(_, reply)| reply.as_ref().err());
    let first = errors.next()??.clone();
    let all = first.is_of_the_server() && errors.all(|e| e.is_some_and(MetricsError::is_of_the_server));
    all.then_some(first)
}

//! A Prometheus server as a source of raw samples.

mod ask;
mod down;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use tokio::time::Instant;

use self::{ask::Past, down::Targets};
use super::{
    answer::Series,
    api::Api,
    asking::{Ask, Reply, Users, median_gap, note_sightings},
    backoff::Backoff,
    error::MetricsError,
    fetch::{Answer, Fetch, MAX_SERIES, TargetId},
    source::Probe,
    wanted::Wanted,
};
use crate::{
    journal::Clock,
    model::{
        environment::Prometheus,
        sample::{Gap, Peer, Query, SourceMs},
        secret::Secrets,
        time::{Moment, Span},
    },
};

/// How far back the first question of a selector goes, so that a guard has its window at once.
const FIRST_RANGE: Span = Span::seconds(300);

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
    /// The server's clock at its last answer, by the run's own, which goes on while the machine sleeps.
    clock: Option<(Moment, SourceMs)>,
    backoff: Backoff,
    trouble: Option<MetricsError>,
    /// By question: when it was last answered, and whether its series are too many.
    history: HashMap<Ask, Past>,
    targets: Targets,
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
            targets: Targets::default(),
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
        let asked = Clock.now();
        let source_now = match self.api.server_time().await {
            Ok(time) => time,
            Err(error) => {
                self.note_trouble(&error);
                return self.failed(wanted, &error);
            }
        };
        self.clock = Some((asked, source_now));
        let replies = self.ask_all(wanted, now, source_now).await;
        match common_trouble(&replies) {
            Some(error) => self.note_trouble(&error),
            None => {
                self.backoff.answered();
                self.look_for_down(&replies, now).await;
            }
        }
        self.learn(&replies);
        self.fetched(wanted, source_now, replies)
    }

    /// Asks who is down. A server that has no such series, or does not answer this one question, fails no round: what it
    /// told last goes on.
    async fn look_for_down(&mut self, replies: &[(Users, Result<Reply, MetricsError>)], began: Instant) {
        self.targets.note(replies);
        if !self.targets.any() {
            return;
        }
        let deadline = began + (self.api.timeout() * 2).into();
        let told = self.api.query(down::QUESTION, deadline).await;
        let series = told.and_then(|(data, _)| self.api.series(data, "vector", down::QUESTION));
        if let Ok(series) = series {
            self.targets.told(&series, |text| self.api.clean(text));
        }
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
            Some((at, time)) => time + Clock.now().since(at).0 as SourceMs,
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
            down: self.targets.down().collect(),
            warnings: self.targets.words().collect(),
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
        fetch.warnings.sort_by(|one, other| one.en().cmp(other.en()));
        fetch.warnings.dedup();
        fetch.up = up.into_iter().collect();
        fetch
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

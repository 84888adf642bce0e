//! The questions of one round: raw samples, sums of too many series, PromQL.

use futures::{StreamExt, stream};
use tokio::time::Instant;

use super::{Client, FIRST_RANGE};
use crate::{
    metrics::{
        asking::{Ask, RawForm, Reply, Users, asks, raw_series},
        error::MetricsError,
        fetch::{MAX_RAW_SERIES, MAX_SERIES, RawSeries, SeriesId},
        summed,
        wanted::Wanted,
    },
    model::{
        said::said,
        sample::{Gap, SourceMs},
        time::Span,
    },
};

/// Queries under way at once: enough to hide the network, few enough not to be a load test.
const IN_FLIGHT: usize = 16;

/// How far back a later question goes at most.
const LONGEST_RANGE: Span = Span::seconds(600);

/// How much a range reaches over what is needed, for scrapes that were under way at the question before.
const OVERLAP: Span = Span::seconds(5);

/// The scrape interval while nothing is known of it.
const USUAL_INTERVAL: Span = Span::seconds(15);

/// What is known of a question from the rounds before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Past {
    asked: Option<Instant>,
    too_many: bool,
}

impl Client {
    pub(super) async fn ask_all(
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
        let selector = self.api.clean(selector);
        notes.push(said!(
            "more than {MAX_RAW_SERIES} series, added up by the server: {selector}",
            "超过 {MAX_RAW_SERIES} 个序列，由服务端求和：{selector}"
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
}

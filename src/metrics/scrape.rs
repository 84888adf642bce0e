//! The instances' own `/metrics`, read by allclear itself.

use std::{collections::BTreeSet, sync::Arc};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use reqwest::Url;
use tokio::time::{Instant, timeout};

use super::{
    causes::root_cause,
    error::MetricsError,
    fetch::{Answer, Fetch, MAX_SERIES, RawSeries, TargetId},
    http::{self, BodyError},
    plan::{Plan, Target},
    source::Probe,
    wanted::Wanted,
};
use crate::{
    journal::Clock,
    model::{
        environment::Environment,
        ids::{InstanceName, ServiceName},
        said::{Said, said},
        sample::{Gap, Query, SourceMs},
        text::harmless,
        time::{Moment, Span},
    },
};

/// The largest page of one instance.
const MAX_PAGE_MIB: usize = 16;

/// Pages under way at once.
const IN_FLIGHT: usize = 64;

/// How long one page may take: as long as the round, within these.
const TIMEOUT: (Span, Span) = (Span::millis(500), Span::seconds(10));

/// Reads the metrics of instances.
#[derive(Debug)]
pub struct Scraper {
    client: reqwest::Client,
    targets: Vec<Target>,
    every: Span,
    /// Wall time at a moment of the run's clock: sample times must not jump when the wall clock is set, and must go on while the
    /// machine sleeps, as whatever is compared with them does.
    clock: (Moment, SourceMs),
    plan: Plan,
    /// By lookup: the targets that ever had series for it.
    known: Vec<BTreeSet<TargetId>>,
}

impl Scraper {
    pub(super) fn open(
        environment: &Environment,
        instances: &[(ServiceName, InstanceName)],
        every: Span,
        path: &str,
    ) -> Result<Self, MetricsError> {
        let targets = instances
            .iter()
            .map(|(service, instance)| target(environment, service, instance, path))
            .collect::<Result<Vec<_>, _>>()?;
        if targets.is_empty() {
            return Err(MetricsError::NoInstances);
        }
        Ok(Self {
            // Plain HTTP only: no authority is needed, and a machine without any must do.
            client: http::build(http::plain_client().tls_certs_only([]))?,
            targets,
            every,
            clock: (Clock.now(), jiff::Timestamp::now().as_millisecond()),
            plan: Plan::default(),
            known: Vec::new(),
        })
    }

    pub(super) fn every(&self) -> Span {
        self.every
    }

    fn now(&self) -> SourceMs {
        self.clock.1 + Clock.now().since(self.clock.0).0 as SourceMs
    }

    pub(super) async fn fetch(&mut self, wanted: &[Wanted]) -> Fetch {
        if self.plan.wanted != wanted {
            self.plan = Plan::of(wanted);
            self.known = vec![BTreeSet::new(); self.plan.lookups.len()];
        }
        let now = self.now();
        let mut fetch = Fetch {
            source_now: now,
            interval: Some(self.every),
            problems: (self.plan.problems.iter())
                .map(|(query, error)| (query.clone(), error.clone().into_gap()))
                .collect(),
            ..Fetch::default()
        };
        let mut found: Vec<Vec<RawSeries>> = self.plan.lookups.iter().map(|_| Vec::new()).collect();
        // Taken out while the pages borrow the rest.
        let mut known = std::mem::take(&mut self.known);
        for (target, page) in self.pages().await {
            let series = page.and_then(|page| self.plan.read(target, &page, now).map_err(Said::as_it_is));
            match series {
                Ok(series) => {
                    fetch.up.push((target.id, vec![now]));
                    for (lookup, one) in series {
                        known[lookup].insert(target.id);
                        found[lookup].push(one);
                    }
                }
                Err(why) => {
                    let instance = &target.instance;
                    fetch
                        .warnings
                        .push(said!(why; "{instance} does not answer: {why}", "{instance} 无应答：{why}"));
                }
            }
        }
        self.known = known;
        self.answer(&mut fetch, found);
        fetch
    }

    fn answer(&self, fetch: &mut Fetch, found: Vec<Vec<RawSeries>>) {
        let nobody = fetch.up.is_empty();
        let answered: BTreeSet<TargetId> = fetch.up.iter().map(|(id, _)| *id).collect();
        for ((lookup, known), series) in self.plan.lookups.iter().zip(&self.known).zip(found) {
            // A sum without one of its instances is another sum.
            let partial = !known.is_subset(&answered);
            let problem = match series.len() {
                _ if nobody => Some(Gap::Source(Said::sentences(&fetch.warnings).en().to_owned())),
                n if n > MAX_SERIES => {
                    let text = harmless(&lookup.text, 200);
                    Some(Gap::Source(format!(
                        "more than {MAX_SERIES} series, narrow it: {text}"
                    )))
                }
                _ => None,
            };
            if let Some(gap) = problem {
                let queries = lookup.users.iter().map(|(query, _)| (query.clone(), gap.clone()));
                fetch.problems.extend(queries);
                continue;
            }
            let series = Arc::new(series);
            fetch.raw.extend(lookup.users.iter().map(|(query, part)| Answer {
                query: query.clone(),
                part: *part,
                since: SourceMs::MIN,
                summed: false,
                partial,
                series: Arc::clone(&series),
            }));
        }
    }

    /// The pages of all targets, or why there is none, in the targets' order.
    async fn pages(&self) -> Vec<(&Target, Result<String, Said>)> {
        // Boxed one by one: as a closure of a stream, the compiler cannot show that the future may change threads.
        let pages: Vec<BoxFuture<'_, _>> = self
            .targets
            .iter()
            .map(|target| async move { (target, self.page(target).await) }.boxed())
            .collect();
        stream::iter(pages).buffered(IN_FLIGHT).collect().await
    }

    async fn page(&self, target: &Target) -> Result<String, Said> {
        let limit = self.every.clamp(TIMEOUT.0, TIMEOUT.1);
        let whole = async {
            let request = self.client.get(target.url.clone()).header("accept", "text/plain");
            let response = request.send().await.map_err(|e| Said::as_it_is(root_cause(&e)))?;
            if response.status() != reqwest::StatusCode::OK {
                return Err(Said::as_it_is(format!("HTTP {}", response.status().as_u16())));
            }
            if http::is_web_page(&response) {
                return Err(said!("a web page instead of metrics", "是网页而非指标"));
            }
            let body = http::bounded(response, MAX_PAGE_MIB << 20).await;
            let body = body.map_err(|e| match e {
                BodyError::TooLarge => said!("more than {MAX_PAGE_MIB} MiB", "超过 {MAX_PAGE_MIB} MiB"),
                BodyError::Broken(e) => Said::as_it_is(root_cause(&e)),
            })?;
            String::from_utf8(body).map_err(|_| said!("its metrics are not UTF-8", "其指标不是 UTF-8"))
        };
        let page = timeout(limit.into(), whole).await;
        let page = page.unwrap_or_else(|_| Err(said!("nothing within {limit}", "{limit} 内无任何应答")));
        page.map_err(|why| why.map(|text| harmless(text, 160)))
    }

    pub(super) async fn probe(&mut self) -> Result<Probe, MetricsError> {
        let began = Instant::now();
        let pages = self.pages().await;
        let round_trip = Span::from(began.elapsed());
        let silent: Vec<(InstanceName, Said)> = pages
            .into_iter()
            .filter_map(|(target, page)| Some((target.instance.clone(), page.err()?)))
            .collect();
        match silent.first() {
            Some((instance, why)) if silent.len() == self.targets.len() => Err(MetricsError::Unreachable {
                server: instance.to_string(),
                why: why.en().to_owned(),
            }),
            _ => Ok(Probe {
                version: None,
                skew_ms: 0,
                round_trip,
                scrape_interval: Some(self.every),
                silent,
            }),
        }
    }

    pub(super) fn refusals(&self, wanted: &[Wanted]) -> Vec<(Query, MetricsError)> {
        Plan::of(wanted).problems
    }
}

fn target(
    environment: &Environment,
    service: &ServiceName,
    instance: &InstanceName,
    path: &str,
) -> Result<Target, MetricsError> {
    let address = environment.address(service, instance);
    let address = address.ok_or_else(|| MetricsError::UnknownInstance {
        service: service.clone(),
        instance: instance.clone(),
    })?;
    let text = format!("http://{address}/{}", path.trim_start_matches('/'));
    let url = Url::parse(&text).map_err(|e| MetricsError::BadUrl {
        url: harmless(&text, 120),
        why: e.to_string(),
    })?;
    let names = [("service", service.as_str()), ("instance", instance.as_str())];
    Ok(Target {
        service: service.clone(),
        instance: instance.clone(),
        url,
        id: TargetId::of(names.into_iter()),
    })
}

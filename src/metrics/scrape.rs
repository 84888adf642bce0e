//! The instances' own `/metrics`, read by allclear itself.

use std::{collections::HashMap, sync::Arc};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use reqwest::Url;
use tokio::time::{Instant, timeout};

use super::{
    error::MetricsError,
    exposition::{self, Line},
    fetch::{Answer, Fetch, MAX_SERIES, RawSeries, SeriesId, TargetId},
    http::{self, BodyError},
    matching::Matching,
    source::Probe,
    wanted::Wanted,
};
use crate::model::{
    environment::Environment,
    ids::{InstanceName, ServiceName},
    sample::{Gap, Query, SourceMs},
    text::harmless,
    time::Span,
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
    /// Wall time at a monotonic moment: sample times must not jump when the wall clock is set.
    clock: (Instant, SourceMs),
    plan: Plan,
}

#[derive(Debug)]
struct Target {
    service: ServiceName,
    instance: InstanceName,
    url: Url,
    id: TargetId,
}

/// What is looked for on a page; made anew only when other things are wanted.
#[derive(Debug, Default)]
struct Plan {
    wanted: Vec<Wanted>,
    lookups: Vec<Lookup>,
    by_name: HashMap<String, Vec<usize>>,
    problems: Vec<(Query, MetricsError)>,
}

/// One selector, and the queries and parts that need it.
#[derive(Debug)]
struct Lookup {
    text: String,
    histogram: bool,
    matching: Matching,
    users: Vec<(Query, usize)>,
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
            clock: (Instant::now(), jiff::Timestamp::now().as_millisecond()),
            plan: Plan::default(),
        })
    }

    pub(super) fn every(&self) -> Span {
        self.every
    }

    fn now(&self) -> SourceMs {
        self.clock.1 + Span::from(self.clock.0.elapsed()).0 as SourceMs
    }

    pub(super) async fn fetch(&mut self, wanted: &[Wanted]) -> Fetch {
        if self.plan.wanted != wanted {
            self.plan = Plan::of(wanted);
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
        for (target, page) in self.pages().await {
            let series = page.and_then(|page| self.plan.read(target, &page, now));
            match series {
                Ok(series) => {
                    fetch.up.push((target.id, vec![now]));
                    for (lookup, one) in series {
                        found[lookup].push(one);
                    }
                }
                Err(why) => fetch
                    .warnings
                    .push(format!("{} does not answer: {why}", target.instance)),
            }
        }
        self.answer(&mut fetch, found);
        fetch
    }

    fn answer(&self, fetch: &mut Fetch, found: Vec<Vec<RawSeries>>) {
        let nobody = fetch.up.is_empty();
        for (lookup, series) in self.plan.lookups.iter().zip(found) {
            let problem = match series.len() {
                _ if nobody => Some(Gap::Source(fetch.warnings.join("; "))),
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
                partial: false,
                series: Arc::clone(&series),
            }));
        }
    }

    /// The pages of all targets, or why there is none, in the targets' order.
    async fn pages(&self) -> Vec<(&Target, Result<String, String>)> {
        // Boxed one by one: as a closure of a stream, the compiler cannot show that the future may change threads.
        let pages: Vec<BoxFuture<'_, _>> = self
            .targets
            .iter()
            .map(|target| async move { (target, self.page(target).await) }.boxed())
            .collect();
        stream::iter(pages).buffered(IN_FLIGHT).collect().await
    }

    async fn page(&self, target: &Target) -> Result<String, String> {
        let limit = self.every.clamp(TIMEOUT.0, TIMEOUT.1);
        let whole = async {
            let request = self.client.get(target.url.clone()).header("accept", "text/plain");
            let response = request.send().await.map_err(|e| http::root_cause(&e))?;
            if response.status() != reqwest::StatusCode::OK {
                return Err(format!("HTTP {}", response.status().as_u16()));
            }
            if http::is_web_page(&response) {
                return Err("a web page instead of metrics".to_owned());
            }
            let body = http::bounded(response, MAX_PAGE_MIB << 20).await;
            let body = body.map_err(|e| match e {
                BodyError::TooLarge => format!("more than {MAX_PAGE_MIB} MiB"),
                BodyError::Broken(e) => http::root_cause(&e),
            })?;
            String::from_utf8(body).map_err(|_| "its metrics are not UTF-8".to_owned())
        };
        let page = timeout(limit.into(), whole).await;
        let page = page.unwrap_or_else(|_| Err(format!("nothing within {limit}")));
        page.map_err(|why| harmless(&why, 160))
    }

    pub(super) async fn probe(&mut self) -> Result<Probe, MetricsError> {
        let began = Instant::now();
        let pages = self.pages().await;
        let round_trip = Span::from(began.elapsed());
        let silent: Vec<(InstanceName, String)> = pages
            .into_iter()
            .filter_map(|(target, page)| Some((target.instance.clone(), page.err()?)))
            .collect();
        match silent.first() {
            Some((instance, why)) if silent.len() == self.targets.len() => Err(MetricsError::Unreachable {
                server: instance.to_string(),
                why: why.clone(),
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

impl Plan {
    fn of(wanted: &[Wanted]) -> Self {
        let mut plan = Self {
            wanted: wanted.to_vec(),
            ..Self::default()
        };
        let mut places: HashMap<(String, bool), usize> = HashMap::new();
        for w in wanted {
            if let crate::model::dashboard::Read::Promql { query } = &w.read {
                let query = harmless(query, 200);
                plan.problems
                    .push((w.query.clone(), MetricsError::NeedsServer { query }));
            }
            let histogram = matches!(w.read, crate::model::dashboard::Read::Quantile { .. });
            for (part, selector) in w.selectors().into_iter().enumerate() {
                let text = selector.promql();
                let user = (w.query.clone(), part);
                if let Some(place) = places.get(&(text.clone(), histogram)) {
                    plan.lookups[*place].users.push(user);
                    continue;
                }
                match Matching::of(selector) {
                    Ok(matching) => {
                        let place = plan.lookups.len();
                        places.insert((text.clone(), histogram), place);
                        plan.by_name.entry(selector.name.clone()).or_default().push(place);
                        plan.lookups.push(Lookup {
                            text,
                            histogram,
                            matching,
                            users: vec![user],
                        });
                    }
                    Err(error) => plan.problems.push((w.query.clone(), error)),
                }
            }
        }
        plan
    }

    /// The series on a page, with the lookup that each is for. A page with a malformed line is not trusted at all.
    fn read(&self, target: &Target, page: &str, now: SourceMs) -> Result<Vec<(usize, RawSeries)>, String> {
        let mut out = Vec::new();
        for line in exposition::samples(page, |name| self.by_name.contains_key(name)) {
            let line = line.map_err(|e| e.to_string())?;
            for place in &self.by_name[line.name] {
                let lookup = &self.lookups[*place];
                if lookup.matching.matches(|name| label(&line, target, name)) {
                    out.push((*place, raw(&line, target, lookup.histogram, now)));
                }
            }
        }
        Ok(out)
    }
}

/// A label of a line; `instance` and `service` are the target's if the line has none.
fn label<'a>(line: &'a Line<'_>, target: &'a Target, name: &str) -> Option<&'a str> {
    line.label(name).or(match name {
        "instance" => Some(target.instance.as_str()),
        "service" => Some(target.service.as_str()),
        "__name__" => Some(line.name),
        _ => None,
    })
}

fn raw(line: &Line<'_>, target: &Target, histogram: bool, now: SourceMs) -> RawSeries {
    let mut labels: Vec<(&str, &str)> = line
        .labels
        .iter()
        .map(|(name, value)| (*name, value.as_ref()))
        .filter(|(name, _)| !(histogram && *name == "le"))
        .collect();
    labels.sort_unstable();
    let names = [
        ("service", target.service.as_str()),
        ("instance", target.instance.as_str()),
        ("", line.name),
    ];
    // A target's clock may run ahead; a sample from the future would end windows too early.
    let time = line.time.unwrap_or(now).min(now);
    RawSeries {
        id: SeriesId::of(names.into_iter().chain(labels)),
        target: Some(target.id),
        le: line.label("le").and_then(exposition::number),
        samples: vec![(time, line.value)],
    }
}

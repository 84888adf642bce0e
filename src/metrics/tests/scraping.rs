//! Instances scraped directly.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Router,
    body::{Body, Bytes},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use futures::stream;

use super::serving::{Served, prometheus, scraped, serve};
use crate::metrics::testing::{gauge, promql, quantile, query, rate, ratio, selector, wants};
use crate::metrics::{Fetch, MetricsError, Source, Store};
use crate::model::{
    dashboard::{Agg, MatchOp, Read},
    environment::MetricsSource,
    ids::{InstanceName, ServiceName},
    said::Said,
    sample::Gap,
    secret::Secrets,
    text::Lang,
    time::Span,
};

async fn page(text: impl Fn() -> Response + Clone + Send + Sync + 'static) -> Served {
    serve(Router::new().route("/metrics", get(move || async move { text() }))).await
}

async fn fixed(text: &'static str) -> Served {
    page(move || text.into_response()).await
}

fn source(instances: &[(&str, SocketAddr)]) -> Source {
    Source::open(&scraped(instances, Span::seconds(1)), &Secrets::none()).unwrap()
}

fn value(fetch: Fetch, wanted: &crate::metrics::Wanted) -> Result<f64, Gap> {
    let mut store = Store::new(std::slice::from_ref(wanted), Span::seconds(60));
    store.add(fetch);
    store
        .reading(&wanted.query, Span::ZERO)
        .value
        .map(|level| level.0)
}

#[tokio::test(start_paused = true)]
async fn samples_go_by_the_run_s_clock_and_not_by_that_of_timers_which_stands_still_in_a_sleep() {
    let mut source = source(&[("order-0", ([127, 0, 0, 1], 9).into())]);
    let begin = source.fetch(&[]).await.source_now;
    tokio::time::advance(std::time::Duration::from_secs(3_600)).await;
    let later = source.fetch(&[]).await.source_now;
    assert!((begin..begin + 60_000).contains(&later), "{begin}, {later}");
}

#[tokio::test]
async fn instances_are_told_apart_by_the_labels_that_they_lack() {
    let (a, b) = (fixed("busy 3\n").await, fixed("busy{instance=\"own\"} 5\n").await);
    let mut source = source(&[("order-0", a.address), ("order-1", b.address)]);
    let busy = |matchers: &[(&str, MatchOp, &str)]| {
        let selector = selector("busy", matchers);
        let agg = Agg::Sum;
        wants("busy", Read::Gauge { selector, agg })
    };
    for (matchers, want) in [
        (vec![], 8.0),
        (vec![("instance", MatchOp::Equal, "order-0")], 3.0),
        (vec![("instance", MatchOp::Matches, "own|order-1")], 5.0),
        (vec![("service", MatchOp::Equal, "order")], 8.0),
    ] {
        let wanted = busy(&matchers);
        let fetch = source.fetch(std::slice::from_ref(&wanted)).await;
        assert_eq!(value(fetch, &wanted), Ok(want), "{matchers:?}");
    }
}

#[tokio::test]
async fn an_instance_that_does_not_answer_is_named_and_the_others_count() {
    let good = fixed("busy 3\n").await;
    let web = page(|| Html("<html>").into_response()).await;
    let torn = fixed("busy 4\nbusy{ 5\n").await;
    let slow =
        page(|| Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>()).into_response()).await;
    let gone = fixed("").await.address; // its server has ended
    let mut source = source(&[
        ("a-good", good.address),
        ("b-gone", gone),
        ("c-slow", slow.address),
        ("d-torn", torn.address),
        ("e-web", web.address),
    ]);
    let wanted = gauge("busy", Agg::Sum);
    let fetch = source.fetch(std::slice::from_ref(&wanted)).await;
    let [gone, slow, torn, web] = &fetch.warnings[..] else {
        panic!("{:?}", fetch.warnings)
    };
    let [gone, slow, torn, web] = [gone, slow, torn, web].map(Said::en);
    assert!(gone.starts_with("b-gone does not answer: "), "{gone}");
    assert_eq!(slow, "c-slow does not answer: nothing within 1s");
    assert_eq!(
        torn,
        "d-torn does not answer: line 2 of its metrics: a label without a value"
    );
    assert_eq!(web, "e-web does not answer: a web page instead of metrics");
    assert_eq!(value(fetch, &wanted), Ok(3.0));
    let silent: Vec<String> = source
        .probe()
        .await
        .unwrap()
        .silent
        .iter()
        .map(|(i, _)| i.to_string())
        .collect();
    assert_eq!(silent, ["b-gone", "c-slow", "e-web"]);
}

#[tokio::test]
async fn when_nobody_answers_every_query_says_so() {
    let gone = fixed("").await.address;
    let mut source = source(&[("order-0", gone)]);
    let fetch = source.fetch(&[rate("a"), rate("b")]).await;
    assert_eq!(fetch.problems.len(), 2);
    assert!(
        fetch.problems[0]
            .1
            .to_string()
            .starts_with("order-0 does not answer: ")
    );
    assert!(source.probe().await.is_err());
}

#[tokio::test]
async fn an_endless_page_is_cut_off() {
    let endless = page(|| {
        let chunk = Bytes::from(vec![b'#'; 1 << 20]);
        Body::from_stream(stream::repeat_with(move || {
            Ok::<_, std::io::Error>(chunk.clone())
        }))
        .into_response()
    })
    .await;
    let environment = scraped(&[("order-0", endless.address)], Span::seconds(10));
    let mut source = Source::open(&environment, &Secrets::none()).unwrap();
    let fetch = source.fetch(&[rate("a")]).await;
    let [warning] = &fetch.warnings[..] else {
        panic!("{:?}", fetch.warnings)
    };
    assert_eq!(warning.en(), "order-0 does not answer: more than 16 MiB");
    assert_eq!(warning.get(Lang::Zh), "order-0 无应答：超过 16 MiB");
}

#[tokio::test]
async fn promql_and_bad_patterns_are_refused_with_their_text() {
    let server = fixed("").await;
    let mut source = source(&[("order-0", server.address)]);
    let bad = wants(
        "bad",
        Read::Rate {
            selector: selector("m", &[("a", MatchOp::Matches, "(")]),
        },
    );
    let wanted = [promql("lag", "max(lag)"), bad];
    let refusals = source.refusals(&wanted).await;
    assert!(matches!(refusals[0].1, MetricsError::NeedsServer { .. }));
    assert!(matches!(refusals[1].1, MetricsError::BadPattern { .. }));
    assert_eq!(source.fetch(&wanted).await.problems.len(), 2);
}

#[tokio::test]
async fn counters_ratios_and_quantiles_are_read_from_pages() {
    let round = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&round);
    let server = page(move || {
        let n = counter.fetch_add(1, Ordering::SeqCst);
        format!(
            "http{{code=\"200\"}} {}\nhttp{{code=\"500\"}} {}\nt_bucket{{le=\"0.1\"}} {}\nt_bucket{{le=\"+Inf\"}} {}\n",
            9 * n,
            n,
            5 * n,
            10 * n
        )
        .into_response()
    })
    .await;
    let mut source = source(&[("order-0", server.address)]);
    let wanted = [
        rate("http"),
        wants("share", ratio("http").read),
        quantile("t", 0.5),
    ];
    let mut store = Store::new(&wanted, Span::seconds(60));
    let mut newest = 0;
    for _ in 0..3 {
        // Two rounds in one millisecond would be one sample.
        let fetch = loop {
            let fetch = source.fetch(&wanted).await;
            if fetch.source_now > newest {
                break fetch;
            }
        };
        newest = fetch.source_now;
        store.add(fetch);
    }
    let read = |name: &str| store.reading(&query(name), Span::seconds(60)).value.unwrap().0;
    assert!(read("http") > 0.0);
    assert_eq!(read("share"), 0.9);
    assert_eq!(read("t"), 0.1);
}

#[tokio::test]
async fn samples_with_times_of_their_own_keep_them_but_none_is_from_the_future() {
    let server = fixed("old 1 1000\nahead 2 99999999999999\n").await;
    let mut source = source(&[("order-0", server.address)]);
    let wanted = [gauge("old", Agg::Max), gauge("ahead", Agg::Max)];
    let fetch = source.fetch(&wanted).await;
    assert_eq!(fetch.raw[0].series[0].samples, [(1_000, 1.0)]);
    assert_eq!(fetch.raw[1].series[0].samples, [(fetch.source_now, 2.0)]);
}

#[tokio::test]
async fn rounds_may_be_asked_from_any_thread() {
    let server = fixed("busy 3\n").await;
    let mut source = source(&[("order-0", server.address)]);
    let task = tokio::spawn(async move { source.fetch(&[gauge("busy", Agg::Sum)]).await });
    assert_eq!(task.await.unwrap().raw.len(), 1);
}

#[tokio::test]
async fn tripwires_read_the_targets_alone_each_second() {
    let (a, b) = (fixed("busy 3\n").await, fixed("busy 5\n").await);
    let environment = scraped(
        &[("order-0", a.address), ("order-1", b.address)],
        Span::seconds(30),
    );
    let order = ServiceName::new("order").unwrap();
    let target = |name: &str| (order.clone(), InstanceName::new(name).unwrap());
    let mut source = Source::targets(&environment, &[target("order-0")]).unwrap();
    assert_eq!(source.every(), Span::seconds(1));
    let wanted = gauge("busy", Agg::Sum);
    let fetch = source.fetch(std::slice::from_ref(&wanted)).await;
    assert_eq!((value(fetch, &wanted), b.hits()), (Ok(3.0), 0));
    let unknown = Source::targets(&environment, &[target("order-9")]).unwrap_err();
    assert!(matches!(unknown, MetricsError::UnknownInstance { .. }));
    assert_eq!(
        Source::targets(&environment, &[]).unwrap_err(),
        MetricsError::NoInstances
    );
}

#[tokio::test]
async fn tripwires_are_read_where_the_targets_have_their_page_whatever_server_there_is() {
    let spring = Router::new().route("/actuator/prometheus", get(|| async { "busy 7\n" }));
    let served = serve(spring).await;
    let mut environment = scraped(&[("order-0", served.address)], Span::seconds(30));
    let mut server = prometheus("http://127.0.0.1:1");
    server.targets_path = "/actuator/prometheus".to_owned();
    environment.metrics = MetricsSource::Prometheus(server);
    let target = (
        ServiceName::new("order").unwrap(),
        InstanceName::new("order-0").unwrap(),
    );
    let mut source = Source::targets(&environment, &[target]).unwrap();
    let wanted = gauge("busy", Agg::Sum);
    let fetch = source.fetch(std::slice::from_ref(&wanted)).await;
    assert_eq!(value(fetch, &wanted), Ok(7.0));
}

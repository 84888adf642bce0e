//! Servers that do not answer, or never end.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::header,
    response::IntoResponse,
};
use futures::stream;

use super::{fetched, matrix, why};
use crate::{
    metrics::{
        testing::rate,
        tests::serving::{error, healthy_api, open, prometheus, query_api, time},
    },
    model::time::Span,
};

#[tokio::test]
async fn a_server_that_cannot_answer_is_left_alone_for_a_while() {
    let server = query_api(|_, _| error(503, "unavailable", "TSDB not ready")).await;
    let mut source = open(prometheus(&server.url()));
    let first = why(&source.fetch(&[rate("a"), rate("b")]).await, "a");
    assert!(
        first.contains("cannot answer now (HTTP 503): TSDB not ready; "),
        "{first}"
    );
    assert_eq!(server.hits(), 1, "one question finds out for all queries");
    let second = why(&source.fetch(&[rate("a"), rate("b")]).await, "b");
    assert!(
        second.contains("TSDB not ready; look at the server; asked again in "),
        "{second}"
    );
    assert_eq!(server.hits(), 1);
}

#[tokio::test]
async fn a_server_that_tells_the_time_but_answers_nothing_is_left_alone_too() {
    let server = healthy_api(|_| error(503, "unavailable", "overloaded")).await;
    let mut source = open(prometheus(&server.url()));
    source.fetch(&[rate("a"), rate("b")]).await;
    let second = why(&source.fetch(&[rate("a"), rate("b")]).await, "b");
    assert!(
        second.contains("overloaded; look at the server; asked again in "),
        "{second}"
    );
    assert_eq!(server.hits(), 3);
}

#[tokio::test]
async fn after_the_pause_the_server_is_asked_again() {
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let state = std::sync::Arc::clone(&broken);
    let server = query_api(move |query, _| match query {
        _ if state.load(std::sync::atomic::Ordering::SeqCst) => error(503, "", "down"),
        "time()" => time(2_000.0),
        _ => matrix(r#"[[1990,"7"]]"#),
    })
    .await;
    let mut source = open(prometheus(&server.url()));
    assert!(!source.fetch(&[rate("a")]).await.problems.is_empty());
    broken.store(false, std::sync::atomic::Ordering::SeqCst);
    let recovered = async {
        while !source.fetch(&[rate("a")]).await.problems.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), recovered)
        .await
        .unwrap();
    assert!(server.hits() <= 4, "{} questions", server.hits());
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let server = query_api(|_, _| {
        let chunk = Bytes::from(vec![b' '; 1 << 20]);
        let endless = stream::repeat_with(move || Ok::<_, std::io::Error>(chunk.clone()));
        (
            [(header::CONTENT_TYPE, "application/json")],
            Body::from_stream(endless),
        )
            .into_response()
    })
    .await;
    let text = why(&fetched(&server.url(), &[rate("a")]).await, "a");
    assert!(text.contains("more than 64 MiB"), "{text}");
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_in_time() {
    let server = query_api(|_, _| {
        let never = stream::pending::<Result<Bytes, std::io::Error>>();
        (
            [(header::CONTENT_TYPE, "application/json")],
            Body::from_stream(never),
        )
            .into_response()
    })
    .await;
    let mut config = prometheus(&server.url());
    config.timeout = Span::millis(200);
    let text = why(&open(config).fetch(&[rate("a")]).await, "a");
    assert!(
        text.contains("did not answer within 200ms: look at its load, or raise `timeout`"),
        "{text}"
    );
}

#[tokio::test]
async fn nobody_listening_is_told_and_the_clock_goes_on() {
    let server = healthy_api(|_| matrix(r#"[[1990,"7"]]"#)).await;
    let mut source = open(prometheus(&server.url()));
    let good = source.fetch(&[rate("a")]).await;
    assert_eq!(good.source_now, 2_000_000);
    let address = server.address;
    drop(server);
    let gone = async {
        loop {
            let fetch = source.fetch(&[rate("a")]).await;
            if !fetch.problems.is_empty() {
                return fetch;
            }
        }
    };
    let fetch = tokio::time::timeout(Duration::from_secs(5), gone).await.unwrap();
    assert!(why(&fetch, "a").starts_with(&format!("{address} cannot be reached: ")));
    assert!(
        (2_000_000..2_010_000).contains(&fetch.source_now),
        "{}",
        fetch.source_now
    );
    // By the run's clock, which goes on while the machine sleeps, and not by the one of timers, which does not.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3_600)).await;
    let later = source.fetch(&[rate("a")]).await.source_now;
    assert!((2_000_000..2_020_000).contains(&later), "{later}");
}

#[tokio::test]
async fn a_clock_that_is_off_by_minutes_is_measured() {
    let theirs = jiff::Timestamp::now().as_millisecond() as f64 / 1000.0 + 300.0;
    let server = query_api(move |_, _| time(theirs)).await;
    let probe = open(prometheus(&server.url())).probe().await.unwrap();
    assert!((probe.skew_ms - 300_000).abs() < 3_000, "{probe:?}");
    assert_eq!(probe.version, None);
}

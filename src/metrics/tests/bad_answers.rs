//! What a server may answer instead of numbers, and what becomes of it.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::{StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
};
use futures::stream;

use super::serving::{environment, error, healthy_api, json, open, prometheus, query_api, success, time};
use crate::metrics::testing::{gauge, promql, query, rate};
use crate::metrics::{Fetch, MetricsError, Source, Store, Wanted};
use crate::model::{
    dashboard::Agg,
    environment::{Auth, MetricsSource, SecretRef},
    sample::Gap,
    secret::{SecretText, Secrets},
    time::Span,
};

async fn fetched(url: &str, wanted: &[Wanted]) -> Fetch {
    open(prometheus(url)).fetch(wanted).await
}

/// What one query says went wrong.
fn why(fetch: &Fetch, name: &str) -> String {
    let problem = fetch.problems.iter().find(|(q, _)| *q == query(name));
    problem.map(|(_, gap)| gap.to_string()).unwrap_or_default()
}

/// A gauge's matrix with these samples.
fn matrix(samples: &str) -> Response {
    success(
        "matrix",
        &format!(r#"[{{"metric":{{"instance":"a"}},"values":{samples}}}]"#),
    )
}

#[tokio::test]
async fn a_login_page_is_told_as_what_it_is() {
    let server = query_api(|_, _| Html("<html>Sign in</html>").into_response()).await;
    let fetch = fetched(&server.url(), &[rate("a"), rate("b")]).await;
    let host = server.address;
    let want = format!("not Prometheus: log in again ({host} answered with a web page)");
    assert_eq!([why(&fetch, "a"), why(&fetch, "b")], [want.clone(), want]);
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_no_credential_leaves() {
    let elsewhere = query_api(|_, _| time(1.0)).await;
    let target = format!("{}/api/v1/query?token=x", elsewhere.url());
    let server = query_api(move |_, _| Redirect::temporary(&target).into_response()).await;
    let place = SecretRef::Env("TOKEN".into());
    let mut config = prometheus(&server.url());
    config.auth = Auth::Bearer { token: place.clone() };
    let mut secrets = Secrets::none();
    secrets.insert(place, SecretText::new("hunter22"));
    let mut source = Source::open(&environment(MetricsSource::Prometheus(config)), &secrets).unwrap();
    let text = why(&source.fetch(&[rate("a")]).await, "a");
    assert!(text.starts_with("not Prometheus: log in again"), "{text}");
    assert!(
        text.contains(&format!("a redirect to {}", elsewhere.address)),
        "{text}"
    );
    assert_eq!(elsewhere.hits(), 0);
}

#[tokio::test]
async fn refused_credentials_are_told_with_the_status() {
    for status in [401, 403] {
        let server = query_api(move |_, _| error(status, "", "no")).await;
        let text = why(&fetched(&server.url(), &[rate("a")]).await, "a");
        assert!(
            text.contains(&format!("refuses our credentials (HTTP {status})")),
            "{text}"
        );
    }
}

#[tokio::test]
async fn credentials_are_sent_and_never_shown() {
    let server = query_api(|query, headers| {
        let sent = headers[header::AUTHORIZATION].to_str().unwrap();
        let tenant = headers["x-scope-orgid"].to_str().unwrap();
        match query {
            "time()" => time(2_000.0),
            _ => error(422, "execution", &format!("{tenant} {sent} hunter22")),
        }
    })
    .await;
    let place = SecretRef::Env("PASSWORD".into());
    let auths = [
        Auth::Basic {
            user: "drill".into(),
            password: place.clone(),
        },
        Auth::Bearer { token: place.clone() },
    ];
    let mut texts = Vec::new();
    for auth in auths {
        let mut config = prometheus(&server.url());
        config.auth = auth;
        config.headers.insert("X-Scope-OrgID".into(), "shop".into());
        let mut secrets = Secrets::none();
        secrets.insert(place.clone(), SecretText::new("hunter22"));
        let mut source = Source::open(&environment(MetricsSource::Prometheus(config)), &secrets).unwrap();
        texts.push(why(&source.fetch(&[rate("a")]).await, "a"));
        assert!(!format!("{source:?}").contains("hunter22"));
        assert!(!format!("{source:?}").contains("ZHJpbGw"));
    }
    assert_eq!(
        texts[0],
        "query refused: shop Basic ••• •••: correct it in the dashboard: a[300000ms]"
    );
    assert_eq!(
        texts[1],
        "query refused: shop Bearer ••• •••: correct it in the dashboard: a[300000ms]"
    );
}

#[tokio::test]
async fn one_query_that_fails_leaves_the_others_alone() {
    let server = healthy_api(|query| match query {
        q if q.starts_with("broken") => error(500, "internal", "out of memory"),
        q if q.starts_with("wrong") => error(400, "bad_data", "1:4: parse error: unexpected end"),
        _ => matrix(r#"[[1990,"7"],[1995,"8"]]"#),
    })
    .await;
    let wanted = [
        gauge("fine", Agg::Max),
        gauge("broken", Agg::Max),
        promql("wrong", "wrong("),
    ];
    let fetch = fetched(&server.url(), &wanted).await;
    assert!(why(&fetch, "broken").contains("cannot answer now (HTTP 500): out of memory; "));
    assert_eq!(
        why(&fetch, "wrong"),
        "query refused: 1:4: parse error: unexpected end: correct it in the dashboard: wrong("
    );
    let mut store = Store::new(&wanted, Span::seconds(60));
    store.add(fetch);
    assert_eq!(store.reading(&query("fine"), Span::ZERO).value.unwrap().0, 8.0);
    assert!(store.reading(&query("broken"), Span::ZERO).value.is_err());
}

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
    assert!(server.hits() <= 3, "{} questions", server.hits());
}

#[tokio::test]
async fn a_warning_makes_the_answer_partial() {
    let server = healthy_api(|_| {
        let body = r#"{"status":"success","warnings":["store s3 timed \u001b[31mout"],
            "data":{"resultType":"matrix","result":[]}}"#;
        json(StatusCode::OK, body.into())
    })
    .await;
    let fetch = fetched(&server.url(), &[rate("a")]).await;
    assert!(fetch.partial && fetch.raw[0].partial);
    assert_eq!(fetch.warnings, ["store s3 timed [31mout"]);
}

#[tokio::test]
async fn a_query_for_one_number_gets_one_or_says_what_came() {
    let vector = |values: &[&str]| {
        let one = |(i, v): (usize, &&str)| format!(r#"{{"metric":{{"i":"{i}"}},"value":[1999,"{v}"]}}"#);
        success(
            "vector",
            &format!(
                "[{}]",
                values.iter().enumerate().map(one).collect::<Vec<_>>().join(",")
            ),
        )
    };
    let server = healthy_api(move |query| match query {
        "one" => vector(&["3"]),
        "two" => vector(&["3", "4"]),
        "none" => vector(&[]),
        "nan" => vector(&["NaN"]),
        "text" => success("string", r#"[1999,"up"]"#),
        "scalar" => success("scalar", r#"[1999,"3"]"#),
        _ => matrix(r#"[[1999,"3"]]"#),
    })
    .await;
    let wanted = ["one", "two", "none", "nan", "text", "scalar", "range"].map(|name| promql(name, name));
    let mut source = open(prometheus(&server.url()));
    let mut store = Store::new(&wanted, Span::seconds(60));
    store.add(source.fetch(&wanted).await);
    let said: Vec<String> = wanted
        .iter()
        .map(|w| match store.reading(&w.query, Span::ZERO).value {
            Ok(level) => level.0.to_string(),
            Err(gap) => gap.to_string(),
        })
        .collect();
    assert_eq!(
        said,
        [
            "3",
            "2 series where one was meant: two",
            "no series: none",
            "not a number (NaN or infinite): nan",
            "a string where one number was meant: text",
            "a scalar where one number was meant: scalar",
            "a matrix where one number was meant: range",
        ]
    );
    let refused: Vec<String> = source
        .refusals(&wanted)
        .await
        .into_iter()
        .map(|(query, _)| query.metric.to_string())
        .collect();
    assert_eq!(refused, ["range", "scalar", "text", "two"]);
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
async fn what_is_no_json_of_prometheus_is_told() {
    for body in [
        "",
        "[]",
        r#"{"status":"success"}"#,
        r#"{"status":"success","data":{"resultType":"scalar","result":[]}}"#,
    ] {
        let server = query_api(move |_, _| json(StatusCode::OK, body.into())).await;
        let fetch = fetched(&server.url(), &[rate("a")]).await;
        assert_eq!(fetch.problems.len(), 1, "{body}");
    }
    let server = super::serving::serve(axum::Router::new()).await;
    let text = why(&fetched(&server.url(), &[rate("a")]).await, "a");
    assert!(
        text.contains("HTTP 404, so there is no query API: check `url`"),
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
}

#[tokio::test]
async fn a_clock_that_is_off_by_minutes_is_measured() {
    let theirs = jiff::Timestamp::now().as_millisecond() as f64 / 1000.0 + 300.0;
    let server = query_api(move |_, _| time(theirs)).await;
    let probe = open(prometheus(&server.url())).probe().await.unwrap();
    assert!((probe.skew_ms - 300_000).abs() < 3_000, "{probe:?}");
    assert_eq!(probe.version, None);
}

#[tokio::test]
async fn above_two_thousand_series_the_server_adds_up() {
    let server = healthy_api(|query| {
        let series = |i: usize| format!(r#"{{"metric":{{"instance":"i{i}"}},"values":[[1990,"1"]]}}"#);
        let half = |name: &str, value: &str| {
            format!(r#"{{"metric":{{"instance":"a","allclear_half":"{name}"}},"value":[2000,"{value}"]}}"#)
        };
        match query.starts_with("label_replace(") {
            true => success(
                "vector",
                &format!("[{},{}]", half("value", "42"), half("time", "1991.5")),
            ),
            false => success(
                "matrix",
                &format!("[{}]", (0..2_001).map(series).collect::<Vec<_>>().join(",")),
            ),
        }
    })
    .await;
    let wanted = [rate("many")];
    let mut source = open(prometheus(&server.url()));
    let fetch = source.fetch(&wanted).await;
    assert!(fetch.raw[0].summed);
    assert_eq!(fetch.raw[0].series[0].samples, [(1_991_500, 42.0)]);
    assert_eq!(
        fetch.warnings,
        ["more than 2000 series, added up by the server: many"]
    );
    assert!(!fetch.partial, "a sum by the server is whole");
    let hits = server.hits();
    source.fetch(&wanted).await;
    assert_eq!(
        server.hits() - hits,
        2,
        "the next round asks for the time and for the sum"
    );
}

#[tokio::test]
async fn a_selector_that_many_queries_share_is_asked_once() {
    let server = healthy_api(|_| matrix(r#"[[1990,"7"]]"#)).await;
    let mut twin = rate("a");
    twin.query = query("b");
    let fetch = fetched(&server.url(), &[rate("a"), twin]).await;
    assert_eq!((server.hits(), fetch.raw.len()), (2, 2));
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_sent() {
    let refused = |change: fn(&mut crate::model::environment::Prometheus)| {
        let mut config = prometheus("http://127.0.0.1:9");
        change(&mut config);
        let opened = Source::open(&environment(MetricsSource::Prometheus(config)), &Secrets::none());
        opened.unwrap_err()
    };
    let with_password = refused(|c| c.url = "http://drill:hunter22@127.0.0.1:9".into());
    assert!(matches!(with_password, MetricsError::BadUrl { .. }));
    assert!(!with_password.to_string().contains("hunter22"), "{with_password}");
    assert!(matches!(
        refused(|c| c.url = "ftp://x".into()),
        MetricsError::BadUrl { .. }
    ));
    assert!(matches!(
        refused(|c| c.url = "prometheus:9090".into()),
        MetricsError::BadUrl { .. }
    ));
    let header = refused(|c| {
        c.headers.insert("a b".into(), "x".into());
    });
    assert!(matches!(header, MetricsError::BadHeader { .. }));
    let secret = refused(|c| {
        let token = SecretRef::Env("TOKEN".into());
        c.auth = Auth::Bearer { token };
    });
    assert!(
        secret.to_string().contains("environment variable TOKEN"),
        "{secret}"
    );
    let file = refused(|c| c.ca_file = Some("/no/such/ca.pem".into()));
    assert!(file.to_string().contains("/no/such/ca.pem"), "{file}");
}

#[tokio::test]
async fn a_gap_of_the_source_says_which_query_it_was() {
    let server = healthy_api(|_| success("string", r#"[1,"x"]"#)).await;
    let fetch = fetched(&server.url(), &[rate("a")]).await;
    let want = Gap::WrongType {
        kind: "string".into(),
        query: "a[300000ms]".into(),
    };
    assert_eq!(fetch.problems, [(query("a"), want)]);
}

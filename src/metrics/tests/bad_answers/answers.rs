//! Answers that are not what was asked for.

use axum::http::StatusCode;

use super::{fetched, matrix, why};
use crate::{
    metrics::{
        Store,
        testing::{gauge, promql, query, rate},
        tests::serving::{error, healthy_api, json, open, prometheus, query_api, serve, success},
    },
    model::{dashboard::Agg, said::Said, sample::Gap, time::Span},
};

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
async fn a_warning_makes_the_answer_partial() {
    let server = healthy_api(|_| {
        let body = r#"{"status":"success","warnings":["store s3 timed \u001b[31mout"],
            "data":{"resultType":"matrix","result":[]}}"#;
        json(StatusCode::OK, body.into())
    })
    .await;
    let fetch = fetched(&server.url(), &[rate("a")]).await;
    assert!(fetch.partial && fetch.raw[0].partial);
    assert_eq!(fetch.warnings, [Said::as_it_is("store s3 timed [31mout")]);
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
    let server = serve(axum::Router::new()).await;
    let text = why(&fetched(&server.url(), &[rate("a")]).await, "a");
    assert!(
        text.contains("HTTP 404, so there is no query API: check `url`"),
        "{text}"
    );
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

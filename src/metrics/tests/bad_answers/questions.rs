//! What is asked, and how often.

use super::{fetched, matrix};
use crate::{
    metrics::{
        MetricsError, Source,
        testing::{query, rate},
        tests::serving::{environment, healthy_api, open, prometheus, success},
    },
    model::{
        environment::{Auth, MetricsSource, SecretRef},
        said::Said,
        secret::Secrets,
    },
};

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
        Said::list(&fetch.warnings).en(),
        "more than 2000 series, added up by the server: many"
    );
    assert!(!fetch.partial, "a sum by the server is whole");
    let hits = server.hits();
    source.fetch(&wanted).await;
    assert_eq!(
        server.hits() - hits,
        3,
        "the next round asks for the time, for the sum and for who is down"
    );
}

#[tokio::test]
async fn a_selector_that_many_queries_share_is_asked_once() {
    let server = healthy_api(|_| matrix(r#"[[1990,"7"]]"#)).await;
    let mut twin = rate("a");
    twin.query = query("b");
    let fetch = fetched(&server.url(), &[rate("a"), twin]).await;
    // The time, the selector, and who is down.
    assert_eq!((server.hits(), fetch.raw.len()), (3, 2));
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

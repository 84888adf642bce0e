//! Servers that do not let us in, and what never leaves with a request.

use axum::{
    http::header,
    response::{Html, IntoResponse, Redirect},
};

use super::{fetched, why};
use crate::{
    metrics::{
        Source,
        testing::rate,
        tests::serving::{environment, error, prometheus, query_api, time},
    },
    model::{
        environment::{Auth, MetricsSource, SecretRef},
        secret::{SecretText, Secrets},
    },
};

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

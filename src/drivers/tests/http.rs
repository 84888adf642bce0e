//! The HTTP client's bounds, and the webhook on top of it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use axum::{
    Router,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect},
    routing::{get, post},
};
use reqwest::Method;
use serde_json::json;
use tokio::sync::Mutex;

use super::{Service, serve};
use crate::{
    drivers::{
        Drivers, Patience,
        error::{DriverError, Landing},
        testing::{environment, nothing_to_do, plan},
    },
    model::{
        environment::{SecretRef, Webhook},
        secret::{SecretText, Secrets},
        time::Span,
    },
};

fn drivers(secrets: Secrets) -> Drivers {
    let patience = Patience {
        call: Span::millis(700),
        ..Patience::default()
    };
    Drivers::with_patience(&plan(environment(&[]), nothing_to_do()), secrets, patience).unwrap()
}

async fn fetch(service: &Service, path: &str) -> DriverError {
    let url = format!("http://{}{path}", service.address);
    drivers(Secrets::none())
        .http()
        .ask(Method::GET, &url, None)
        .await
        .unwrap_err()
}

#[tokio::test]
async fn redirects_are_not_followed_and_large_answers_are_not_read() {
    let followed = Arc::new(AtomicU64::new(0));
    let count = followed.clone();
    let login = get(move || {
        count.fetch_add(1, Relaxed);
        async { "log in" }
    });
    let router = Router::new()
        .route("/moved", get(|| async { Redirect::temporary("/login") }))
        .route("/login", login)
        .route("/large", get(|| async { "x".repeat(5 * 1024 * 1024) }));
    let service = serve(router).await;
    let moved = fetch(&service, "/moved").await;
    assert!(
        matches!(&moved, DriverError::Garbage { why, .. } if why.contains("login page")),
        "{moved}"
    );
    assert_eq!(followed.load(Relaxed), 0);
    let large = fetch(&service, "/large").await;
    assert!(
        matches!(&large, DriverError::Garbage { why, .. } if why.contains("4 MiB")),
        "{large}"
    );
}

#[tokio::test]
async fn every_status_has_its_own_meaning_and_landing() {
    let answer = |code: u16| get(move || async move { StatusCode::from_u16(code).unwrap().into_response() });
    let codes = [401, 403, 404, 409, 422, 503];
    let router = codes
        .iter()
        .fold(Router::new(), |r, c| r.route(&format!("/{c}"), answer(*c)));
    let slow = get(|| async { tokio::time::sleep(std::time::Duration::from_secs(20)).await });
    let service = serve(router.route("/slow", slow)).await;
    let mut seen = Vec::new();
    for path in ["401", "403", "404", "409", "422", "503", "slow"] {
        let error = fetch(&service, &format!("/{path}")).await;
        let name = format!("{error:?}").split(' ').next().unwrap().to_owned();
        seen.push((path, name, error.landing() == Landing::Unknown, error.may_pass()));
    }
    let seen: Vec<_> = seen.iter().map(|(p, n, u, m)| (*p, n.as_str(), *u, *m)).collect();
    assert_eq!(
        seen,
        [
            ("401", "Unauthorized", false, false),
            ("403", "Unauthorized", false, false),
            ("404", "NotThere", false, false),
            ("409", "Conflict", false, false),
            ("422", "Refused", false, false),
            ("503", "Refused", true, true),
            ("slow", "TimedOut", true, true),
        ]
    );
}

#[tokio::test]
async fn a_webhook_is_tried_three_times_with_its_token_and_its_path_is_never_shown() {
    let got = Arc::new(Mutex::new(Vec::new()));
    let seen = got.clone();
    let hook = post(move |headers: HeaderMap, body: String| async move {
        let mut got = seen.lock().await;
        got.push((headers["authorization"].to_str().unwrap().to_owned(), body));
        if got.len() < 3 {
            StatusCode::BAD_GATEWAY
        } else {
            StatusCode::OK
        }
    });
    let refuses = post(|| async { (StatusCode::FORBIDDEN, "no") });
    let service = serve(
        Router::new()
            .route("/s3cret-path", hook)
            .route("/s3cret-no", refuses),
    )
    .await;
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("HOOK".into()), SecretText::new("tok-of-the-hook"));
    let drivers = drivers(secrets);
    let to = |path: &str| Webhook {
        url: format!("http://{}{path}", service.address),
        token: Some(SecretRef::Env("HOOK".into())),
    };
    drivers
        .tell(&to("/s3cret-path"), &json!({"run": "7f3a"}))
        .await
        .unwrap();
    let got = got.lock().await;
    assert_eq!(got.len(), 3);
    assert_eq!(
        got[2],
        (
            "Bearer tok-of-the-hook".to_owned(),
            r#"{"run":"7f3a"}"#.to_owned()
        )
    );
    let refused = drivers
        .tell(&to("/s3cret-no"), &json!({}))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.starts_with("127.0.0.1: not permitted") && !refused.contains("s3cret"),
        "{refused}"
    );
}

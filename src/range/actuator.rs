//! The Resilience4j actuator (`/actuator/circuitbreakers`), as Spring Boot answers, and the app's own half-open.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Map, Value, json};

use super::breaker::{Breaker, BreakerState, SLOW_THRESHOLD};
use super::breakers::Breakers;

pub(super) fn router(breakers: Arc<Breakers>) -> Router {
    Router::new()
        .route("/actuator/circuitbreakers", get(list))
        .route("/actuator/circuitbreakers/{name}", post(update))
        .route("/app/breakers/{name}/half-open", post(half_open))
        .with_state(breakers)
}

async fn list(State(breakers): State<Arc<Breakers>>) -> Json<Value> {
    let shown: Map<String, Value> = breakers
        .all()
        .into_iter()
        .map(|(name, breaker)| (name, describe(&breaker)))
        .collect();
    Json(json!({ "circuitBreakers": shown }))
}

fn describe(breaker: &Breaker) -> Value {
    let reading = breaker.reading();
    json!({
        "failureRate": format!("{:.1}%", reading.failure_rate),
        "slowCallRate": format!("{:.1}%", reading.slow_rate),
        "failureRateThreshold": format!("{:.1}%", reading.failure_threshold),
        "slowCallRateThreshold": format!("{SLOW_THRESHOLD:.1}%"),
        "bufferedCalls": reading.buffered,
        "failedCalls": reading.failed,
        "slowCalls": reading.slow,
        "slowFailedCalls": reading.slow_failed,
        "notPermittedCalls": reading.not_permitted,
        "state": reading.state.name(),
    })
}

/// What the actuator can be told; anything else is a 400, HALF_OPEN too.
#[derive(Debug, Clone, Copy)]
enum Update {
    Close,
    ForceOpen,
    Disable,
}

impl Update {
    fn of(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        match body.get("updateState")?.as_str()? {
            "CLOSE" => Some(Self::Close),
            "FORCE_OPEN" => Some(Self::ForceOpen),
            "DISABLE" => Some(Self::Disable),
            _ => None,
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
    else {
        return false;
    };
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
        || kind.starts_with("application/vnd.spring-boot.actuator") && kind.ends_with("+json")
}

async fn update(
    State(breakers): State<Arc<Breakers>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !is_json(&headers) {
        return spring_error(StatusCode::UNSUPPORTED_MEDIA_TYPE, &name);
    }
    let Some(update) = Update::of(&body) else {
        return spring_error(StatusCode::BAD_REQUEST, &name);
    };
    // The trap of the real one: a misspelt name makes a new breaker, and the answer is a success.
    let Some(breaker) = breakers.get_or_make(&name) else {
        return spring_error(StatusCode::INTERNAL_SERVER_ERROR, &name);
    };
    match update {
        Update::Close => breaker.close(),
        Update::ForceOpen => breaker.force_open(),
        Update::Disable => breaker.disable(),
    }
    Json(json!({
        "circuitBreakerName": name,
        "currentState": breaker.state().name(),
        "message": format!("{name} state has been changed successfully"),
    }))
    .into_response()
}

fn spring_error(status: StatusCode, name: &str) -> Response {
    let body = json!({
        "status": status.as_u16(),
        "error": status.canonical_reason(),
        "path": format!("/actuator/circuitbreakers/{name}"),
    });
    (status, Json(body)).into_response()
}

async fn half_open(State(breakers): State<Arc<Breakers>>, Path(name): Path<String>) -> Response {
    let answer = |status: StatusCode, state: &str| {
        (
            status,
            Json(json!({ "circuitBreakerName": name, "currentState": state })),
        )
            .into_response()
    };
    match breakers.get(&name).map(|breaker| breaker.half_open()) {
        Some(Ok(())) => answer(StatusCode::OK, BreakerState::HalfOpen.name()),
        Some(Err(state)) => answer(StatusCode::CONFLICT, state.name()),
        None => (
            StatusCode::NOT_FOUND,
            Json(json!({ "error": "no breaker has this name" })),
        )
            .into_response(),
    }
}

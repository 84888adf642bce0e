//! HTTP of the gateway and of the retry queue: the shop's own, and the range's controls.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;

use super::call::{Call, MARK};
use super::retry::{Release, RetryQueue};
use super::shop::Shop;
use super::status;
use super::traffic::{MAX_RATE, Rates, is_mark};

/// Largest body read, bytes.
const MAX_BODY: usize = 16 * 1024;
/// Highest release rate, messages a second.
const MAX_RELEASE: f64 = 100_000.0;

/// Routes of the gateway beside those of every instance.
pub(super) fn gateway(shop: Arc<Shop>) -> Router {
    Router::new()
        .route("/order", post(order))
        .route("/cart/{id}", get(cart))
        .route("/range/traffic", get(traffic).put(set_traffic))
        .route("/range/status", get(status_of))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(shop)
}

/// Routes of the retry queue.
pub(super) fn retry(queue: Arc<RetryQueue>) -> Router {
    Router::new()
        .route("/app/retry", get(retry_state).put(set_retry))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(queue)
}

fn call_of(headers: &HeaderMap) -> Call {
    let mark = headers
        .get(MARK)
        .and_then(|mark| mark.to_str().ok())
        .map(Into::into);
    Call { mark, campaign: None }
}

fn answer(code: u16) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let said = status.canonical_reason().unwrap_or_default();
    (status, Json(json!({ "status": code, "said": said }))).into_response()
}

fn refusal(status: StatusCode, reason: impl ToString) -> Response {
    (status, Json(json!({ "error": reason.to_string() }))).into_response()
}

async fn order(State(shop): State<Arc<Shop>>, headers: HeaderMap, _body: Bytes) -> Response {
    answer(shop.gateway.order(&call_of(&headers)).await)
}

async fn cart(State(shop): State<Arc<Shop>>, headers: HeaderMap, Path(id): Path<u64>) -> Response {
    answer(shop.gateway.cart(&call_of(&headers), id).await)
}

async fn traffic(State(shop): State<Arc<Shop>>) -> Json<Rates> {
    Json(shop.generator.rates())
}

/// Takes all of the rates, or only those that are named.
async fn set_traffic(State(shop): State<Arc<Shop>>, body: Bytes) -> Response {
    let mut rates = json!(shop.generator.rates());
    let wanted: serde_json::Value = match serde_json::from_slice(&body) {
        Ok(wanted) => wanted,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, format!("not JSON: {error}")),
    };
    let Some(wanted) = wanted.as_object() else {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, "rates are a JSON object");
    };
    wanted.iter().for_each(|(key, value)| rates[key] = value.clone());
    match serde_json::from_value::<Rates>(rates) {
        Ok(rates) if rates.marked > MAX_RATE || rates.users > MAX_RATE => refusal(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("at most {MAX_RATE} requests a second"),
        ),
        Ok(rates) if !is_mark(&rates.mark) => refusal(
            StatusCode::UNPROCESSABLE_ENTITY,
            "mark is 1 to 128 printable ASCII characters",
        ),
        Ok(rates) => {
            shop.generator.set(&rates);
            Json(rates).into_response()
        }
        Err(error) => refusal(StatusCode::UNPROCESSABLE_ENTITY, error),
    }
}

async fn status_of(State(shop): State<Arc<Shop>>) -> Json<status::Status> {
    Json(status::of(&shop).await)
}

async fn retry_state(State(queue): State<Arc<RetryQueue>>) -> Response {
    Json(queue.state()).into_response()
}

async fn set_retry(State(queue): State<Arc<RetryQueue>>, body: Bytes) -> Response {
    match serde_json::from_slice::<Release>(&body) {
        Ok(Release { rate: Some(rate), .. }) if !(rate > 0.0 && rate <= MAX_RELEASE) => refusal(
            StatusCode::UNPROCESSABLE_ENTITY,
            "rate is above 0 and at most 100000 messages a second, or null; to stop use held",
        ),
        Ok(release) => {
            queue.set(release);
            Json(queue.state()).into_response()
        }
        Err(error) => refusal(StatusCode::UNPROCESSABLE_ENTITY, error),
    }
}

//! The injection-point API over HTTP, for one instance.

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::points::{Placed, Points, Refused};
use super::rule::{Rule, RuleId, RunId};

/// Largest rule accepted, bytes.
const MAX_BODY: usize = 64 * 1024;

/// Routes under `/chaos/`: `PUT`, `GET`, `DELETE /chaos/rules…` and `GET /chaos/points`.
pub fn router(points: Points) -> Router {
    Router::new()
        .route("/chaos/rules", get(list).delete(delete_run))
        .route("/chaos/rules/{id}", put(place).delete(delete))
        .route("/chaos/points", get(names))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(points)
}

fn refusal(status: StatusCode, reason: impl ToString) -> Response {
    (status, Json(json!({ "error": reason.to_string() }))).into_response()
}

async fn place(State(points): State<Points>, Path(id): Path<String>, body: Bytes) -> Response {
    let body: Value = match serde_json::from_slice(&body) {
        Ok(body) => body,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, format!("not JSON: {error}")),
    };
    let rule = match Rule::from_json(&id, body) {
        Ok(rule) => rule,
        Err(error) => return refusal(StatusCode::UNPROCESSABLE_ENTITY, error),
    };
    // Filling a ballast takes long enough to make other calls wait.
    let Ok(placed) = tokio::task::spawn_blocking(move || points.put(rule)).await else {
        return refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the rule could not be put in force",
        );
    };
    match placed {
        Ok(Placed::Created) => (StatusCode::CREATED, Json(json!({ "id": id }))).into_response(),
        Ok(Placed::Unchanged) => Json(json!({ "id": id })).into_response(),
        Err(error) => refusal(status_of(&error), error),
    }
}

fn status_of(refused: &Refused) -> StatusCode {
    match refused {
        Refused::OtherContent(_) => StatusCode::CONFLICT,
        Refused::UnknownPoint { .. } => StatusCode::NOT_FOUND,
        Refused::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Refused::TooMany => StatusCode::INSUFFICIENT_STORAGE,
    }
}

async fn list(State(points): State<Points>) -> Response {
    Json(json!({
        "service": points.service(),
        "instance": points.instance(),
        "rules": points.rules(),
    }))
    .into_response()
}

async fn names(State(points): State<Points>) -> Response {
    Json(json!({
        "service": points.service(),
        "instance": points.instance(),
        "points": points.names(),
    }))
    .into_response()
}

async fn delete(State(points): State<Points>, Path(id): Path<String>) -> Response {
    let found = RuleId::try_from(id.clone()).is_ok_and(|id| points.delete(&id));
    if found {
        StatusCode::NO_CONTENT.into_response()
    } else {
        refusal(
            StatusCode::NOT_FOUND,
            format!("no rule `{}` is in force", id.escape_default()),
        )
    }
}

#[derive(Deserialize)]
struct OfRun {
    run: Option<String>,
}

/// Without a run nothing is deleted: "all rules, whoever made them" is never what one key may mean.
async fn delete_run(State(points): State<Points>, Query(of): Query<OfRun>) -> Response {
    let Some(run) = of.run else {
        return refusal(
            StatusCode::BAD_REQUEST,
            "say which run: DELETE /chaos/rules?run=ID",
        );
    };
    match RunId::try_from(run) {
        Ok(run) => Json(json!({ "removed": points.delete_run(&run) })).into_response(),
        Err(error) => refusal(StatusCode::BAD_REQUEST, error),
    }
}

//! What every instance of the shop has: a name, points, metrics, breakers, and their HTTP.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::actuator;
use super::breaker::Tuning;
use super::breakers::Breakers;
use super::meters::Meters;
use super::pool::Pool;
use crate::point::{self, Locked, Points};

/// One instance of a service.
pub(super) struct Instance {
    pub(super) service: &'static str,
    pub(super) name: &'static str,
    pub(super) points: Points,
    pub(super) meters: Arc<Meters>,
    pub(super) breakers: Arc<Breakers>,
    pools: Locked<Vec<(&'static str, Pool)>>,
    restarted: Locked<CancellationToken>,
}

impl Instance {
    pub(super) fn new(
        service: &'static str,
        name: &'static str,
        points: &[&str],
        tuning: Tuning,
    ) -> Arc<Self> {
        let meters = Arc::new(Meters::new(service, name));
        let instance = Arc::new(Self {
            service,
            name,
            points: Points::with_points(service, name, points),
            breakers: Arc::new(Breakers::new(tuning, Arc::clone(&meters))),
            meters,
            pools: Locked::default(),
            restarted: Locked::default(),
        });
        instance.show_rules();
        instance
    }

    fn show_rules(&self) {
        let points = self.points.clone();
        self.meters
            .gauge("chaos_rules", "Fault rules in force.", &[], move || {
                points.rules().len() as f64
            });
        for name in self.points.names().to_vec() {
            let points = self.points.clone();
            let label = name.clone();
            self.meters.counter_fn(
                "chaos_rule_hits_total",
                "Calls hit by fault rules.",
                &[("point", &label)],
                move || points.hits(&name),
            );
        }
    }

    /// Adds a pool that a restart empties.
    pub(super) fn own(&self, name: &'static str, pool: &Pool) {
        self.pools.with(|pools| pools.push((name, pool.clone())));
    }

    pub(super) fn pools(&self) -> Vec<(&'static str, Pool)> {
        self.pools.with(|pools| pools.clone())
    }

    /// Cancelled when this life of the instance ends.
    pub(super) fn life(&self) -> CancellationToken {
        self.restarted.with(|token| token.clone())
    }

    /// Drops every call in progress and frees every thread, as a restart does.
    pub(super) fn restart(&self) {
        let ended = self.restarted.with(std::mem::take);
        ended.cancel();
        self.pools().iter().for_each(|(_, pool)| pool.free_stuck());
    }

    /// The HTTP that every instance has.
    pub(super) fn router(self: &Arc<Self>) -> Router {
        Router::new()
            .route("/metrics", get(metrics))
            .route("/health", get(health))
            .route("/app/restart", post(restart))
            .with_state(Arc::clone(self))
            .merge(point::http::router(self.points.clone()))
            .merge(actuator::router(Arc::clone(&self.breakers)))
    }
}

async fn metrics(State(instance): State<Arc<Instance>>) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
        instance.meters.render(),
    )
}

/// Green throughout, like the health check of the accident.
async fn health(State(instance): State<Arc<Instance>>) -> impl IntoResponse {
    Json(json!({ "status": "UP", "service": instance.service, "instance": instance.name }))
}

async fn restart(State(instance): State<Arc<Instance>>) -> impl IntoResponse {
    instance.restart();
    (StatusCode::ACCEPTED, Json(json!({ "restarting": instance.name })))
}

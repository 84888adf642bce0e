//! Pools: readings given by the keeper, restarts asked of a service.

use std::sync::atomic::AtomicU64;

use axum::{Router, http::StatusCode, routing::post};

use super::{stand::Stand, *};
use crate::model::{
    amount::Level,
    ids::MetricId,
    playbook::{PoolDrain, Restart},
};

fn playbook(wait: Span) -> Playbook {
    Playbook {
        pools: vec![PoolDrain {
            metric: MetricId::new("order_threads_busy").unwrap(),
            scope: None,
            idle_at_most: 5.0,
            wait,
            if_stuck: Some(Restart::Http {
                url: "http://{instance}/app/restart".into(),
            }),
        }],
        ..nothing_to_do()
    }
}

/// A service that can be restarted, and how often it was.
async fn restartable() -> (Stand, Arc<AtomicU64>) {
    let count = Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    let restart = post(move || {
        counted.fetch_add(1, Relaxed);
        async { StatusCode::ACCEPTED }
    });
    (
        Stand::start(Router::new().route("/app/restart", restart)).await,
        count,
    )
}

/// A fresh sample at each look: `busy` of the number of looks and of restarts so far.
fn readings(
    restarts: Arc<AtomicU64>,
    busy: impl Fn(u64, u64) -> f64 + Send + Sync + 'static,
) -> impl FnOnce(&mut Ledger) {
    let looks = AtomicU64::new(0);
    move |ledger| {
        ledger.reading = Box::new(move |_| {
            let n = looks.fetch_add(1, Relaxed);
            Some(Reading {
                value: Ok(Level(busy(n, restarts.load(Relaxed)))),
                age: Span::ZERO,
                sampled: n as i64,
                partial: false,
            })
        });
    }
}

async fn run(wait: Span, busy: impl Fn(u64, u64) -> f64 + Send + Sync + 'static) -> (StepEnd, u64) {
    let (stand, restarts) = restartable().await;
    let environment = environment(&[("order", "order-0", &stand.address)]);
    let stage = stage_with(
        environment,
        playbook(wait),
        readings(restarts.clone(), busy),
        Secrets::none(),
        SHORT,
    );
    let end = super::super::pools(&stage.scene).await;
    (end, restarts.load(Relaxed))
}

#[tokio::test]
async fn a_pool_that_falls_is_waited_for_beyond_its_wait_and_not_restarted() {
    let (end, restarts) = run(Span::millis(200), |n, _| 50.0 - n as f64).await;
    assert_eq!((end.state, restarts), (StepState::Done, 0), "{}", end.detail);
    assert!(
        end.detail.starts_with("order_threads_busy 50 → "),
        "{}",
        end.detail
    );
}

#[tokio::test]
async fn a_pool_that_stays_full_is_restarted_once_and_seen_idle() {
    let (end, restarts) = run(
        Span::millis(200),
        |_, restarts| if restarts > 0 { 2.0 } else { 50.0 },
    )
    .await;
    assert_eq!((end.state, restarts), (StepState::Done, 1), "{}", end.detail);
    assert!(end.detail.ends_with("restarted once"), "{}", end.detail);
}

#[tokio::test]
async fn a_pool_that_a_restart_does_not_help_is_a_leftover_after_one_restart() {
    let (end, restarts) = run(Span::millis(200), |_, _| 50.0).await;
    assert_eq!((end.state, restarts), (StepState::Failed, 1), "{}", end.detail);
    assert_eq!(end.leftovers[0].certainty, Certainty::Seen);
}

#[tokio::test]
async fn a_restart_that_an_earlier_keeper_asked_for_is_not_asked_for_again() {
    let (stand, restarts) = restartable().await;
    let environment = environment(&[("order", "order-0", &stand.address)]);
    let earlier = |ledger: &mut Ledger| {
        readings(restarts.clone(), |_, _| 50.0)(ledger);
        ledger.restarted.store(true, Relaxed);
    };
    let stage = stage_with(
        environment,
        playbook(Span::millis(200)),
        earlier,
        Secrets::none(),
        SHORT,
    );
    let end = super::super::pools(&stage.scene).await;
    assert_eq!(
        (end.state, restarts.load(Relaxed)),
        (StepState::Failed, 0),
        "{}",
        end.detail
    );
    type_by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    assert_eq!(restarts.load(Relaxed), 1);
}

#[tokio::test]
async fn a_pool_that_cannot_be_seen_is_unknown_and_not_restarted() {
    let (stand, restarts) = restartable().await;
    let environment = environment(&[("order", "order-0", &stand.address)]);
    // One old idle sample, again and again: it was taken before the step.
    let stale = |ledger: &mut Ledger| {
        ledger.reading = Box::new(|_| {
            Some(Reading {
                value: Ok(Level(0.0)),
                age: Span::seconds(60),
                sampled: 1,
                partial: false,
            })
        });
    };
    let stage = stage_with(
        environment,
        playbook(Span::millis(100)),
        stale,
        Secrets::none(),
        SHORT,
    );
    let end = super::super::pools(&stage.scene).await;
    assert_eq!(
        (end.state, restarts.load(Relaxed)),
        (StepState::Failed, 0),
        "{}",
        end.detail
    );
    assert_eq!(end.leftovers[0].certainty, Certainty::Unknown);
}

//! Pools: readings given by the keeper, restarts asked of a service.

use std::sync::atomic::AtomicU64;

use axum::{Router, http::StatusCode, routing::post};

use super::{stand::Stand, *};
use crate::model::{
    amount::Level,
    ids::MetricId,
    playbook::{PoolDrain, Restart},
};

pub(super) fn playbook(wait: Span) -> Playbook {
    Playbook {
        pools: vec![PoolDrain {
            metric: MetricId::new("order_threads_busy").unwrap(),
            scope: None,
            idle_at_most: 5.0,
            wait,
            if_stuck: Some(Restart::Http {
                url: "http://{instance}/app/restart".into(),
            }),
            scrape_holds: 0.0,
            ready: None,
        }],
        ..nothing_to_do()
    }
}

/// A pool that empties, but not soon, and its readings.
pub(super) fn falling() -> (Vec<PoolDrain>, impl FnOnce(&mut Ledger)) {
    let never = Arc::new(AtomicU64::new(0));
    let falls = readings(never, |n, _| 1e6 - n as f64);
    (playbook(Span::seconds(60)).pools, falls)
}

/// A service that can be restarted, and how often it was.
pub(super) async fn restartable() -> (Stand, Arc<AtomicU64>) {
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
pub(super) fn readings(
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
    assert_eq!((end.state, restarts), (StepState::Done, 0), "{}", end.detail.en());
    assert!(
        end.detail.en().starts_with("order_threads_busy on order-0 4"),
        "{}",
        end.detail.en()
    );
}

#[tokio::test]
async fn a_pool_that_stays_full_is_restarted_once_and_seen_idle() {
    let (end, restarts) = run(
        Span::millis(200),
        |_, restarts| if restarts > 0 { 2.0 } else { 50.0 },
    )
    .await;
    assert_eq!((end.state, restarts), (StepState::Done, 1), "{}", end.detail.en());
    assert!(end.detail.en().ends_with("restarted once"), "{}", end.detail.en());
}

#[tokio::test]
async fn a_pool_that_a_restart_does_not_help_is_a_leftover_after_one_restart() {
    let (end, restarts) = run(Span::millis(200), |_, _| 50.0).await;
    assert_eq!(
        (end.state, restarts),
        (StepState::Failed, 1),
        "{}",
        end.detail.en()
    );
    assert_eq!(end.leftovers[0].certainty, Certainty::Seen);
}

#[tokio::test]
async fn a_restart_that_an_earlier_keeper_asked_for_is_not_asked_for_again() {
    let (stand, restarts) = restartable().await;
    let environment = environment(&[("order", "order-0", &stand.address)]);
    let earlier = |ledger: &mut Ledger| {
        readings(restarts.clone(), |_, _| 50.0)(ledger);
        ledger.restarted.put(instance("order-0"), true);
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
        end.detail.en()
    );
    assert!(
        end.leftovers[0].why.en().contains("may not have been made"),
        "{}",
        end.detail.en()
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
        end.detail.en()
    );
    assert_eq!(end.leftovers[0].certainty, Certainty::Unknown);
}

fn two_orders(a: &str, b: &str) -> Environment {
    environment(&[("order", "order-0", a), ("order", "order-1", b)])
}

/// A fresh sample at each look, told apart by instance.
pub(super) fn by_instance(busy: impl Fn(&str) -> f64 + Send + Sync + 'static) -> impl FnOnce(&mut Ledger) {
    let looks = AtomicU64::new(0);
    move |ledger| {
        ledger.reading = Box::new(move |query| {
            let n = looks.fetch_add(1, Relaxed);
            Some(Reading {
                value: Ok(Level(busy(query.instance.as_ref().map_or("", |i| i.as_str())))),
                age: Span::ZERO,
                sampled: n as i64,
                partial: false,
            })
        });
    }
}

pub(super) async fn pools_of(
    environment: Environment,
    book: Playbook,
    change: impl FnOnce(&mut Ledger),
) -> StepEnd {
    let stage = stage_with(environment, book, change, Secrets::none(), SHORT);
    super::super::pools(&stage.scene).await
}

#[tokio::test]
async fn only_the_instance_that_is_stuck_is_restarted() {
    let ((idle, idle_restarts), (full, full_restarts)) = (restartable().await, restartable().await);
    let restarts = full_restarts.clone();
    let busy = by_instance(move |instance| match instance {
        "order-1" if restarts.load(Relaxed) == 0 => 50.0,
        _ => 1.0,
    });
    let end = pools_of(
        two_orders(&idle.address, &full.address),
        playbook(Span::millis(200)),
        busy,
    )
    .await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert_eq!((idle_restarts.load(Relaxed), full_restarts.load(Relaxed)), (0, 1));
    assert!(
        end.detail
            .en()
            .contains("order_threads_busy on order-1 50 → 1, restarted once"),
        "{}",
        end.detail.en()
    );
}

#[tokio::test]
async fn two_pools_of_one_instance_restart_it_once() {
    let (stand, restarts) = restartable().await;
    let environment = environment(&[("order", "order-0", &stand.address)]);
    let mut book = playbook(Span::millis(200));
    let mut other = book.pools[0].clone();
    other.metric = MetricId::new("order_db_busy").unwrap();
    book.pools.push(other);
    // It takes a few looks to come back, so that the other pool is seen to be stuck as well.
    let (seen, looks) = (restarts.clone(), AtomicU64::new(0));
    let busy = by_instance(move |_| match seen.load(Relaxed) {
        0 => 50.0,
        _ if looks.fetch_add(1, Relaxed) < 8 => 50.0,
        _ => 1.0,
    });
    let end = pools_of(environment, book, busy).await;
    assert_eq!(
        (end.state, restarts.load(Relaxed)),
        (StepState::Done, 1),
        "{}",
        end.detail.en()
    );
    assert!(
        end.detail.en().contains("restarted before"),
        "{}",
        end.detail.en()
    );
}

#[tokio::test]
async fn what_the_scrape_itself_holds_is_not_counted() {
    let mut book = playbook(Span::millis(150));
    book.pools[0].idle_at_most = 0.0;
    let one = || by_instance(|_| 1.0);
    let place = || environment(&[("order", "order-0", "127.0.0.1:9")]);
    assert_eq!(
        pools_of(place(), book.clone(), one()).await.state,
        StepState::Failed
    );
    book.pools[0].scrape_holds = 1.0;
    let end = pools_of(place(), book, one()).await;
    assert_eq!(
        (end.state, end.detail.en()),
        (StepState::Nothing, "order_threads_busy on order-0 0")
    );
}

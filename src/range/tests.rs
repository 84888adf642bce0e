use std::time::Duration;

use super::balancer::{Admin, Backend};
use super::breaker::{Breaker, BreakerState, Tuning};
use super::dice::Dice;
use super::meters::Meters;
use super::pool::{Drain, Exhausted, Pool};

const QUICK: Duration = Duration::from_millis(20);

/// Makes `calls` calls of which the first `failed` fail.
fn calls(breaker: &Breaker, calls: usize, failed: usize, took: Duration) {
    for n in 0..calls {
        breaker.permit().expect("let through").record(n >= failed, took);
    }
}

async fn opened(tuning: Tuning) -> Breaker {
    let breaker = Breaker::new(tuning);
    calls(&breaker, 100, 50, QUICK);
    assert_eq!(breaker.state(), BreakerState::Open);
    breaker
}

#[tokio::test(start_paused = true)]
async fn a_breaker_opens_at_its_threshold_and_not_below() {
    let breaker = Breaker::new(Tuning::Sound);
    calls(&breaker, 100, 49, QUICK);
    assert_eq!(breaker.state(), BreakerState::Closed);
    assert_eq!(breaker.reading().failure_rate, 49.0);
    let slow = Breaker::new(Tuning::Sound);
    calls(&slow, 100, 0, Duration::from_secs(1));
    assert_eq!(slow.state(), BreakerState::Open);
    drop(opened(Tuning::Sound).await);
}

#[tokio::test(start_paused = true)]
async fn half_open_lets_five_through_and_their_answers_decide() {
    let breaker = opened(Tuning::Sound).await;
    assert!(breaker.permit().is_err());
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    let trials: Vec<_> = (0..5).map(|_| breaker.permit().expect("a trial")).collect();
    assert!(breaker.permit().is_err());
    drop(trials);
    assert!(breaker.permit().is_ok(), "an abandoned trial is given back");
    calls(&breaker, 5, 3, QUICK);
    assert_eq!(breaker.state(), BreakerState::Open);
    tokio::time::advance(Duration::from_secs(2)).await;
    calls(&breaker, 5, 0, QUICK);
    assert_eq!(breaker.state(), BreakerState::Closed);
    assert_eq!(breaker.reading().buffered, 0);
    assert_eq!(breaker.reading().not_permitted, 2);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_not_counted_in_a_later_state() {
    let breaker = Breaker::new(Tuning::Sound);
    let late = breaker.permit().expect("let through");
    calls(&breaker, 100, 50, QUICK);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    late.record(false, QUICK);
    assert_eq!(breaker.reading().buffered, 0);
}

#[tokio::test(start_paused = true)]
async fn by_hand_means_that_no_wait_ends_the_open_state() {
    let breaker = opened(Tuning::Sticky).await;
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(breaker.state(), BreakerState::Open);
    assert_eq!(breaker.half_open(), Ok(()));
    assert_eq!(breaker.half_open(), Err(BreakerState::HalfOpen));
    breaker.force_open();
    assert!(breaker.permit().is_err());
    assert_eq!(breaker.half_open(), Err(BreakerState::ForcedOpen));
    breaker.disable();
    calls(&breaker, 300, 300, QUICK);
    assert_eq!(breaker.state(), BreakerState::Disabled);
    breaker.close();
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_full_pool_lets_callers_wait_only_so_long_and_so_many() {
    let pool = Pool::new(1, 1, Drain::AtOnce);
    let held = pool.acquire(QUICK).await.expect("free");
    assert_eq!(pool.acquire(QUICK).await.err(), Some(Exhausted));
    assert_eq!(pool.waiting(), 0);
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { pool.acquire(Duration::from_secs(1)).await.is_ok() }
    });
    tokio::task::yield_now().await;
    assert_eq!((pool.busy(), pool.waiting()), (1, 1));
    assert_eq!(
        pool.acquire(QUICK).await.err(),
        Some(Exhausted),
        "the queue is full"
    );
    drop(held);
    assert!(waiting.await.expect("no panic"));
    assert_eq!((pool.busy(), pool.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_slow_drain_keeps_the_thread_of_a_long_call_until_it_is_freed() {
    let pool = Pool::new(3, 1, Drain::Slow);
    drop(pool.acquire(QUICK).await.expect("free"));
    assert_eq!(pool.busy(), 0, "a short call");
    let long = (
        pool.acquire(QUICK).await.expect("free"),
        pool.acquire(QUICK).await.expect("free"),
    );
    tokio::time::advance(Duration::from_millis(250)).await;
    drop(long);
    assert_eq!(pool.busy(), 2);
    pool.free_one_stuck();
    assert_eq!(pool.busy(), 1);
    pool.free_stuck();
    assert_eq!(pool.busy(), 0);
}

#[tokio::test]
async fn marked_traffic_goes_to_the_isolated_server_as_far_as_its_weight_allows() {
    let dice = Dice::new(7);
    let backend = Backend::new(
        1,
        "order",
        &[("order-0", 1), ("order-1", 2), ("order-2", 3)],
        false,
    );
    let counted = |marked| {
        let mut counts = [0; 3];
        for _ in 0..3000 {
            counts[backend.choose(marked, &dice).expect("a server").index] += 1;
        }
        counts
    };
    assert_eq!(counted(true), [3000, 0, 0]);
    assert_eq!(counted(false)[0], 0);
    backend.servers[0].set_weight(30);
    backend.servers[2].set_weight(300 / 4);
    let [isolated, one, two] = counted(true);
    assert!(
        (800..1000).contains(&isolated) && one > two && two > 700,
        "{isolated} {one} {two}"
    );
    backend.servers[0].set_admin(Admin::Drain);
    backend.servers[1].set_admin(Admin::Maint);
    assert_eq!(counted(true), [0, 0, 3000]);
    backend.servers[2].set_weight(0);
    assert!(backend.choose(false, &dice).is_none());
}

#[test]
fn the_same_seed_throws_the_same_dice() {
    let throw = |seed| {
        let dice = Dice::new(seed).branch(3);
        (0..50).map(|_| dice.below(1000)).collect::<Vec<_>>()
    };
    assert_eq!(throw(1), throw(1));
    assert_ne!(throw(1), throw(2));
    let dice = Dice::new(1);
    let mean = (0..20_000)
        .map(|_| dice.latency(10.0, 0.3).as_secs_f64())
        .sum::<f64>()
        / 20_000.0;
    // The mean of a lognormal is its median times exp(sigma²/2).
    assert!((mean - 0.01046).abs() < 0.0002, "{mean}");
    assert_eq!(dice.below(0), 0);
}

#[test]
fn metrics_are_prometheus_text() {
    let meters = Meters::new("order", "order-0");
    meters
        .counter("requests_total", "Requests.", &[("code", "2\"0\\0\n")])
        .add(3);
    meters.gauge("busy", "Busy.", &[], || 1.5);
    let seconds = meters.histogram("seconds", "Time.", &[]);
    for us in [900, 1000, 1001, 20_000_000] {
        seconds.observe(Duration::from_micros(us));
    }
    let text = meters.render();
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| {
            !line.contains("_bucket")
                || ["\"0.001\"", "\"0.002\"", "\"10\"", "+Inf"]
                    .iter()
                    .any(|le| line.contains(le))
        })
        .collect();
    insta::assert_snapshot!(kept.join("\n"));
}

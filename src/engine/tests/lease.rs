//! What an engine makes of its environment's lease.

use super::*;
use crate::{
    drivers::{
        error::DriverError,
        lease::Hold,
        redis::testing::{RedisPart, redis_server},
        testing::until,
    },
    model::{
        drill::Start,
        lease::{Held, Holder, LASTS, LeasePlace},
        testing::step,
    },
};

const KEY: &str = "allclear:lease:here";

fn theirs() -> Result<Hold, DriverError> {
    Ok(Hold::Other(Held {
        by: Holder::read(r#"{"run": "beef01", "who": "ben", "host": "ops-2"}"#),
        left: Some(Span::seconds(42)),
    }))
}

fn down() -> Result<Hold, DriverError> {
    Err(DriverError::Unreachable {
        what: "Redis main".into(),
        why: "refused".into(),
    })
}

/// At the end of its baseline, with the lease asked for so long ago.
fn baseline(ago: Span) -> Stage {
    let mut stage = before_arming_of(breaking());
    let now = stage.engine.clock.now();
    stage.engine.lease_taken(Moment(now.0.saturating_sub(ago.0)));
    stage
}

/// Whose one step breaks something.
fn breaking() -> Plan {
    let mut plan = plan(environment(&[("order", "order-0", "h0:1")]), nothing_to_do());
    plan.drill.steps.push(step("delay", 600, Start::InOrder, true));
    plan
}

/// While its first step goes on.
async fn running(ago: Span) -> Stage {
    let mut stage = baseline(Span::ZERO);
    stage.engine.was_read_again(1, Again::AsBefore).await;
    stage.engine.feed(Input::DeadmanReady);
    assert_eq!(stage.engine.machine.phase(), Phase::Running);
    let now = stage.engine.clock.now();
    stage.engine.lease_taken(Moment(now.0.saturating_sub(ago.0)));
    stage
}

fn warnings(stage: &mut Stage) -> Vec<String> {
    let mut told = Vec::new();
    while let Ok(event) = stage.events.try_recv() {
        if let Body::Warning(what) = event.body {
            told.push(what.en().to_owned());
        }
    }
    told
}

#[tokio::test]
async fn another_run_that_holds_it_before_the_first_fault_refuses_this_one() {
    let mut stage = baseline(Span::ZERO);
    let now = stage.engine.clock.now();
    stage.engine.lease_looked_at(now, theirs());
    assert_eq!(stage.engine.machine.phase(), Phase::Closed);
    let reasons = stage.engine.effects.iter().find_map(|effect| match effect {
        Effect::Emit(Body::Refused { reasons }) => Some(reasons[0].en()),
        _ => None,
    });
    assert_eq!(
        reasons,
        Some(
            "the environment's lease is held by run beef01 (ben on ops-2); it lasts 42s more unless it is renewed"
        )
    );
}

#[tokio::test]
async fn another_run_that_holds_it_while_a_fault_is_live_makes_this_one_recover() {
    let mut stage = running(Span::ZERO).await;
    let now = stage.engine.clock.now();
    stage.engine.lease_looked_at(now, theirs());
    assert_eq!(stage.engine.machine.phase(), Phase::Recovering);
    let cause = stage.engine.machine.cause().unwrap().said();
    assert!(
        cause
            .en()
            .starts_with("lease lost: held by run beef01 (ben on ops-2)"),
        "{cause:?}"
    );
}

#[tokio::test]
async fn a_lease_that_may_have_ended_blocks_arming_and_ends_what_is_live() {
    let short = LASTS.0 - 5_000;
    for (ago, lost) in [(short, false), (LASTS.0, true)] {
        let mut stage = baseline(Span::millis(ago));
        let now = stage.engine.clock.now();
        stage.engine.lease_looked_at(now, down());
        stage.engine.was_read_again(1, Again::AsBefore).await;
        let phase = if lost { Phase::Baseline } else { Phase::Armed };
        assert_eq!(stage.engine.machine.phase(), phase);
        let blocked = stage.engine.effects.iter().any(|effect| {
            matches!(effect, Effect::Emit(Body::CannotArm { reasons })
                if reasons[0].en().contains("not renewed for 1m") && reasons[0].en().contains("Redis main"))
        });
        assert_eq!(blocked, lost);

        let mut stage = running(Span::millis(ago)).await;
        stage.engine.tick();
        let phase = if lost { Phase::Recovering } else { Phase::Running };
        assert_eq!(stage.engine.machine.phase(), phase);
    }
}

#[tokio::test]
async fn a_lease_that_fails_or_vanished_is_told_before_recovery_and_only_logged_in_it() {
    let mut stage = running(Span::ZERO).await;
    let now = stage.engine.clock.now();
    warnings(&mut stage);
    for hold in [down(), down(), Ok(Hold::Taken), Ok(Hold::Renewed)] {
        stage.engine.lease_looked_at(now, hold);
    }
    let told = warnings(&mut stage);
    assert!(
        told.len() == 2 && told[0].contains("cannot be renewed") && told[1].contains("was gone"),
        "{told:?}"
    );
    stage.engine.feed(Input::Recover(lost()));
    for hold in [down(), Ok(Hold::Taken), theirs()] {
        stage.engine.lease_looked_at(now, hold);
    }
    assert_eq!(warnings(&mut stage), Vec::<String>::new());
    assert_eq!(stage.engine.machine.cause(), Some(&lost()));
}

/// A plan whose environment keeps its lease there.
fn kept_in(redis: &RedisPart) -> Plan {
    let mut plan = plan(environment(&[]), nothing_to_do());
    let main = ServerName::new("main").unwrap();
    plan.environment.redis.insert(main.clone(), redis.named());
    plan.environment.lease = Some(LeasePlace::Redis(main));
    plan
}

#[tokio::test]
async fn a_keeper_that_takes_over_goes_on_renewing_and_waits_for_nothing() {
    let redis = redis_server(&[]).await;
    let plan = kept_in(&redis);
    let before = Drivers::new(&plan, Secrets::none()).unwrap();
    let lease = before.lease_lasting(Span::seconds(20)).unwrap().unwrap();
    lease.hold().await.unwrap();
    let mut stage = stage(plan);
    redis.sleeps(true);
    stage.engine.take_over(Facts::default(), Vec::new(), lost());
    assert!(stage.engine.machine.cause().is_some() || stage.engine.machine.phase() == Phase::Closed);
    redis.sleeps(false);
    loop {
        if let Done::Lease { hold, .. } = stage.done.recv().await.unwrap() {
            assert_eq!(hold.unwrap(), Hold::Renewed);
            break;
        }
    }
    let left: u64 = redis::from_redis_value(redis.ask(&["PTTL", KEY]).await).unwrap();
    assert!(left > 30_000, "for another while: {left}");
}

#[tokio::test]
async fn a_run_that_is_over_gives_it_back_and_one_that_never_asked_for_it_asks_nobody() {
    let mut redis = redis_server(&[]).await;
    let mut stage = stage(kept_in(&redis));
    redis.ask(&["SET", KEY, r#"{"run": "7f3a"}"#]).await;
    stage.engine.give_lease_back().await;
    assert_eq!(redis.keys().await, [KEY], "it never asked for it");
    stage.engine.keep_lease();
    until("it is renewed", async || {
        matches!(
            stage.done.try_recv(),
            Ok(Done::Lease {
                hold: Ok(Hold::Renewed),
                ..
            })
        )
    })
    .await;
    stage.engine.tasks.shutdown().await;
    stage.engine.give_lease_back().await;
    assert!(redis.keys().await.is_empty());
    assert_eq!(warnings(&mut stage), Vec::<String>::new());
    let _folder = redis.kill();
    stage.engine.give_lease_back().await;
    let told = warnings(&mut stage);
    assert!(
        told.len() == 1 && told[0].contains("could not be given back, and ends by itself in 1m"),
        "{told:?}"
    );
}

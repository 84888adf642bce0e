//! The keeper dies after each change of a recovery, and another begins again from the journal.

use std::time::Duration;

use crate::{
    app::spring,
    engine::{Ready, ready},
    stage::{WAYS, plan, resilience4j, seen},
};
use allclear::{
    engine::Begin,
    journal::Facts,
    model::{
        event::{Body, Outcome},
        phase::Cause,
        plan::Plan,
        snapshot::{BaselineLevels, BreakerSeen, Snapshot},
        time::Span,
        undo::ChangeIntent,
    },
};

/// Takes over a run with this snapshot. The engine is dropped as it stands, requests and all, once it has intended
/// `changes`; none of its outcome then.
async fn take_over(plan: Plan, breakers: &[BreakerSeen], changes: usize) -> Option<Outcome> {
    let Ready {
        setup,
        mut events,
        asks: _asks,
        state: _state,
    } = ready(plan);
    let facts = Facts {
        snapshot: Some(Snapshot {
            breakers: breakers.to_vec(),
            ..Snapshot::default()
        }),
        baseline: Some(BaselineLevels::default()),
        // The recovery before this one had begun to change things.
        changes: vec![ChangeIntent::Breaker {
            instance: breakers[0].instance.clone(),
            name: breakers[0].name.clone(),
            to: "HALF_OPEN".to_owned(),
        }],
        ..Facts::default()
    };
    let engine = setup.run(Begin::TakeOver {
        facts: Box::new(facts),
        damage: Vec::new(),
        cause: Cause::Asked { by: "test".into() },
        pause: Span::ZERO,
    });
    let killed = async {
        let mut seen = 0;
        while let Some(event) = events.recv().await {
            seen += usize::from(matches!(event.body, Body::ChangeIntended(_)));
            if seen >= changes {
                return;
            }
        }
    };
    let outcome = async {
        tokio::select! {
            biased;
            () = killed => None,
            ended = engine => Some(ended.outcome),
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(150), outcome).await;
    ended.expect("a recovery ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_killed_after_each_change_ends_well_when_it_begins_again() {
    let app = spring().await;
    let _calls = app.calls(&["coupon", "stock"]);
    let before = [
        seen(0, "coupon", "CLOSED"),
        seen(1, "coupon", "CLOSED"),
        seen(0, "payment", "FORCED_OPEN"),
        seen(1, "payment", "DISABLED"),
    ];
    for way in WAYS {
        for number in [0, 1] {
            app.put(number, "coupon", "OPEN").await;
        }
        app.put(0, "payment", "FORCED_OPEN").await;
        app.put(1, "payment", "DISABLED").await;
        let plan = || {
            plan(
                &[app.address(0), app.address(1)],
                resilience4j(&["coupon", "payment"], way),
            )
        };
        for changes in 1..=2 {
            let outcome = take_over(plan(), &before, changes).await;
            if let Some(outcome) = outcome {
                // Nothing was left to be changed: the recovery before it had done it, or waits for calls.
                assert!(outcome.all_clear(), "{way}, {changes}: {outcome:?}");
            }
        }
        let outcome = take_over(plan(), &before, usize::MAX).await.expect("an outcome");
        assert!(outcome.all_clear(), "{way}: {outcome:?}");
        for number in [0, 1] {
            assert_eq!(app.state(number, "coupon").await, "CLOSED", "{way}");
        }
        assert_eq!(app.state(0, "payment").await, "FORCED_OPEN", "{way}");
        assert_eq!(app.state(1, "payment").await, "DISABLED", "{way}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_breaker_stays_open_is_not_all_clear() {
    let app = spring().await;
    app.put(0, "payment", "FORCED_OPEN").await;
    let plan = plan(&[app.address(0)], resilience4j(&["payment"], "app"));
    let outcome = take_over(plan, &[seen(0, "payment", "CLOSED")], usize::MAX).await;
    assert!(!outcome.expect("an outcome").all_clear());
}

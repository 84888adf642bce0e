//! Bad luck on one of two instances: the other is brought back, and this one is never called well before it is.

use allclear::{
    drivers::Patience,
    engine::recovery::{breakers_open, left_behind},
    model::{recovery::StepState, time::Span},
};

use crate::{
    app::{Lent, spring, spring_with_read_only, type_by_hand, until},
    parts_support::Staged,
    stage::{PATIENCE, WAYS, plan, resilience4j, seen},
};

const MOODS: [&str; 4] = ["SLOW", "FORBIDDEN", "BROKEN", "GARBAGE"];

/// For what never gets well meanwhile.
const SHORT: Patience = Patience {
    call: Span::millis(1500),
    step: Span::seconds(2),
    confirm: Span::seconds(4),
    ..PATIENCE
};

fn open_on_both(app: &Lent, way: &str, patience: Patience) -> Staged {
    let plan = plan(&[app.address(0), app.address(1)], resilience4j(&["coupon"], way));
    Staged::new(plan, patience).before(vec![seen(0, "coupon", "CLOSED"), seen(1, "coupon", "CLOSED")])
}

async fn opened(app: &Lent) {
    for number in [0, 1] {
        app.put(number, "coupon", "OPEN").await;
    }
}

/// Recovers, sees that order-0 alone is left over, lets its luck turn, and types what is said to be typed.
async fn is_named_and_the_command_helps(app: &Lent, stage: &Staged, case: &str, turn: impl AsyncFnOnce()) {
    let ended = stage.recover().await;
    assert_eq!(
        ended.opened.state,
        StepState::Failed,
        "{case}: {}",
        ended.opened.detail.en()
    );
    let what: Vec<&str> = ended.left.iter().map(|l| l.what.en()).collect();
    assert_eq!(what, ["breaker coupon on order-0 (state unknown)"], "{case}");
    assert_eq!(app.state(1, "coupon").await, "CLOSED", "{case}");
    turn().await;
    // Meanwhile its calls may have closed it: then there is nothing to half-open.
    if app.state(0, "coupon").await == "OPEN" {
        type_by_hand(ended.left[0].by_hand.as_deref().expect("a command")).await;
    }
    until(case, async || left_behind(&stage.scene).await.is_empty()).await;
    assert_eq!(app.state(0, "coupon").await, "CLOSED", "{case}");
}

#[tokio::test]
async fn an_instance_that_answers_late_badly_or_not_at_all_is_never_called_well() {
    let app = spring().await;
    let _calls = app.calls(&["coupon"]);
    for way in WAYS {
        for mood in MOODS {
            opened(&app).await;
            app.post(0, &format!("/scene/mood?is={mood}")).await;
            let stage = open_on_both(&app, way, SHORT);
            let turn = async || {
                app.post(0, "/scene/mood?is=WELL").await;
            };
            is_named_and_the_command_helps(&app, &stage, &format!("{mood}, via {way}"), turn).await;
        }
        opened(&app).await;
        let stopped = app.stopped(0);
        let stage = open_on_both(&app, way, SHORT);
        let turn = async || drop(stopped);
        is_named_and_the_command_helps(&app, &stage, &format!("stopped, via {way}"), turn).await;
    }
}

#[tokio::test]
async fn an_instance_that_is_down_is_never_called_well() {
    let app = spring().await;
    let _calls = app.calls(&["coupon"]);
    app.down(0).await;
    let mut stages = Vec::new();
    for way in WAYS {
        app.put(1, "coupon", "OPEN").await;
        let stage = open_on_both(&app, way, SHORT);
        let ended = stage.recover().await;
        let what: Vec<&str> = ended.left.iter().map(|l| l.what.en()).collect();
        assert_eq!(what, ["breaker coupon on order-0 (state unknown)"], "{way}");
        stages.push(stage);
    }
    app.up(0).await;
    for stage in stages {
        assert!(left_behind(&stage.scene).await.is_empty(), "it came back closed");
    }
}

#[tokio::test]
async fn an_instance_that_restarts_in_mid_step_is_read_as_it_is_afterwards() {
    let app = spring().await;
    let _calls = app.calls(&["coupon"]);
    let patient = Patience {
        step: Span::seconds(90),
        ..PATIENCE
    };
    for before in ["CLOSED", "FORCED_OPEN"] {
        app.put(0, "coupon", "OPEN").await;
        app.down(0).await;
        let plan = plan(&[app.address(0)], resilience4j(&["coupon"], "app"));
        let stage = Staged::new(plan, patient).before(vec![seen(0, "coupon", before)]);
        let (end, ()) = tokio::join!(breakers_open(&stage.scene), app.up(0));
        let left = left_behind(&stage.scene).await;
        if before == "CLOSED" {
            assert_eq!(
                (end.state, left.len()),
                (StepState::Nothing, 0),
                "{}",
                end.detail.en()
            );
            continue;
        }
        // A restart also opens what a person had forced open.
        assert_eq!(left[0].what.en(), "breaker coupon on order-0 (CLOSED)");
        type_by_hand(left[0].by_hand.as_deref().expect("a command")).await;
        assert_eq!(app.state(0, "coupon").await, "FORCED_OPEN");
        assert!(left_behind(&stage.scene).await.is_empty());
    }
}

#[tokio::test]
async fn an_actuator_that_may_only_be_read_by_now_closes_nothing_and_says_so() {
    let app = spring_with_read_only().await;
    app.put(2, "payment", "OPEN").await;
    let read_only = plan(&[app.address(2)], resilience4j(&["payment"], "close"));
    let stage = Staged::new(read_only, SHORT).before(vec![seen(0, "payment", "CLOSED")]);
    let ended = stage.recover().await;
    assert_eq!(ended.opened.state, StepState::Failed);
    assert!(
        ended.opened.leftovers[0].why.en().contains("404"),
        "{}",
        ended.opened.leftovers[0].why.en()
    );
    assert_eq!(ended.left[0].what.en(), "breaker payment on order-0 (OPEN)");
    // Through the app it needs no actuator that writes.
    let by_app = plan(&[app.address(2)], resilience4j(&["payment"], "app"));
    let stage = Staged::new(by_app, SHORT).before(vec![seen(0, "payment", "CLOSED")]);
    assert_eq!(breakers_open(&stage.scene).await.state, StepState::Done);
    assert_eq!(app.state(2, "payment").await, "HALF_OPEN");
}

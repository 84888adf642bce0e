//! Every state before the drill, every state after it, every way back.

use allclear::engine::recovery::left_behind;

use crate::{
    app::{spring, type_by_hand, until},
    parts_support::Staged,
    stage::{PATIENCE, plan, resilience4j, seen},
};

const STATES: [&str; 6] = [
    "CLOSED",
    "OPEN",
    "HALF_OPEN",
    "FORCED_OPEN",
    "DISABLED",
    "METRICS_ONLY",
];

/// What may be called as before.
fn as_before(before: &str, now: &str) -> bool {
    match before {
        "CLOSED" => now == "CLOSED",
        "HALF_OPEN" => ["CLOSED", "HALF_OPEN"].contains(&now),
        "OPEN" => ["CLOSED", "HALF_OPEN", "OPEN"].contains(&now),
        held => now == held,
    }
}

async fn every_state(way: &str) {
    let app = spring().await;
    let _calls = app.calls(&["coupon"]);
    for before in STATES {
        for found in STATES {
            let case = format!("via {way}: {before} before, {found} after the fault");
            app.put(0, "coupon", found).await;
            let plan = plan(&[app.address(0)], resilience4j(&["coupon"], way));
            let stage = Staged::new(plan, PATIENCE).before(vec![seen(0, "coupon", before)]);
            let ended = stage.recover().await;
            let now = app.state(0, "coupon").await;
            assert_eq!(
                ended.left.is_empty(),
                as_before(before, &now),
                "{case}: {now} {:?}",
                ended.left
            );
            if before == found && !["CLOSED", "HALF_OPEN"].contains(&before) {
                assert!(stage.intents().is_empty(), "{case}");
                assert!(now == found || found == "OPEN", "{case}: {now}");
            }
            // What the drill did to a breaker that calls went through is undone in every way.
            if ["CLOSED", "HALF_OPEN"].contains(&before) && ["OPEN", "HALF_OPEN"].contains(&found) {
                assert!(ended.left.is_empty(), "{case}: {:?}", ended.left);
            }
            for left in &ended.left {
                // Calls may have closed it since.
                let named = left.what.en().strip_prefix("breaker coupon on order-0 (");
                let named = named.and_then(|rest| rest.strip_suffix(')')).expect("its state");
                let moved_on = named == "HALF_OPEN" && now == "CLOSED";
                assert!(named == now || moved_on, "{case}: {named}, and then {now}");
                assert!(!as_before(before, named), "{case}: {named}");
                match &left.by_hand {
                    Some(command) => {
                        type_by_hand(command).await;
                        until(&case, async || left_behind(&stage.scene).await.is_empty()).await;
                    }
                    // The actuator has no word that sets these.
                    None => assert!(["OPEN", "METRICS_ONLY"].contains(&before), "{case}"),
                }
            }
        }
    }
}

#[tokio::test]
async fn through_the_app_every_state_is_brought_back_kept_or_named() {
    every_state("app").await;
}

#[tokio::test]
async fn by_closing_every_state_is_brought_back_kept_or_named() {
    every_state("close").await;
}

#[tokio::test]
async fn by_waiting_every_state_is_brought_back_kept_or_named() {
    every_state("wait").await;
}

#[tokio::test]
async fn by_probing_every_state_is_brought_back_kept_or_named() {
    every_state("probe").await;
}

#[tokio::test]
async fn probe_calls_close_what_no_other_call_tries() {
    let app = spring().await;
    // One waits for a call to half-open it, the other half-opens by itself; both wait for calls to close them.
    for number in [0, 1] {
        app.put(number, "coupon", "OPEN").await;
        app.put(number, "stock", "OPEN").await;
    }
    let plan = plan(
        &[app.address(0), app.address(1)],
        resilience4j(&["coupon", "stock"], "probe"),
    );
    let before = [0, 1].map(|number| [seen(number, "coupon", "CLOSED"), seen(number, "stock", "CLOSED")]);
    let stage = Staged::new(plan, PATIENCE).before(before.concat());
    let ended = stage.recover().await;
    assert_eq!(ended.opened.detail.en(), "4 of 4 brought back");
    assert!(ended.left.is_empty(), "{:?}", ended.left);
    assert_eq!(stage.intents().len(), 4, "written down once each");
}

#[tokio::test]
async fn probe_calls_that_fail_leave_a_breaker_that_is_named() {
    let app = spring().await;
    app.fails(0, "coupon", true).await;
    app.put(0, "coupon", "OPEN").await;
    let plan = plan(&[app.address(0)], resilience4j(&["coupon"], "probe"));
    let stage = Staged::new(plan, PATIENCE).before(vec![seen(0, "coupon", "CLOSED")]);
    let ended = stage.recover().await;
    assert_eq!(ended.left.len(), 1);
    assert_ne!(app.state(0, "coupon").await, "CLOSED");
}

#[tokio::test]
async fn a_half_open_breaker_that_nobody_calls_is_not_called_closed() {
    let app = spring().await;
    for way in ["app", "wait"] {
        app.put(0, "payment", "OPEN").await;
        let plan = plan(&[app.address(0)], resilience4j(&["payment"], way));
        let stage = Staged::new(plan, PATIENCE).before(vec![seen(0, "payment", "CLOSED")]);
        let left = stage.recover().await.left;
        assert_eq!(left.len(), 1, "{way}");
        type_by_hand(left[0].by_hand.as_deref().expect("a command")).await;
        let after_hand = app.state(0, "payment").await;
        assert_eq!(after_hand, "CLOSED", "{way}");
    }
}

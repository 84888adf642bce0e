//! What is read and proved before a drill: nothing moves, and what could not be put back is refused.

use allclear::model::text::Lang;
use serde_json::Value;

use crate::{
    app::{spring, spring_not_exposed, spring_with_read_only},
    parts_support::Staged,
    stage::{PATIENCE, WAYS, checks, plan, refused, resilience4j},
};

#[tokio::test]
async fn a_misspelt_name_is_refused_with_the_nearest_one_and_nothing_is_created() {
    let app = spring().await;
    let before = app.breakers(0).await;
    for way in WAYS {
        let plan = plan(
            &[app.address(0), app.address(1)],
            resilience4j(&["coupon", "stok"], way),
        );
        let checks = checks(plan).await;
        let refused = refused(&checks);
        assert_eq!(refused.len(), 2, "{way}: one an instance");
        assert!(
            refused[0].found.en().contains("did you mean `stock`?"),
            "{way}: {}",
            refused[0].found.en()
        );
    }
    assert_eq!(app.breakers(0).await, before);
}

#[tokio::test]
async fn nothing_moves_and_no_window_is_wiped_before_the_drill() {
    let app = spring().await;
    for _ in 0..4 {
        app.get(0, "/call/coupon").await;
    }
    app.put(0, "stock", "FORCED_OPEN").await;
    let before = app.breakers(0).await;
    for way in ["app", "close", "wait"] {
        let plan = plan(&[app.address(0)], resilience4j(&["coupon", "stock"], way));
        Staged::new(plan, PATIENCE).ready().await;
        assert_eq!(app.breakers(0).await, before, "{way}");
    }
    // A probe is a call: one, and only through a breaker that is closed.
    let plan = plan(&[app.address(0)], resilience4j(&["coupon", "stock"], "probe"));
    Staged::new(plan, PATIENCE).ready().await;
    let after = app.breakers(0).await;
    let window = |breakers: &Value| breakers["coupon"]["bufferedCalls"].as_u64().expect("a number");
    assert_eq!(window(&after), window(&before) + 1);
    assert_eq!(after["stock"], before["stock"]);
}

#[tokio::test]
async fn a_closed_breaker_keeps_its_window_through_a_recovery() {
    let app = spring().await;
    for _ in 0..4 {
        app.get(0, "/call/coupon").await;
    }
    for way in WAYS {
        let plan = plan(&[app.address(0)], resilience4j(&["coupon"], way));
        let stage = Staged::new(plan, PATIENCE).before(vec![crate::stage::seen(0, "coupon", "CLOSED")]);
        let ended = stage.recover().await;
        assert!(ended.left.is_empty() && stage.intents().is_empty(), "{way}");
    }
    assert_eq!(app.breakers(0).await["coupon"]["bufferedCalls"], 4);
}

#[tokio::test]
async fn what_closing_gives_up_is_said() {
    let app = spring().await;
    let plan = plan(&[app.address(0)], resilience4j(&["coupon"], "close"));
    let checks = checks(plan).await;
    let said: Vec<&str> = checks.iter().map(|c| c.found.en()).collect();
    assert!(
        said.iter().any(|s| s.contains("gives up a breaker's window")),
        "{said:?}"
    );
}

#[tokio::test]
async fn an_actuator_that_may_only_be_read_refuses_what_would_close_by_it_and_nothing_else() {
    let app = spring_with_read_only().await;
    let read_only = [app.address(2)];
    let before = app.breakers(2).await;
    let by_actuator = checks(plan(&read_only, resilience4j(&["coupon"], "close"))).await;
    let refused_ones = refused(&by_actuator);
    assert_eq!(refused_ones.len(), 1);
    assert!(
        refused_ones[0].found.en().contains("access is not unrestricted"),
        "{}",
        refused_ones[0].found.en()
    );
    for way in ["app", "wait", "probe"] {
        let checks = checks(plan(&read_only, resilience4j(&["coupon"], way))).await;
        assert!(refused(&checks).is_empty(), "{way}: {checks:?}");
    }
    assert_eq!(app.breakers(2).await["payment"], before["payment"]);
}

#[tokio::test]
async fn an_actuator_that_does_not_expose_the_breakers_is_refused_by_name_with_what_to_do() {
    let app = spring_not_exposed().await;
    let (status, text) = app.get(3, "/actuator/circuitbreakers").await;
    assert_eq!(status, 404, "{text}");
    for way in WAYS {
        let checks = checks(plan(&[app.address(3)], resilience4j(&["coupon"], way))).await;
        let refused = refused(&checks);
        assert_eq!(refused.len(), 1, "{way}: {checks:?}");
        assert_eq!(refused[0].what.en(), "breakers coupon on order-0");
        let found = refused[0].found.en();
        let asked = format!("{}/actuator/circuitbreakers", app.address(3));
        assert!(found.contains(&asked) && found.contains("404"), "{way}: {found}");
        let next = refused[0].next.as_ref().expect("what to do");
        for lang in [Lang::En, Lang::Zh] {
            let next = next.get(lang);
            let option = "management.endpoints.web.exposure.include";
            assert!(
                next.contains(option) && next.contains("`circuitbreakers`"),
                "{next}"
            );
        }
    }
}

#[tokio::test]
async fn an_endpoint_that_the_service_does_not_have_is_refused() {
    let app = spring().await;
    let mut entry = resilience4j(&["coupon"], "app");
    entry["resilience4j"]["via"]["app"]["url"] = "http://{instance}/app/braekers/{name}/half-open".into();
    let checks = checks(plan(&[app.address(0)], entry)).await;
    assert_eq!(refused(&checks).len(), 1, "{checks:?}");
}

#[tokio::test]
async fn the_half_open_endpoint_moves_an_open_breaker_and_nothing_else() {
    let app = spring().await;
    let half_open = "/app/breakers/payment/half-open";
    for state in ["CLOSED", "HALF_OPEN", "FORCED_OPEN", "DISABLED", "METRICS_ONLY"] {
        app.put(0, "payment", state).await;
        assert_eq!(app.post(0, half_open).await, (409, state.to_owned()));
        assert_eq!(app.state(0, "payment").await, state);
    }
    app.put(0, "payment", "OPEN").await;
    assert_eq!(app.post(0, half_open).await.0, 204);
    assert_eq!(app.state(0, "payment").await, "HALF_OPEN");
    assert_eq!(app.get(0, half_open).await.0, 405);
    assert_eq!(app.post(0, "/app/breakers/nobody/half-open").await.0, 404);
    assert!(app.breakers(0).await["nobody"].is_null());
}

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;

const MARKED: [(&str, &str); 1] = [("x-drill", "coupon-slow")];

fn rule(body: Value) -> Rule {
    let id = body["id"].as_str().unwrap_or("r1").to_owned();
    Rule::from_json(&id, body).expect("a good rule")
}

fn slow(extra: Value) -> Rule {
    let mut body = json!({"run": "7f3a", "point": "coupon.query", "ttl_ms": 60_000,
        "fault": {"exception": {"class": "Timeout"}}, "header": {"X-Drill": "coupon-slow"}});
    for (key, value) in extra.as_object().expect("an object") {
        body[key] = value.clone();
    }
    rule(body)
}

fn state(points: &Points) -> RuleState {
    points.rules().remove(0)
}

#[tokio::test]
async fn only_a_marked_call_at_the_point_of_the_named_instance_is_hit() {
    let points = Points::new("order", "order-0");
    assert!(points.check("coupon.query", &MARKED).is_none(), "no rule");
    points.put(slow(json!({"instance": "order-0"}))).unwrap();
    assert!(points.check("coupon.query", &MARKED).is_some());
    assert!(points.check("coupon.query", &[("x-drill", "other")]).is_none());
    assert!(points.check("coupon.query", &()).is_none());
    assert!(points.check("inventory.query", &MARKED).is_none());
    let seen = state(&points);
    assert_eq!((seen.hits, seen.misses, seen.held), (1, 2, 0));

    let other = Points::new("order", "order-1");
    other.put(slow(json!({"instance": "order-0"}))).unwrap();
    assert!(
        other.check("coupon.query", &MARKED).is_none(),
        "another instance's rule"
    );
    assert_eq!(state(&other).misses, 1);
}

#[tokio::test]
async fn a_mark_is_found_among_http_headers_whatever_the_case_of_its_name() {
    let points = Points::new("order", "order-0");
    points.put(slow(json!({}))).unwrap();
    let call = |name: &'static str, value: &'static str| {
        let header = (
            axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
            axum::http::HeaderValue::from_static(value),
        );
        points
            .check("coupon.query", &axum::http::HeaderMap::from_iter([header]))
            .is_some()
    };
    assert!(call("X-DRILL", "coupon-slow"));
    assert!(!call("x-drill", "coupon-slow-2"));
    assert!(!call("x-drill-2", "coupon-slow"));
}

#[tokio::test]
async fn a_share_of_the_calls_is_hit() {
    let points = Points::new("order", "order-0");
    points.put(slow(json!({"percent": 20.0}))).unwrap();
    let hits = (0..10_000)
        .filter(|_| points.check("coupon.query", &MARKED).is_some())
        .count();
    assert!((1800..2200).contains(&hits), "{hits} of 10000");
}

#[tokio::test]
async fn calls_beyond_the_cap_pass_and_are_counted() {
    let points = Points::new("order", "order-0");
    points.put(slow(json!({"max_concurrent": 2}))).unwrap();
    let held: Vec<_> = (0..5)
        .filter_map(|_| points.check("coupon.query", &MARKED))
        .collect();
    let seen = state(&points);
    assert_eq!((held.len(), seen.hits, seen.capped, seen.held), (2, 2, 3, 2));
    drop(held);
    assert_eq!(state(&points).held, 0);
    assert!(points.check("coupon.query", &MARKED).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_rule_ends_at_its_ttl_with_nobody_looking() {
    let points = Points::new("order", "order-0");
    points
        .put(slow(json!({"ttl_ms": 1000, "fault": {"memory": {"mib": 1}}})))
        .unwrap();
    assert_eq!(points.ballast_bytes(), 1024 * 1024);
    drop(points.check("coupon.query", &MARKED));
    tokio::time::sleep(Duration::from_millis(1001)).await;
    tokio::task::yield_now().await;
    assert_eq!(points.rules().len(), 0);
    assert_eq!(points.ballast_bytes(), 0);
    assert!(points.check("coupon.query", &MARKED).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_delayed_call_goes_on_when_its_rule_is_deleted() {
    let points = Points::new("order", "order-0");
    points
        .put(slow(json!({"fault": {"delay": {"mean_ms": 10_000}}})))
        .unwrap();
    let caller = points.clone();
    let begun = Instant::now();
    let call = tokio::spawn(async move { caller.pass("coupon.query", &MARKED).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(state(&points).held, 1);
    assert_eq!(points.delete_run(&RunId::try_from("7f3a".to_owned()).unwrap()), 1);
    assert_eq!(call.await.unwrap(), Outcome::Proceed);
    assert!(begun.elapsed() < Duration::from_millis(200));
}

#[tokio::test(start_paused = true)]
async fn a_delay_stays_inside_its_jitter_and_a_window_bounds_the_hits() {
    let points = Points::new("order", "order-0");
    let fault = json!({"delay": {"mean_ms": 2000, "jitter_ms": 500}});
    points
        .put(slow(json!({"fault": fault, "window_ms": 30_000})))
        .unwrap();
    for _ in 0..10 {
        let begun = Instant::now();
        assert_eq!(points.pass("coupon.query", &MARKED).await, Outcome::Proceed);
        let took = begun.elapsed().as_millis();
        assert!((1499..=2502).contains(&took), "{took} ms");
    }
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert!(
        points.check("coupon.query", &MARKED).is_none(),
        "after its window"
    );
}

#[tokio::test]
async fn a_tampered_value_that_is_missing_counts_as_failed() {
    let points = Points::new("inventory", "inventory-0");
    points
        .put(slow(json!({"fault": {"tamper": {"/stock": -1}}})))
        .unwrap();
    let Outcome::Tamper(tamper) = points.pass("coupon.query", &MARKED).await else {
        panic!("not tampered")
    };
    let mut answer = json!({"stock": 12, "sku": "a"});
    assert!(tamper.apply(&mut answer));
    assert_eq!(answer, json!({"stock": -1, "sku": "a"}));
    assert!(!tamper.apply(&mut json!({"sku": "a"})));
    assert_eq!(state(&points).failed, 1);
}

#[tokio::test]
async fn the_same_rule_again_changes_nothing_and_another_content_is_refused() {
    let points = Points::with_points("order", "order-0", &["coupon.query", "inventory.query"]);
    assert_eq!(points.put(slow(json!({}))), Ok(Placed::Created));
    assert_eq!(points.put(slow(json!({}))), Ok(Placed::Unchanged));
    assert!(matches!(
        points.put(slow(json!({"percent": 5}))),
        Err(Refused::OtherContent(_))
    ));
    let unknown = points
        .put(slow(json!({"id": "r2", "point": "coupon.qeury"})))
        .unwrap_err();
    insta::assert_snapshot!(unknown, @"order has no injection point `coupon.qeury`: did you mean `coupon.query`?");
}

#[test]
fn a_rule_that_makes_no_sense_is_refused_with_the_reason() {
    let good = json!({"run": "7f3a", "point": "p", "ttl_ms": 1000, "fault": "empty"});
    let reasons: Vec<String> = [
        json!({"ttl_ms": 0}),
        json!({"ttl_ms": 86_400_001_u64}),
        json!({"ttl_ms": null}),
        json!({"percent": 0}),
        json!({"percent": 101}),
        json!({"max_concurrent": 0}),
        json!({"fault": {"delay": {"mean_ms": 10, "jitter_ms": 20}}}),
        json!({"fault": "explode"}),
        json!({"fault": {"status": {"code": 99}}}),
        json!({"fault": {"tamper": {"stock": 1}}}),
        json!({"window_ms": 0}),
        json!({"run": "a b"}),
        json!({"id": "other"}),
        json!({"colour": 1}),
    ]
    .into_iter()
    .map(|wrong| {
        let mut body = good.clone();
        for (key, value) in wrong.as_object().unwrap() {
            body[key] = value.clone();
        }
        Rule::from_json("r1", body).expect_err("a wrong rule").to_string()
    })
    .collect();
    insta::assert_snapshot!(reasons.join("\n"));
}

proptest::proptest! {
    #[test]
    fn any_json_is_a_rule_or_an_error(id in ".{0,20}", text in "\\PC{0,80}", number in proptest::num::f64::ANY) {
        let body = json!({"run": text, "point": text, "percent": number, "ttl_ms": number, "fault": {"exception": {"class": text}}});
        let _ = Rule::from_json(&id, body);
        let _ = Rule::from_json(&id, Value::from(text));
    }

    #[test]
    fn a_rule_survives_its_own_json(mean in 1_u64..1000, percent in 0.001_f64..=100.0, ttl in 1_u64..86_400_000) {
        let rule = slow(json!({"fault": {"delay": {"mean_ms": mean}}, "percent": percent, "ttl_ms": ttl}));
        let again = Rule::from_json("r1", serde_json::to_value(&rule).unwrap()).unwrap();
        proptest::prop_assert_eq!(rule, again);
    }
}

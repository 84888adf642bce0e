//! Breakers, through Spring Boot's actuator.

use serde_json::{Value, json};

use crate::range_support::{Shop, answer};

#[tokio::test(flavor = "multi_thread")]
async fn the_actuator_answers_with_all_its_traps() {
    let shop = Shop::open(&[]).await;
    let breakers = "/actuator/circuitbreakers";
    let coupon = "/actuator/circuitbreakers/coupon";
    let (status, list) = shop.get("order-1", breakers).await;
    assert_eq!(
        (status, &list["circuitBreakers"]["coupon"]["state"]),
        (200, &json!("CLOSED"))
    );
    assert_eq!(
        list["circuitBreakers"].as_object().map(serde_json::Map::len),
        Some(1)
    );

    let (status, said) = shop
        .post("order-1", coupon, json!({"updateState": "FORCE_OPEN"}))
        .await;
    assert_eq!(
        (status, said),
        (
            200,
            json!({"circuitBreakerName": "coupon", "currentState": "FORCED_OPEN",
                "message": "coupon state has been changed successfully"})
        )
    );
    for (update, after) in [("DISABLE", "DISABLED"), ("CLOSE", "CLOSED")] {
        let (status, said) = shop.post("order-1", coupon, json!({"updateState": update})).await;
        assert_eq!((status, &said["currentState"]), (200, &json!(after)));
    }
    for junk in [
        json!({"updateState": "HALF_OPEN"}),
        json!({"updateState": "OPEN"}),
        json!({}),
        json!(3),
    ] {
        assert_eq!(shop.post("order-1", coupon, junk).await.0, 400);
    }
    let plain = shop
        .http
        .post(shop.url("order-1", coupon))
        .body(r#"{"updateState":"CLOSE"}"#);
    assert_eq!(answer(plain).await.0, 415);
    assert_eq!(shop.get("order-1", coupon).await.0, 405);

    let (status, said) = shop
        .post(
            "order-1",
            "/actuator/circuitbreakers/cuopon",
            json!({"updateState": "CLOSE"}),
        )
        .await;
    assert_eq!((status, &said["currentState"]), (200, &json!("CLOSED")));
    let (_, list) = shop.get("order-1", breakers).await;
    assert_eq!(
        list["circuitBreakers"].as_object().map(serde_json::Map::len),
        Some(2),
        "a breaker by misspelling"
    );

    assert_eq!(
        shop.post("order-1", "/app/breakers/coupon/half-open", Value::Null)
            .await
            .0,
        409
    );
    assert_eq!(
        shop.post("order-1", "/app/breakers/none/half-open", Value::Null)
            .await
            .0,
        404
    );
    shop.range.shutdown().await;
}

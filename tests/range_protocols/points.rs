//! The injection-point API.

use std::time::Duration;

use serde_json::{Value, json};

use crate::range_support::{Shop, answer, until};

#[tokio::test(flavor = "multi_thread")]
async fn the_point_api_refuses_with_reasons_and_ends_rules_by_itself() {
    let shop = Shop::open(&[]).await;
    let rule = json!({"run": "t1", "point": "coupon.query", "fault": "empty", "ttl_ms": 1500,
        "header": {"x-drill": "coupon-slow"}});
    let with = |key: &str, value: Value| {
        let mut changed = rule.clone();
        changed[key] = value;
        changed
    };
    assert_eq!(shop.put("order-0", "/chaos/rules/a", rule.clone()).await.0, 201);
    assert_eq!(shop.put("order-0", "/chaos/rules/a", rule.clone()).await.0, 200);
    assert_eq!(
        shop.put("order-0", "/chaos/rules/a", with("percent", json!(5)))
            .await
            .0,
        409
    );
    let (status, said) = shop
        .put("order-0", "/chaos/rules/b", with("point", json!("coupon.qeury")))
        .await;
    assert_eq!(status, 404);
    assert!(
        said["error"]
            .as_str()
            .is_some_and(|said| said.contains("did you mean `coupon.query`?")),
        "{said}"
    );
    assert_eq!(
        shop.put("order-0", "/chaos/rules/b", with("ttl_ms", Value::Null))
            .await
            .0,
        422
    );
    assert_eq!(
        shop.put("order-0", "/chaos/rules/b", with("percent", json!(0)))
            .await
            .0,
        422
    );
    let broken = shop.http.put(shop.url("order-0", "/chaos/rules/b")).body("{");
    assert_eq!(answer(broken).await.0, 400);
    let huge = shop
        .http
        .put(shop.url("order-0", "/chaos/rules/b"))
        .body("x".repeat(100_000));
    assert_eq!(answer(huge).await.0, 413);
    assert_eq!(shop.delete("order-0", "/chaos/rules/b").await.0, 404);
    assert_eq!(
        shop.delete("order-0", "/chaos/rules").await.0,
        400,
        "never everybody's rules"
    );
    let (_, points) = shop.get("order-0", "/chaos/points").await;
    assert_eq!(points["points"].as_array().map(Vec::len), Some(5));

    until("it is hit", async || {
        shop.get("order-0", "/chaos/rules").await.1["rules"][0]["hits"]
            .as_u64()
            .is_some_and(|hits| hits > 5)
    })
    .await;
    // Only its own end is looked for, and not at the rules: nobody may have to look.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(shop.metric("order-0", "chaos_rules", &[]).await, 0.0);

    assert_eq!(shop.put("order-0", "/chaos/rules/c", rule.clone()).await.0, 201);
    assert_eq!(
        shop.delete("order-0", "/chaos/rules?run=t2").await.1,
        json!({"removed": 0})
    );
    assert_eq!(
        shop.delete("order-0", "/chaos/rules?run=t1").await.1,
        json!({"removed": 1})
    );
    shop.range.shutdown().await;
}

//! The front, its traffic and its metrics.

use std::time::Duration;

use allclear::range::{Options, Range};
use serde_json::json;

use crate::range_support::{Shop, answer, client, quiet, until};

#[tokio::test(flavor = "multi_thread")]
async fn the_front_takes_real_requests_and_its_traffic_can_be_set() {
    let shop = Shop::open(&[]).await;
    let before = shop.metric("order-0", "http_requests_total", &["drill"]).await;
    let (status, said) = shop
        .put(
            "gateway-0",
            "/range/traffic",
            json!({"marked": 0, "users": 0, "mark": "smoke"}),
        )
        .await;
    assert_eq!(
        (status, said),
        (200, json!({"marked": 0, "users": 0, "mark": "smoke"}))
    );
    until("the generator is quiet", async || {
        let before = shop.metric("gateway-0", "http_requests_total", &[]).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        before == shop.metric("gateway-0", "http_requests_total", &[]).await
    })
    .await;
    let marked = shop.metric("order-0", "http_requests_total", &["drill"]).await;
    assert!(marked >= before);
    let order = shop
        .http
        .post(shop.url("gateway-0", "/order"))
        .header("x-drill", "smoke");
    assert_eq!(answer(order).await.0, 200);
    assert_eq!(
        shop.metric("order-0", "http_requests_total", &["drill"]).await,
        marked + 1.0
    );
    assert_eq!(shop.get("gateway-0", "/cart/7").await.0, 200);
    assert_eq!(shop.get("gateway-0", "/cart/x").await.0, 400);
    for wrong in [
        json!({"marked": 5001}),
        json!({"marked": -1}),
        json!({"mark": ""}),
        json!({"colour": 1}),
        json!([]),
    ] {
        assert_eq!(shop.put("gateway-0", "/range/traffic", wrong).await.0, 422);
    }
    let status = shop.status().await;
    assert_eq!(
        status["servers"]["order/order-0"],
        json!({"weight": 100, "state": "ready"})
    );
    assert_eq!(status["pools"]["order-0"]["order-threads"]["size"], 50);
    assert_eq!(status["breakers"]["order-7"]["coupon"], "CLOSED");
    shop.range.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_series_is_there_from_the_start() {
    let range = Range::start(Options {
        marked_rate: 0,
        users_rate: 0,
        ..quiet()
    })
    .await
    .expect("a range");
    let mut names = std::collections::BTreeSet::new();
    for one in &range.endpoints().instances {
        let url = format!("http://{}/metrics", one.address);
        let answer = client().get(url).send().await.expect("metrics");
        let kind = answer.headers()["content-type"]
            .to_str()
            .expect("text")
            .to_owned();
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        for line in answer
            .text()
            .await
            .expect("text")
            .lines()
            .filter(|line| line.starts_with("# TYPE "))
        {
            names.insert(format!("{}: {}", one.service, &line["# TYPE ".len()..]));
        }
    }
    insta::assert_snapshot!(names.into_iter().collect::<Vec<_>>().join("\n"));
    range.shutdown().await;
}

//! The retry queue.

use allclear::range::Options;
use serde_json::json;
use tokio::time::Instant;

use crate::range_support::{Shop, quiet, until};

#[tokio::test(flavor = "multi_thread")]
async fn the_retry_queue_is_held_and_released_at_its_rate() {
    let shop = Shop::with(Options {
        weaknesses: [allclear::range::Weakness::RetryStorm].into(),
        ..quiet()
    })
    .await;
    let (status, said) = shop
        .put("retry-0", "/app/retry", json!({"held": true, "rate": null}))
        .await;
    assert_eq!((status, &said["held"]), (200, &json!(true)));
    shop.fault(
        "order-0",
        "inventory.reserve",
        json!({"exception": {"class": "X"}}),
        json!({}),
    )
    .await;
    let state = async || shop.get("retry-0", "/app/retry").await.1;
    until("a backlog", async || {
        state().await["backlog"].as_u64() > Some(3000)
    })
    .await;
    shop.stop_faults("order-0").await;
    let held = state().await;
    assert_eq!(held["released"], 0);

    shop.put("retry-0", "/app/retry", json!({"held": false, "rate": 200}))
        .await;
    let released = async || state().await["released"].as_f64().expect("a number");
    let begun = Instant::now();
    until("1000 released", async || released().await >= 1000.0).await;
    let last = released().await;
    let rate = last / begun.elapsed().as_secs_f64();
    assert!((196.0..=204.0).contains(&rate), "{rate}/s instead of 200/s");
    for wrong in [
        json!({"held": false, "rate": 0}),
        json!({"held": false, "rate": -1}),
        json!({"rate": 5}),
        json!({"held": 1}),
    ] {
        assert_eq!(shop.put("retry-0", "/app/retry", wrong).await.0, 422);
    }
    shop.range.shutdown().await;
}

//! Each weakness against the sound shop, under the same fault, through `/metrics`.

mod range_support;

use allclear::range::Weakness;
use range_support::{Shop, until};
use serde_json::{Value, json};

/// The sound shop and the weak one, side by side.
async fn pair(weakness: Weakness) -> (Shop, Shop) {
    (Shop::open(&[]).await, Shop::open(&[weakness]).await)
}

async fn fault_both(shops: &(Shop, Shop), instance: &str, point: &str, fault: Value, extra: Value) {
    shops.0.fault(instance, point, fault.clone(), extra.clone()).await;
    shops.1.fault(instance, point, fault, extra).await;
}

async fn close(shops: (Shop, Shop)) {
    shops.0.range.shutdown().await;
    shops.1.range.shutdown().await;
}

fn slow_coupon() -> Value {
    json!({"delay": {"mean_ms": 2000, "jitter_ms": 500}})
}

fn a_fifth() -> Value {
    json!({"percent": 20, "max_concurrent": 40})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_coupon_degrades_orders_and_without_the_fallback_fails_them() {
    let shops = pair(Weakness::NoCouponFallback).await;
    fault_both(&shops, "order-0", "coupon.query", slow_coupon(), a_fifth()).await;
    let labels = [r#"path="/order""#, r#"code="500""#, r#"traffic="drill""#];
    until("100 orders fail", async || {
        shops.1.metric("order-0", "http_requests_total", &labels).await > 100.0
    })
    .await;
    until("100 orders degrade", async || {
        shops.0.metric("order-0", "degraded_total", &["drill"]).await > 100.0
    })
    .await;
    assert!(shops.0.metric("order-0", "http_requests_total", &labels).await < 10.0);
    assert_eq!(shops.1.metric("order-0", "degraded_total", &["drill"]).await, 0.0);
    close(shops).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_breaker_closes_by_itself_unless_it_stays_open() {
    let shops = pair(Weakness::BreakerStaysOpen).await;
    fault_both(&shops, "order-0", "coupon.query", slow_coupon(), json!({})).await;
    let open = [r#"name="coupon""#, r#"state="open""#];
    let is = async |shop: &Shop, labels: &[&str]| {
        shop.metric("order-0", "resilience4j_circuitbreaker_state", labels)
            .await
            == 1.0
    };
    until("both have opened", async || {
        let opened = "resilience4j_circuitbreaker_not_permitted_calls_total";
        is(&shops.1, &open).await && shops.0.metric("order-0", opened, &[]).await > 0.0
    })
    .await;
    shops.0.stop_faults("order-0").await;
    shops.1.stop_faults("order-0").await;
    let closed = [r#"name="coupon""#, r#"state="closed""#];
    until("the sound one closes", async || is(&shops.0, &closed).await).await;
    assert!(is(&shops.1, &open).await);

    let (status, said) = shops
        .1
        .post("order-0", "/app/breakers/coupon/half-open", Value::Null)
        .await;
    assert_eq!((status, &said["currentState"]), (200, &json!("HALF_OPEN")));
    until("real calls close the weak one", async || {
        is(&shops.1, &closed).await
    })
    .await;
    close(shops).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_are_lifted_when_the_coupon_is_healthy_unless_they_stay() {
    let shops = pair(Weakness::FlagsStay).await;
    fault_both(&shops, "order-0", "coupon.query", slow_coupon(), a_fifth()).await;
    let flags = async |shop: &Shop| shop.status().await["flags"].as_u64().expect("redis answers");
    until("both have flags", async || {
        flags(&shops.0).await > 3 && flags(&shops.1).await > 3
    })
    .await;
    shops.0.stop_faults("order-0").await;
    shops.1.stop_faults("order-0").await;
    until("the sound shop has none", async || flags(&shops.0).await == 0).await;
    assert!(flags(&shops.1).await > 3);
    let before = shops.1.metric("order-0", "degraded_total", &["drill"]).await;
    until("flagged campaigns still degrade", async || {
        shops.1.metric("order-0", "degraded_total", &["drill"]).await > before + 3.0
    })
    .await;
    close(shops).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_reservations_are_retried_a_few_times_or_become_a_storm() {
    let shops = pair(Weakness::RetryStorm).await;
    fault_both(
        &shops,
        "order-0",
        "inventory.reserve",
        json!({"exception": {"class": "Unavailable"}}),
        json!({"percent": 20}),
    )
    .await;
    until("a backlog of 1000", async || {
        shops.1.metric("retry-0", "retry_backlog", &[]).await > 1000.0
    })
    .await;
    assert!(shops.0.metric("retry-0", "retry_backlog", &[]).await < 150.0);
    shops.0.stop_faults("order-0").await;
    shops.1.stop_faults("order-0").await;
    until("the sound queue is empty", async || {
        shops.0.metric("retry-0", "retry_backlog", &[]).await == 0.0
    })
    .await;
    assert!(shops.1.metric("retry-0", "retry_backlog", &[]).await > 300.0);
    close(shops).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_redis_fills_the_database_pool_only_of_the_enriching_cart() {
    let shops = pair(Weakness::CartEnrich).await;
    let delay = json!({"delay": {"mean_ms": 500, "jitter_ms": 50}});
    fault_both(&shops, "cart-0", "redis.get", delay, json!({})).await;
    let busy = async |shop: &Shop| shop.metric("cart-0", "cart_db_pool_busy", &[]).await;
    until("the pool is full", async || busy(&shops.1).await == 50.0).await;
    until("the sound pool is used", async || busy(&shops.0).await >= 6.0).await;
    for _ in 0..20 {
        let sound = busy(&shops.0).await;
        assert!(sound < 30.0, "{sound} of 50");
    }
    close(shops).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_negative_stock_is_read_again_or_sold() {
    let shops = pair(Weakness::NegativeStockAccepted).await;
    fault_both(
        &shops,
        "inventory-0",
        "stock.read",
        json!({"tamper": {"/stock": -1}}),
        a_fifth(),
    )
    .await;
    until("20 oversold", async || {
        shops.1.metric("inventory-0", "oversold_total", &[]).await > 20.0
    })
    .await;
    let negative = async || {
        shops
            .0
            .metric("inventory-0", "stock_read_negative_total", &[])
            .await
            > 20.0
    };
    until("20 negative readings", negative).await;
    assert_eq!(shops.0.metric("inventory-0", "oversold_total", &[]).await, 0.0);
    close(shops).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_redis_flow_control_counts_locally_or_waits_for_a_connect() {
    let shops = pair(Weakness::FlowControlConnects).await;
    for node in ["flow.redis-a", "flow.redis-b", "flow.redis-c"] {
        let gone = json!({"exception": {"class": "ConnectionRefused"}});
        fault_both(&shops, "gateway-0", node, gone, json!({})).await;
    }
    let local = [r#"mode="local""#, r#"traffic="drill""#];
    let fast = [r#"le="0.25""#, r#"traffic="drill""#];
    let all = [r#"traffic="drill""#];
    for shop in [&shops.0, &shops.1] {
        until("200 counted locally", async || {
            shop.metric("gateway-0", "flow_decisions_total", &local).await > 200.0
        })
        .await;
    }
    let slow = async |shop: &Shop| {
        shop.metric("gateway-0", "flow_check_seconds_count", &all).await
            - shop.metric("gateway-0", "flow_check_seconds_bucket", &fast).await
    };
    assert!(slow(&shops.1).await > 150.0);
    assert!(slow(&shops.0).await < 20.0);
    let up = async |traffic| shops.1.metric("gateway-0", "redis_up", &[traffic]).await;
    assert_eq!((up("drill").await, up("users").await), (0.0, 3.0));
    close(shops).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_mark_is_lost_the_instance_gate_holds() {
    let shop = Shop::open(&[Weakness::HeaderLost]).await;
    let marked = r#"traffic="drill""#;
    for n in 0..8 {
        let order = format!("order-{n}");
        // One rule with the mark, one without, both for order-0 alone, wrongly put everywhere.
        let fault = json!({"status": {"code": 503}});
        shop.fault(
            &order,
            "coupon.query",
            fault.clone(),
            json!({"instance": "order-0"}),
        )
        .await;
        shop.fault(
            &order,
            "inventory.query",
            fault,
            json!({"instance": "order-0", "header": {}}),
        )
        .await;
    }
    let hits = async |order: &str, point: &str| shop.metric(order, "chaos_rule_hits_total", &[point]).await;
    until("order-0 is hit", async || {
        hits("order-0", "inventory.query").await > 50.0
    })
    .await;
    for n in 0..8 {
        let order = format!("order-{n}");
        assert_eq!(hits(&order, "coupon.query").await, 0.0, "the mark never arrives");
        assert_eq!(shop.metric(&order, "http_requests_total", &[marked]).await, 0.0);
        if n > 0 {
            assert_eq!(
                hits(&order, "inventory.query").await,
                0.0,
                "{order} is another instance"
            );
            assert!(shop.metric(&order, "http_requests_total", &[]).await > 0.0);
        }
    }
    shop.range.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stuck_threads_are_freed_slowly_until_a_restart() {
    let shops = pair(Weakness::SlowDrain).await;
    fault_both(&shops, "order-0", "coupon.query", slow_coupon(), a_fifth()).await;
    let busy = async |shop: &Shop| shop.metric("order-0", "order_threads_busy", &[]).await;
    until("the pool is full", async || busy(&shops.1).await == 50.0).await;
    shops.0.stop_faults("order-0").await;
    shops.1.stop_faults("order-0").await;
    until("the sound pool is calm", async || busy(&shops.0).await < 15.0).await;
    assert!(busy(&shops.1).await > 30.0);
    let (status, _) = shops.1.post("order-0", "/app/restart", Value::Null).await;
    assert_eq!(status, 202);
    until("a restart frees them", async || busy(&shops.1).await < 15.0).await;
    close(shops).await;
}

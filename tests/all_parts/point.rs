//! The injection point for Spring, which docs/drivers/injection-point.md shows, spoken to by allclear's own driver.

use std::{collections::BTreeMap, time::Duration};

use allclear::{
    drivers::{
        http::Http,
        point::{PointApi, Rule},
    },
    model::{
        ids::{FaultId, InstanceName, RunId},
        time::Span,
    },
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::shop;

const POINT: &str = "coupon.query";

fn rule(run: &str, fault: Value) -> Rule {
    Rule {
        run: RunId::new(run).expect("a run"),
        point: POINT.to_owned(),
        fault,
        header: BTreeMap::from([("X-Drill".to_owned(), "by-test".to_owned())]),
        instance: InstanceName::new("order-0").expect("a name"),
        percent: None,
        max_concurrent: None,
        window_ms: None,
        ttl_ms: 60_000,
    }
}

fn fault(id: &str) -> FaultId {
    serde_json::from_value(json!(id)).expect("an id")
}

fn http() -> Http {
    Http::new(Span::seconds(5), Span::seconds(20)).expect("a client")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_comes_is_told_of_and_goes_by_its_id_and_by_its_run() {
    let shop = shop::open().await;
    let (http, base) = (http(), shop.instance(0));
    let api = PointApi::new(&http);
    assert_eq!(api.points(&base).await.unwrap(), [POINT]);
    api.proves_point(&base, POINT).await.unwrap();
    let wrong = api.proves_point(&base, "coupon.qeury").await.unwrap_err();
    assert!(wrong.to_string().contains("coupon.query"), "{wrong}");

    let slow = rule("7f3a01", json!({"delay": {"mean_ms": 500, "jitter_ms": 100}}));
    api.create(&base, &fault("one"), &slow).await.unwrap();
    api.create(&base, &fault("one"), &slow)
        .await
        .expect("the same again is no error");
    let other = rule("7f3a01", json!("empty"));
    let conflict = api.create(&base, &fault("one"), &other).await.unwrap_err();
    assert!(conflict.to_string().contains("409"), "{conflict}");
    api.create(&base, &fault("two"), &rule("7f3a02", json!("empty")))
        .await
        .unwrap();
    let seen = api.rules(&base).await.unwrap();
    let told: Vec<_> = seen
        .iter()
        .map(|r| (r.id.as_str(), r.run.as_str(), r.point.as_str()))
        .collect();
    assert_eq!(told, [("one", "7f3a01", POINT), ("two", "7f3a02", POINT)]);
    assert!(
        seen[0]
            .expires_in_ms
            .is_some_and(|left| (1..=60_000).contains(&left))
    );

    assert_eq!(api.delete_run(&base, &slow.run).await.unwrap(), 1);
    assert_eq!(api.delete_run(&base, &slow.run).await.unwrap(), 0);
    assert!(api.delete(&base, "two").await.unwrap());
    assert!(!api.delete(&base, "two").await.unwrap());
    assert!(api.rules(&base).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_marked_calls_of_the_named_instance_are_hit_up_to_the_cap_and_all_is_counted() {
    let shop = shop::open().await;
    let (http, base) = (http(), shop.instance(0));
    let api = PointApi::new(&http);
    let mut slow = rule("7f3a01", json!({"delay": {"mean_ms": 400}}));
    slow.max_concurrent = Some(1);
    api.create(&base, &fault("one"), &slow).await.unwrap();
    // Meant for another instance: the second gate holds it off.
    let mut stray = rule("7f3a01", json!("empty"));
    stray.instance = InstanceName::new("order-1").expect("a name");
    api.create(&base, &fault("stray"), &stray).await.unwrap();

    let begun = Instant::now();
    let marked = || shop.order(0, "point", Some("by-test"));
    let (first, second) = tokio::join!(marked(), marked());
    assert!(begun.elapsed() >= Duration::from_millis(400));
    assert!(first != "none" && second != "none", "{first} {second}");
    let seen = api.rules(&base).await.unwrap();
    let (one, stray) = (&seen[0], &seen[1]);
    assert_eq!((one.hits, one.capped, one.failed, one.held), (1, 1, 0, 0));
    assert!(one.misses > 0, "the shop's own customers came by");
    assert_eq!((stray.hits, stray.held), (0, 0));
    assert!(stray.misses > 0);
    assert_eq!(api.delete_run(&base, &slow.run).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_ends_with_its_rule_and_a_rule_with_its_time() {
    let shop = shop::open().await;
    let (http, base) = (http(), shop.instance(0));
    let api = PointApi::new(&http);
    let slow = rule("7f3a01", json!({"delay": {"mean_ms": 900}}));
    api.create(&base, &fault("one"), &slow).await.unwrap();
    let begun = Instant::now();
    let order = async { (shop.order(0, "point", Some("by-test")).await, begun.elapsed()) };
    let deleting = async {
        shop.until("the call is held", async || {
            api.rules(&base).await.unwrap().iter().any(|r| r.held == 1)
        })
        .await;
        api.delete_run(&base, &slow.run).await.unwrap();
    };
    let ((coupon, took), ()) = tokio::join!(order, deleting);
    assert!(
        coupon != "none" && took < Duration::from_millis(900),
        "{coupon} {took:?}"
    );

    let mut short = rule("7f3a01", json!("empty"));
    short.ttl_ms = 300;
    api.create(&base, &fault("short"), &short).await.unwrap();
    shop.until("the rule ends by itself", async || {
        api.rules(&base).await.unwrap().is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exception_and_a_status_fail_the_call_and_nonsense_is_refused_with_the_reason() {
    let shop = shop::open().await;
    let (http, base) = (http(), shop.instance(0));
    let api = PointApi::new(&http);
    for (number, effect) in [
        json!({"exception": {"class": "java.net.SocketTimeoutException"}}),
        json!({"status": {"code": 503, "body": "later"}}),
    ]
    .into_iter()
    .enumerate()
    {
        api.create(&base, &fault("one"), &rule("7f3a01", effect))
            .await
            .unwrap();
        let campaign = format!("failing{number}");
        assert_eq!(shop.order(0, &campaign, Some("by-test")).await, "none");
        assert_eq!(api.rules(&base).await.unwrap()[0].hits, 1);
        api.delete(&base, "one").await.unwrap();
    }
    let no_ttl = Rule {
        ttl_ms: 0,
        ..rule("7f3a01", json!("empty"))
    };
    let too_much = Rule {
        percent: Some(101.0),
        ..rule("7f3a01", json!("empty"))
    };
    let elsewhere = Rule {
        point: "stock.query".to_owned(),
        ..rule("7f3a01", json!("empty"))
    };
    for (wrong, reason) in [
        (no_ttl, "ttl_ms"),
        (too_much, "percent"),
        (elsewhere, "coupon.query"),
        (rule("7f3a01", json!("stale")), "stale"),
        (
            rule("7f3a01", json!({"exception": {"class": "java.lang.String"}})),
            "no exception",
        ),
        (
            rule("7f3a01", json!({"exception": {"class": "no.such.Class"}})),
            "no class",
        ),
        (
            rule("7f3a01", json!({"delay": {"mean_ms": 10, "jitter_ms": 20}})),
            "jitter_ms",
        ),
    ] {
        let refusal = api.create(&base, &fault("wrong"), &wrong).await.unwrap_err();
        assert!(refusal.to_string().contains(reason), "{refusal}");
    }
    assert!(api.rules(&base).await.unwrap().is_empty());
}

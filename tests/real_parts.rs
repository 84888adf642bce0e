//! A real Prometheus that scrapes the range and a real Redis that holds its flags: the same drill, the same verdicts.
//! Needs `prometheus` and `redis-server` on the PATH: scripts/needs installs them.

mod luck_support;

use luck_support::{Place, Prometheus, Redis, Shop, drill};
use serde_json::Value;

/// A range, a Prometheus that has begun to scrape it, and a place with an environment of both.
async fn stand(range: &[&str], interval: &str, drill: &str) -> (Shop, Prometheus, Place) {
    let shop = Shop::alone(range).await;
    let prometheus = Prometheus::scraping(&shop, interval).await;
    prometheus.has_samples(shop.instances().len()).await;
    let metrics = format!("prometheus: {{url: \"{}\", every: 500ms}}", prometheus.url());
    let place = Place::with(&shop.environment(&metrics, ""));
    place.file("drill.yaml", drill);
    (shop, prometheus, place)
}

/// The verdicts of the last run there, by metric and scope.
async fn verdicts(place: &Place) -> Vec<String> {
    let shown = place.run(&["show", "--json"]).await.with_code(0);
    let view: Value = serde_json::from_str(&shown.out).expect("JSON");
    let rows = view["rows"].as_array().expect("rows");
    rows.iter()
        .map(|row| row["state"]["verdict"].as_str().unwrap_or("none").to_owned())
        .collect()
}

const HELD: [&str; 4] = ["AS EXPECTED"; 4];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: scripts/test all"]
async fn a_real_prometheus_and_a_real_redis_give_the_verdicts_of_a_direct_scrape() {
    let redis = Redis::start().await;
    redis.say("SET degrade:order:before 1").await.expect("set");
    let (shop, _prometheus, place) = stand(&["--redis", &redis.url()], "1s", &drill(&[])).await;
    let through_both = place.run(&["run", "drill.yaml", "--plain"]).await;
    through_both.with_code(0).saying("HELD").saying("ALL CLEAR");
    assert_eq!(verdicts(&place).await, HELD);
    shop.is_as_before().await;
    let flags = redis.say("KEYS degrade:order:*").await.expect("keys");
    assert_eq!(
        flags, "*1\r\n$20\r\ndegrade:order:before\r\n",
        "only the flag that was there before"
    );

    let direct = Place::with(&shop.scraped());
    direct.file("drill.yaml", drill(&[]));
    direct.run(&["run", "drill.yaml", "--plain"]).await.with_code(0);
    assert_eq!(verdicts(&direct).await, HELD);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: scripts/test all"]
async fn a_weak_shop_is_falsified_through_a_real_prometheus_and_redis_as_by_a_direct_scrape() {
    let redis = Redis::start().await;
    let range = ["--weakness", "no-coupon-fallback", "--redis", &redis.url()];
    let (shop, _prometheus, place) = stand(&range, "1s", &drill(&[])).await;
    let through_both = place.run(&["run", "drill.yaml", "--plain"]).await;
    through_both
        .with_code(1)
        .saying("FALSIFIED")
        .saying("ALL CLEAR")
        .saying("The fallback does not work.");
    let seen = verdicts(&place).await;
    assert_eq!(seen[2], "UNEXPECTED");
    shop.is_as_before().await;

    let direct = Place::with(&shop.scraped());
    direct.file("drill.yaml", drill(&[]));
    direct.run(&["run", "drill.yaml", "--plain"]).await.with_code(1);
    assert_eq!(verdicts(&direct).await, seen);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prometheus_that_dies_in_mid_fault_aborts_the_run_and_what_is_not_known_is_said() {
    let short = [("within: 2m", "within: 15s"), ("duration: 30s", "duration: 60s")];
    let (shop, mut prometheus, place) = stand(&[], "1s", &drill(&short)).await;
    let run = place.start(&["run", "drill.yaml", "--plain"]);
    run.says(" LIVE").await;
    prometheus.kill().await;
    let ended = run
        .ended()
        .await
        .with_code(4)
        .saying("blind")
        .saying("FAULTS GONE")
        .saying("UNKNOWN");
    assert!(!ended.out.contains("\nALL CLEAR"), "{}", ended.out);
    assert!(
        ended.out.contains("order_success users") && ended.out.contains("not known"),
        "{}",
        ended.out
    );
    assert!(
        verdicts(&place)
            .await
            .iter()
            .all(|v| v == "NO DATA" || v == "UNDECIDED")
    );
    // What could be put back was put back.
    shop.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: scripts/test all"]
async fn a_prometheus_that_comes_back_in_time_lets_the_run_end_all_clear() {
    let (shop, mut prometheus, place) = stand(&[], "1s", &drill(&[("duration: 30s", "duration: 60s")])).await;
    let run = place.start(&["run", "drill.yaml", "--plain"]);
    run.says(" LIVE").await;
    prometheus.kill().await;
    run.says("VERIFYING").await;
    prometheus.come_back().await;
    run.ended()
        .await
        .with_code(3)
        .saying("ALL CLEAR")
        .saying("USERS OK");
    shop.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_watched_is_refused_before_the_start_each_with_its_query() {
    let (shop, _prometheus, place) = stand(&[], "5s", &drill(&[])).await;
    let wrong = [
        ("matrix", "up[1m]"),
        ("several", "order_threads_busy"),
        ("text", "\"text\""),
        ("nothing", "no_such_metric"),
    ];
    let metrics: String = wrong
        .iter()
        .map(|(id, query)| {
            format!("  - {{id: {id}, title: x, kind: system, unit: count, promql: '{query}'}}\n")
        })
        .collect();
    let dashboard =
        include_str!("../dashboards/shop.yaml").replace("panels:\n", &format!("{metrics}panels:\n"));
    place.file("dashboards/shop.yaml", dashboard);
    let ended = place.run(&["run", "drill.yaml", "--plain"]).await.with_code(5);
    let refused = |what: &str, how: &str| {
        let line = ended
            .out
            .lines()
            .find(|l| l.contains(&format!("check {what}: REFUSED")));
        assert!(
            line.is_some_and(|l| l.contains(how)),
            "{what} {how}:\n{}",
            ended.out
        );
    };
    // Measured: now and then some milliseconds more.
    refused("guard's rhythm", "every 5");
    refused("windows", "windows of 1s, a sample every 5");
    refused("query matrix", "up[1m]");
    refused("query several", "order_threads_busy");
    refused("query text", "text");
    assert!(ended.out.contains("no_such_metric"), "{}", ended.out);
    assert!(!ended.out.contains("BASELINE"), "{}", ended.out);
    shop.is_as_before().await;
}

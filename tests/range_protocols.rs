//! The range speaks the protocols of production, with their traps.

mod range_support;

use std::time::Duration;

use allclear::range::{Options, Ports, Range, RangeError, default_endpoints};
use range_support::{Shop, answer, client, quiet, until};
use redis::AsyncCommands;
use serde_json::{Value, json};
use tokio::time::Instant;

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

#[tokio::test(flavor = "multi_thread")]
async fn the_runtime_api_speaks_haproxys_sentences() {
    let shop = Shop::open(&[]).await;
    let said = [
        "get weight order/order-3",
        "set server order/order-3 weight 10%; get weight order/order-3",
        "set server order/order-3 weight 30\nget weight order/order-3",
        "set server order/order-3 weight 257",
        "set server order/order-3 weight x",
        "set server order/order-3 weight 1x",
        "set server order/nope weight 1",
        "set server nope/order-3 weight 1",
        "set server order weight 1",
        "set server order/order-3 state gone",
        "set server order/order-3 state drain",
        "show servers state nope",
    ];
    let mut log = String::new();
    for commands in said {
        log += &format!(
            ">>> {commands}\n{}<<<\n",
            shop.runtime(&format!("{commands}\n")).await
        );
    }
    insta::assert_snapshot!(log);

    let state = shop.runtime("show servers state order\n").await;
    let row: Vec<&str> = state
        .lines()
        .find(|line| line.contains("order-3"))
        .expect("a row")
        .split(' ')
        .collect();
    assert_eq!(
        (row[3], row[5], row[6], row[7], row[8]),
        ("order-3", "2", "8", "30", "100")
    );
    let stat = shop.runtime("show stat\n").await;
    let columns: Vec<&str> = stat.lines().next().expect("columns").split(',').collect();
    let status = columns
        .iter()
        .position(|column| *column == "status")
        .expect("a status");
    let row = stat
        .lines()
        .find(|line| line.starts_with("order,order-3,"))
        .expect("a row");
    assert_eq!(row.split(',').nth(status), Some("DRAIN"));
    assert_eq!(row.split(',').count(), columns.len());
    shop.range.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_weight_of_zero_takes_the_target_out_and_part_of_it_brings_part_back() {
    let shop = Shop::open(&[]).await;
    let orders =
        async |instance: &str, labels: &[&str]| shop.metric(instance, "http_requests_total", labels).await;
    shop.runtime("set server order/order-0 weight 0\n").await;
    // Orders that were on their way have ended after the longest of them.
    until("the target is idle", async || {
        let before = orders("order-0", &[]).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        orders("order-0", &[]).await == before
    })
    .await;
    until("the others take its traffic", async || {
        orders("order-1", &["drill"]).await > 20.0
    })
    .await;

    shop.runtime("set server order/order-0 weight 30%\n").await;
    let (own, all) = (
        orders("order-0", &[]).await,
        orders("gateway-0", &["/order", "drill"]).await,
    );
    until("400 marked orders", async || {
        orders("gateway-0", &["/order", "drill"]).await > all + 400.0
    })
    .await;
    let share =
        (orders("order-0", &[]).await - own) / (orders("gateway-0", &["/order", "drill"]).await - all);
    assert!((0.2..0.4).contains(&share), "{share}");
    shop.range.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_redis_keeps_flags_for_a_real_client() {
    let shop = Shop::open(&[]).await;
    let client = redis::Client::open(shop.range.endpoints().redis.as_str()).expect("an address");
    let mut redis = client
        .get_multiplexed_async_connection()
        .await
        .expect("a connection");
    for n in 0..500 {
        let _: () = redis
            .set_ex(format!("degrade:order:test-{n}"), "on", 600)
            .await
            .expect("set");
        let _: () = redis.set(format!("other:{n}"), "x").await.expect("set");
    }
    let (mut cursor, mut found) = (0_u64, Vec::<String>::new());
    loop {
        let (next, keys): (u64, Vec<String>) = redis::cmd("SCAN")
            .arg(cursor)
            .arg(&["MATCH", "degrade:order:test-*", "COUNT", "100", "TYPE", "string"])
            .query_async(&mut redis)
            .await
            .expect("scan");
        found.extend(keys);
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 500);
    let ttl: i64 = redis.ttl("degrade:order:test-0").await.expect("ttl");
    assert!((590..=600).contains(&ttl), "{ttl}");
    assert_eq!(redis.ttl::<_, i64>("other:0").await.expect("ttl"), -1);
    assert_eq!(redis.ttl::<_, i64>("absent").await.expect("ttl"), -2);
    assert_eq!(redis.unlink::<_, usize>(&found).await.expect("unlink"), 500);

    let lock = redis::SetOptions::default()
        .conditional_set(redis::ExistenceCheck::NX)
        .with_expiration(redis::SetExpiry::PX(100));
    let taken = async |redis: &mut redis::aio::MultiplexedConnection, by: &str| -> Option<String> {
        redis.set_options("lock", by, lock.clone()).await.expect("set")
    };
    assert_eq!(taken(&mut redis, "first").await.as_deref(), Some("OK"));
    assert_eq!(taken(&mut redis, "second").await, None);
    until("the lock expires", async || {
        !redis.clone().exists::<_, bool>("lock").await.expect("exists")
    })
    .await;

    let run = |words: &[&str]| {
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(*word);
        });
        command
    };
    assert_eq!(
        run(&["ACL", "WHOAMI"])
            .query_async::<String>(&mut redis)
            .await
            .expect("acl"),
        "default"
    );
    let allowed = run(&["ACL", "DRYRUN", "default", "unlink", "k"])
        .query_async::<String>(&mut redis)
        .await;
    assert_eq!(allowed.expect("dryrun"), "OK");
    let unknown = run(&["FROBNICATE"])
        .query_async::<()>(&mut redis)
        .await
        .expect_err("unknown");
    assert!(unknown.to_string().contains("unknown command"), "{unknown}");
    let _: () = redis.hset("web", "a", 1).await.expect("hset");
    let wrong = redis.get::<_, String>("web").await.expect_err("a hash");
    assert!(wrong.to_string().contains("WRONGTYPE"), "{wrong}");
    assert_eq!(redis.incr::<_, _, i64>("n", 5).await.expect("incr"), 5);
    shop.range.shutdown().await;
}

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
async fn a_shutdown_frees_every_port_and_a_taken_one_is_named() {
    let range = Range::start(quiet()).await.expect("a range");
    let endpoints = range.endpoints().clone();
    let mut addresses: Vec<String> = endpoints
        .instances
        .iter()
        .map(|one| one.address.clone())
        .collect();
    addresses.push(endpoints.gateway_runtime.clone());
    addresses.push(
        endpoints.redis["redis://".len()..]
            .trim_end_matches('/')
            .to_owned(),
    );
    // A connection that stays open must not keep its port.
    let kept = tokio::net::TcpStream::connect(&addresses[0])
        .await
        .expect("a connection");
    let taken: u16 = addresses[3]
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    let refused = Range::start(Options {
        ports: Ports::From(taken - 1),
        ..quiet()
    })
    .await
    .err();
    let Some(RangeError::Bind { address, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(address.port(), taken);

    range.shutdown().await;
    for address in &addresses {
        std::net::TcpListener::bind(address).unwrap_or_else(|error| panic!("{address}: {error}"));
    }
    drop(kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_started_says_why() {
    let why = async |options: Options| match Range::start(options).await {
        Ok(_) => panic!("it started"),
        Err(error) => error.to_string(),
    };
    let redis = Some("redis://user:secret@127.0.0.1:1/".to_owned());
    let said = why(Options { redis, ..quiet() }).await;
    assert!(
        said.contains("redis://127.0.0.1:1/") && !said.contains("secret"),
        "{said}"
    );
    let said = why(Options {
        ports: Ports::From(65_500),
        ..quiet()
    })
    .await;
    assert!(said.contains("too high"), "{said}");
    assert!(
        why(Options {
            mark: "a\nb".into(),
            ..quiet()
        })
        .await
        .contains("not a header value")
    );
    assert!(
        why(Options {
            users_rate: 6000,
            ..quiet()
        })
        .await
        .contains("too many")
    );
}

#[test]
fn the_fixed_layout_begins_at_7400() {
    let endpoints = default_endpoints();
    assert_eq!(endpoints.gateway_http, "127.0.0.1:7400");
    assert_eq!(endpoints.gateway_runtime, "127.0.0.1:7401");
    assert_eq!(endpoints.redis, "redis://127.0.0.1:7402/");
    assert_eq!(endpoints.retry, "127.0.0.1:7460");
    assert_eq!(endpoints.instance("order-7"), Some("127.0.0.1:7417"));
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

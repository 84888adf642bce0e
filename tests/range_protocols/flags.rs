//! Flags in Redis.

use redis::AsyncCommands;

use crate::range_support::{Shop, until};

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

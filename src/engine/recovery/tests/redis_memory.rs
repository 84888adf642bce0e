//! A Redis at its memory limit that makes room by evicting any key: it evicts none because of us, and what it evicts in mid-step is no
//! harm.

use super::{
    flags::playbook,
    redis_luck::halted,
    redis_moments::CALM,
    redis_places::{Place, single},
    *,
};
use crate::drivers::{
    redis::testing::{RedisPart, connected, redis_server},
    testing::until,
};

/// What the buffers of our connections take at most, as the driver's page says.
const ROOM: usize = 1 << 20;

const POLICY: [&str; 2] = ["--maxmemory-policy", "allkeys-lru"];

async fn figure(redis: &RedisPart, section: &str, name: &str) -> usize {
    let info: String = redis::from_redis_value(redis.ask(&["INFO", section]).await).unwrap();
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().parse().unwrap()
}

/// Writes so many keys of that size.
async fn fill(redis: &RedisPart, prefix: &str, count: usize, size: usize) {
    let script = "for n = 1, ARGV[1] do redis.call('SET', KEYS[1] .. n, string.rep('x', ARGV[2])) end";
    redis
        .ask(&["EVAL", script, "1", prefix, &count.to_string(), &size.to_string()])
        .await;
}

/// From now on there is room for so much more.
async fn limit(redis: &RedisPart, room: usize) {
    let used = figure(redis, "memory", "used_memory").await;
    redis
        .ask(&["CONFIG", "SET", "maxmemory", &(used + room).to_string()])
        .await;
}

#[tokio::test]
async fn a_full_server_evicts_nothing_for_a_recovery() {
    let redis = redis_server(&POLICY).await;
    fill(&redis, "session:", 5_000, 100).await;
    fill(&redis, "degrade:order:old:", 60, 50_000).await;
    // Somebody else's commands: before each one the server makes room if it must.
    let mut theirs = connected(&redis.address).await.unwrap();
    let traffic = async {
        loop {
            let _: () = redis::cmd("PING").query_async(&mut theirs).await.unwrap();
        }
    };
    let recovery = async {
        limit(&redis, ROOM).await;
        let stage = stage_with(
            single(&redis).environment(),
            playbook(50_000),
            |_| {},
            Secrets::none(),
            CALM,
        );
        let stage = stage.with_snapshot_read().await;
        redis.ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
        fill(&redis, "degrade:order:", 20_000, 100).await;
        limit(&redis, ROOM).await;
        let end = super::super::flags(&stage.scene).await;
        assert_eq!(end.detail.en(), "20000 removed; 60 kept, older than the drill");
        limit(&redis, ROOM).await;
        assert!(left_behind(&stage.scene).await.is_empty());
    };
    tokio::select! {
        () = recovery => {}
        () = traffic => unreachable!(),
    }
    assert_eq!(figure(&redis, "stats", "evicted_keys").await, 0);
    assert_eq!(redis.keys().await.len(), 5_060);
    // It would have evicted for a little more.
    limit(&redis, ROOM).await;
    redis.ask(&["SET", "large", &"x".repeat(2 * ROOM)]).await;
    redis.ask(&["PING"]).await;
    assert!(figure(&redis, "stats", "evicted_keys").await > 0);
}

#[tokio::test]
async fn flags_that_are_evicted_in_mid_step_are_not_counted_and_an_older_one_is_said_to_be_gone() {
    let redis = redis_server(&POLICY).await;
    let place = Place::at(redis.named(), vec![&redis.address], false);
    let mut halted = halted(&place, CALM).await;
    let evicts = async {
        redis.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
        until("all is evicted", async || redis.keys().await.is_empty()).await;
        redis.ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
        redis.set(&["degrade:order:7"]).await;
    };
    let end = halted.struck(evicts, async {}).await;
    assert_eq!(
        (end.state, end.detail.en()),
        (StepState::Done, "1 removed; 1 kept, older than the drill")
    );
    assert!(redis.keys().await.is_empty());
    let left = left_behind(&halted.stage.scene).await;
    let [left] = &left[..] else { panic!("{left:?}") };
    assert!(left.what.en().contains("degrade:order:old"), "{left:?}");
    assert!(left.why.en().contains("it is gone"), "{left:?}");
}

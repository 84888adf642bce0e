//! The driver at real servers: what it proves before it believes an answer.

use super::{
    testing::{ClusterPart, cluster, cluster_over_tls, errors_at, named, redis_server, tls_server, watched},
    *,
};
use crate::{
    drivers::testing::nobody,
    model::{secret::Secrets, snapshot::Removal},
};

/// TLS reads the system's authorities for each connection: that takes its time on a busy machine.
const LIMITS: [Span; 3] = [Span::seconds(10), Span::seconds(10), Span::seconds(20)];

fn server(redis: &Redis) -> RedisServer {
    // Another test may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    RedisServer::new(&ServerName::new("main").unwrap(), redis, &Secrets::none(), LIMITS).unwrap()
}

fn glob(pattern: &str) -> Glob {
    Glob::new(pattern).unwrap()
}

fn shown(keys: BTreeSet<Key>) -> Vec<String> {
    keys.iter().map(Key::to_string).collect()
}

async fn opened(redis: &Redis) -> Cluster {
    let driver = server(redis);
    match driver.masters().await.unwrap() {
        Masters::Cluster(cluster) => cluster,
        Masters::One(_) => panic!("not a cluster"),
    }
}

#[tokio::test]
async fn a_clusters_keys_are_found_and_removed_on_every_master_also_while_a_slot_moves() {
    let part = cluster().await;
    let keys: Vec<String> = (0..40).map(|n| format!("degrade:order:{n}")).collect();
    let all: Vec<&str> = keys.iter().map(String::as_str).collect();
    part.set(&all);
    part.set(&["other"]);
    for (key, words) in [
        ("{a}b", ["CLUSTER", "KEYSLOT", "{a}b"]),
        ("x{}y", ["CLUSTER", "KEYSLOT", "x{}y"]),
    ] {
        let slot: u16 = redis::from_redis_value(part.nodes[0].ask(&words).await).unwrap();
        assert_eq!(Key::new(key).slot(), slot);
    }

    // One key of an open slot has moved, the other not yet.
    let tagged = ["degrade:{open}:1", "degrade:{open}:2"];
    part.set(&tagged);
    let slot = Key::new(tagged[0]).slot();
    let from = usize::from(slot > 5460) + usize::from(slot > 10922);
    let to = (from + 1) % 3;
    let before = opened(&part.named()).await;
    assert!(before.shards.iter().all(|s| !s.receives));
    part.begin_move(slot, from, to).await;
    part.move_key(tagged[0], from, to).await;
    let during = opened(&part.named()).await;
    let receiving = during
        .shards
        .iter()
        .filter(|s| s.receives)
        .map(|s| s.node.address.as_str());
    assert_eq!(receiving.collect::<Vec<_>>(), [part.nodes[to].address.as_str()]);

    let driver = server(&part.named());
    let found = driver.matching(&glob("degrade:*"), 100).await.unwrap();
    assert_eq!(found.keys.len(), 42);
    assert_eq!(found.moving, None, "the open slot did not change meanwhile");
    let removed = 0.into();
    driver.remove(&found.keys, &removed).await.unwrap();
    assert_eq!(removed.into_inner(), 42);
    assert_eq!(part.keys().await, ["other"]);
}

/// Removes one key that is asked for elsewhere and one that has moved for good, each after the cluster was looked at.
async fn followed(part: ClusterPart) {
    let [first, second] = ["degrade:{open}:1", "degrade:{open}:2"];
    part.set(&[first, second]);
    let slot = Key::new(first).slot();
    let from = usize::from(slot > 5460) + usize::from(slot > 10922);
    let to = (from + 1) % 3;
    part.begin_move(slot, from, to).await;
    let driver = server(&part.named());
    let sent_on = async |code| errors_at(&part.nodes[from].address, code).await;
    for (key, code) in [(first, "ASK"), (second, "MOVED")] {
        let seen = opened(&part.named()).await;
        part.move_key(key, from, to).await;
        if code == "MOVED" {
            part.end_move(slot, to).await;
        }
        let (before, removed) = (sent_on(code).await, 0.into());
        let keys = [Key::new(key)].into();
        let end = driver.remove_from(seen, Removal::Unlink, &keys, &removed).await;
        assert_eq!((end, removed.into_inner()), (Ok(()), 1), "{code}");
        assert_eq!(sent_on(code).await, before + 1, "{code}");
    }
    assert!(part.keys().await.is_empty());
}

#[tokio::test]
async fn a_key_that_has_moved_since_the_look_is_followed_at_once() {
    followed(cluster().await).await;
}

#[tokio::test]
async fn over_tls_a_key_is_followed_to_the_name_that_the_certificate_is_good_for() {
    followed(cluster_over_tls().await).await;
}

#[tokio::test]
async fn a_look_during_which_a_slot_moved_is_not_believed() {
    let part = cluster().await;
    let mut seen = opened(&part.named()).await;
    assert_eq!(seen.is_still_so().await, Ok(()));
    part.begin_move(0, 0, 1).await;
    assert!(
        seen.is_still_so().await.unwrap_err().may_pass(),
        "a move has begun"
    );
    let mut seen = opened(&part.named()).await;
    part.end_move(0, 1).await;
    assert!(
        seen.is_still_so().await.unwrap_err().may_pass(),
        "a move has ended"
    );
    // There and back again: each slot is where it was, and keys may have been missed all the same.
    part.is_whole().await;
    crate::drivers::testing::until("all agree", async || {
        Cluster::open(
            &server(&part.named()).access,
            "x",
            &[part.nodes[0].address.clone()],
        )
        .await
        .is_ok()
    })
    .await;
    let mut seen = opened(&part.named()).await;
    part.begin_move(0, 1, 0).await;
    part.end_move(0, 0).await;
    part.begin_move(0, 0, 1).await;
    part.end_move(0, 1).await;
    assert!(seen.is_still_so().await.unwrap_err().may_pass(), "it came back");
}

#[tokio::test]
async fn a_cluster_without_one_of_its_masters_is_not_believed() {
    let mut part = cluster().await;
    let folder = part.nodes[0].kill();
    let error = server(&part.named())
        .matching(&glob("degrade:*"), 10)
        .await
        .unwrap_err();
    assert!(error.may_pass(), "{error}");
    part.nodes[0].start_again(folder).await;
    // It has lost its node file's place in no way: the cluster is whole again.
    part.is_whole().await;
    server(&part.named())
        .matching(&glob("degrade:*"), 10)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_server_that_is_no_cluster_is_named_as_such() {
    let redis = redis_server(&[]).await;
    let place = RedisPlace::Cluster(crate::model::environment::RedisCluster {
        addresses: vec![redis.address.clone()],
    });
    let error = server(&named(place))
        .matching(&glob("degrade:*"), 10)
        .await
        .unwrap_err();
    assert!(
        !error.may_pass() && error.to_string().contains("cluster support disabled"),
        "{error}"
    );
}

#[tokio::test]
async fn a_replicas_copy_is_not_believed_and_sentinels_name_the_master() {
    let part = watched().await;
    part.servers[0].set(&["degrade:order:1"]).await;
    let replica = server(&part.servers[1].named());
    let error = replica.matching(&glob("degrade:*"), 10).await.unwrap_err();
    assert!(
        error.may_pass() && error.to_string().contains("replica"),
        "{error}"
    );
    // The same where ROLE may not be asked: by a removal that it refuses.
    part.servers[1].ask(&["ACL", "SETUSER", "default", "-role"]).await;
    let error = replica.matching(&glob("degrade:*"), 10).await.unwrap_err();
    assert!(
        error.may_pass() && error.to_string().contains("READONLY"),
        "{error}"
    );

    let mut redis = part.named();
    let found = server(&redis).matching(&glob("degrade:*"), 10).await.unwrap();
    assert_eq!(shown(found.keys), ["degrade:order:1"]);
    let RedisPlace::Sentinel(sentinels) = &mut redis.place else {
        panic!("by Sentinels");
    };
    sentinels.addresses.extend([nobody().await, nobody().await]);
    let error = server(&redis).matching(&glob("degrade:*"), 10).await.unwrap_err();
    assert!(error.to_string().contains("1 of 3 Sentinels answer"), "{error}");
    let RedisPlace::Sentinel(sentinels) = &mut redis.place else {
        panic!("by Sentinels");
    };
    sentinels.addresses.truncate(1);
    sentinels.master = "shp".into();
    let error = server(&redis).matching(&glob("degrade:*"), 10).await.unwrap_err();
    assert!(
        error.to_string().contains("watches no master of that name"),
        "{error}"
    );
}

#[tokio::test]
async fn a_certificate_of_another_authority_or_none_of_our_own_is_refused() {
    let part = tls_server().await;
    part.plain.set(&["degrade:order:1"]).await;
    let found = server(&part.named("ca.pem", true))
        .matching(&glob("degrade:*"), 10)
        .await
        .unwrap();
    assert_eq!(shown(found.keys), ["degrade:order:1"]);
    let other = server(&part.named("other.pem", true))
        .matching(&glob("degrade:*"), 10)
        .await;
    assert!(other.unwrap_err().to_string().contains("certificate"));
    server(&part.named("ca.pem", false))
        .matching(&glob("degrade:*"), 10)
        .await
        .unwrap_err();
    let mut missing = part.named("ca.pem", true);
    missing.tls.as_mut().unwrap().ca_file = Some("/nonexistent/ca.pem".into());
    let name = ServerName::new("main").unwrap();
    let error = RedisServer::new(&name, &missing, &Secrets::none(), LIMITS).unwrap_err();
    assert!(error.to_string().contains("/nonexistent/ca.pem"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_loading_is_asked_again_later() {
    let mut redis = redis_server(&[
        "--key-load-delay",
        "5000",
        "--loading-process-events-interval-bytes",
        "1024",
    ])
    .await;
    for chunk in 0..20 {
        let keys: Vec<String> = (0..50).map(|n| format!("degrade:order:{chunk}:{n}")).collect();
        let pairs = keys.iter().flat_map(|k| [k.as_str(), "1"]);
        redis
            .ask(&std::iter::once("MSET").chain(pairs).collect::<Vec<_>>())
            .await;
    }
    redis.ask(&["SAVE"]).await;
    let folder = redis.kill();
    redis.start_again(folder).await;
    let error = server(&redis.named())
        .matching(&glob("degrade:*"), 10_000)
        .await
        .unwrap_err();
    assert!(
        error.may_pass() && error.to_string().contains("LOADING"),
        "{error}"
    );
}

#[tokio::test]
async fn what_is_gone_by_the_time_of_its_removal_is_no_error_and_not_counted() {
    let redis = redis_server(&[]).await;
    redis.set(&["degrade:order:1", "session"]).await;
    let driver = server(&redis.named());
    let keys = driver.matching(&glob("degrade:*"), 10).await.unwrap().keys;
    let removed = 0.into();
    driver.remove(&keys, &removed).await.unwrap();
    driver.remove(&keys, &removed).await.unwrap();
    assert_eq!(removed.into_inner(), 1);
    assert_eq!(redis.keys().await, ["session"]);
}

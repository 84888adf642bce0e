//! The lease at real servers, by two runs.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    drivers::{
        Drivers,
        error::DriverError,
        lease::{Hold, Lease},
        redis::testing::{RedisPart, cluster, redis_server, watched},
        testing::{environment, nobody, nothing_to_do, plan, until},
    },
    model::{
        environment::{Redis, RedisPlace, SecretRef},
        ids::{RunId, ServerName},
        lease::{Held, LASTS, LeasePlace},
        secret::{SecretText, Secrets},
        time::Span,
    },
};

const KEY: &str = "allclear:lease:here";

/// Long enough for a busy machine to renew in time.
const SHORT: Span = Span::seconds(2);

fn clients(run: &str, redis: &Redis) -> Drivers {
    let mut plan = plan(environment(&[]), nothing_to_do());
    let main = ServerName::new("main").unwrap();
    plan.run = RunId::new(run).unwrap();
    plan.started_by = format!("the one of {run}");
    plan.environment.redis.insert(main.clone(), redis.clone());
    plan.environment.lease = Some(LeasePlace::Redis(main));
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("LEASE".into()), SecretText::new("secret"));
    Drivers::new(&plan, secrets).unwrap()
}

fn lease(run: &str, redis: &Redis) -> Lease {
    clients(run, redis).lease().unwrap().unwrap()
}

fn short(run: &str, redis: &Redis) -> Lease {
    clients(run, redis).lease_lasting(SHORT).unwrap().unwrap()
}

fn other(hold: Hold) -> Held {
    match hold {
        Hold::Other(held) => held,
        ours => panic!("{ours:?}"),
    }
}

async fn is_one_runs_at_a_time(redis: &Redis) {
    let (first, second) = (lease("aaaa01", redis), lease("bbbb02", redis));
    assert!(!first.may_be_ours(), "nobody has asked for it");
    assert_ne!(first.hold().await.unwrap(), Hold::Renewed);
    assert!(first.may_be_ours());
    assert_eq!(first.take().await.unwrap(), Hold::Renewed);
    let held = other(second.take().await.unwrap());
    assert_eq!(
        (held.by.run.as_str(), held.by.who.as_str()),
        ("aaaa01", "the one of aaaa01")
    );
    assert!(!held.by.host.is_empty() && held.by.since.is_some());
    assert!(held.left.unwrap() <= LASTS && held.left.unwrap() > Span::seconds(30));
    second.give_back().await.unwrap();
    // Whoever keeps it: it is the run's.
    assert_eq!(lease("aaaa01", redis).hold().await.unwrap(), Hold::Renewed);
    first.give_back().await.unwrap();
    assert_eq!(second.hold().await.unwrap(), Hold::Taken);
    first.give_back().await.unwrap();
    assert_eq!(second.hold().await.unwrap(), Hold::Renewed, "that was not theirs");
    second.give_back().await.unwrap();
    second.give_back().await.unwrap();
}

#[tokio::test]
async fn a_lease_is_one_runs_at_a_time_and_the_next_ones_when_it_is_given_back() {
    let redis = redis_server(&[]).await;
    is_one_runs_at_a_time(&redis.named()).await;
    assert!(redis.keys().await.is_empty());
}

#[tokio::test]
async fn behind_sentinels_it_lies_at_the_master_also_after_a_failover() {
    let part = watched().await;
    is_one_runs_at_a_time(&part.named()).await;
    let run = lease("aaaa01", &part.named());
    run.hold().await.unwrap();
    part.sentinel.ask(&["SENTINEL", "FAILOVER", "shop"]).await;
    until("the replica is the master", async || part.master().await == 1).await;
    until("it is held there", async || run.hold().await.is_ok()).await;
    let held = other(lease("bbbb02", &part.named()).hold().await.unwrap());
    assert_eq!(held.by.run, "aaaa01");
}

#[tokio::test]
async fn in_a_cluster_it_lies_at_the_master_of_its_slot_and_goes_with_it() {
    let part = cluster().await;
    is_one_runs_at_a_time(&part.named()).await;
    let run = lease("aaaa01", &part.named());
    run.hold().await.unwrap();
    let asked = part.nodes[0].ask(&["CLUSTER", "KEYSLOT", KEY]).await;
    let slot: u16 = redis::from_redis_value(asked).unwrap();
    let from = usize::from(slot > 5460) + usize::from(slot > 10922);
    let to = (from + 1) % 3;
    assert_eq!(part.nodes[from].keys().await, [KEY]);
    part.begin_move(slot, from, to).await;
    assert_eq!(run.hold().await.unwrap(), Hold::Renewed, "it has not moved yet");
    part.move_key(KEY, from, to).await;
    let on_its_way = run.hold().await.unwrap_err();
    assert!(on_its_way.may_pass(), "{on_its_way}");
    part.end_move(slot, to).await;
    part.is_whole().await;
    assert_eq!(run.hold().await.unwrap(), Hold::Renewed);
    assert_eq!(part.nodes[to].keys().await, [KEY]);
}

#[tokio::test]
async fn a_lease_that_is_renewed_outlasts_its_time_and_ends_by_itself_when_it_is_not() {
    let redis = redis_server(&[]).await;
    let (first, second) = (short("aaaa01", &redis.named()), short("bbbb02", &redis.named()));
    assert_eq!(first.hold().await.unwrap(), Hold::Taken);
    let begun = Instant::now();
    until("it has outlasted its time twice", async || {
        assert_eq!(first.hold().await.unwrap(), Hold::Renewed);
        assert_eq!(other(second.hold().await.unwrap()).by.run, "aaaa01");
        begun.elapsed() > Duration::from(SHORT) * 2
    })
    .await;
    let begun = Instant::now();
    until("it is the other's", async || {
        second.hold().await.unwrap() == Hold::Taken
    })
    .await;
    assert!(begun.elapsed() > Duration::from(SHORT) / 2, "not before its time");
    assert_eq!(other(first.hold().await.unwrap()).by.run, "bbbb02");
}

#[tokio::test]
async fn a_lease_that_vanished_is_taken_again_unless_another_run_was_faster() {
    let redis = redis_server(&[]).await;
    let (first, second) = (lease("aaaa01", &redis.named()), lease("bbbb02", &redis.named()));
    first.hold().await.unwrap();
    redis.ask(&["FLUSHALL"]).await;
    assert_eq!(first.hold().await.unwrap(), Hold::Taken);
    redis.ask(&["FLUSHALL"]).await;
    second.hold().await.unwrap();
    assert_eq!(other(first.hold().await.unwrap()).by.run, "bbbb02");
}

#[tokio::test]
async fn whatever_stands_there_is_somebodys_and_is_shown_short_and_without_escapes() {
    let redis = redis_server(&[]).await;
    let run = lease("aaaa01", &redis.named());
    let text = format!("\u{1b}[2Jkeep off {}", "x".repeat(100_000));
    redis.ask(&["SET", KEY, &text]).await;
    let held = other(run.take().await.unwrap());
    assert_eq!(held.left, None, "it does not end by itself");
    assert!(
        held.by.run.starts_with("[2Jkeep off") && held.by.run.len() < 100,
        "{held:?}"
    );
    run.give_back().await.unwrap();
    redis.ask(&["DEL", KEY]).await;
    redis.ask(&["LPUSH", KEY, "1"]).await;
    assert!(run.take().await.unwrap_err().to_string().contains("WRONGTYPE"));
    assert_eq!(redis.keys().await, [KEY]);
}

#[tokio::test]
async fn a_server_that_is_down_is_named_and_may_be_back_later() {
    let nowhere = nobody().await;
    let redis = Redis {
        place: RedisPlace::Address(nowhere.clone()),
        user: None,
        password: None,
        db: 0,
        tls: None,
    };
    let error = lease("aaaa01", &redis).take().await.unwrap_err();
    assert!(
        error.may_pass() && error.to_string().contains(&nowhere),
        "{error}"
    );
}

/// The words after the user's name of the `ACL SETUSER` that is named.
fn permitted(lease: &Lease) -> Vec<String> {
    let told = lease.rights();
    let command = told.en().split('`').nth(1).unwrap();
    let words = command.split(' ').skip(3);
    words.map(str::to_owned).collect()
}

async fn permit(redis: &RedisPart, rules: &[&str]) {
    let fresh = ["ACL", "SETUSER", "drill", "reset", "on", ">secret"];
    redis.ask(&[&fresh, rules].concat()).await;
}

#[tokio::test]
async fn the_rights_that_are_named_suffice_and_each_that_is_missing_is_refused_before_the_start() {
    let server = redis_server(&[]).await;
    let redis = Redis {
        user: Some("drill".into()),
        password: Some(SecretRef::Env("LEASE".into())),
        ..server.named()
    };
    let rules = permitted(&lease("aaaa01", &redis));
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    assert!(rules[0] == format!("~{KEY}") && rules.len() > 5, "{rules:?}");
    permit(&server, &rules).await;
    is_one_runs_at_a_time(&redis).await;
    for missing in &rules {
        let others: Vec<&str> = rules.iter().copied().filter(|rule| rule != missing).collect();
        permit(&server, &others).await;
        let error = lease("aaaa01", &redis).take().await.unwrap_err();
        assert!(
            matches!(error, DriverError::Unauthorized { .. }) && error.to_string().contains("NOPERM"),
            "{missing}: {error}"
        );
        server.ask(&["DEL", KEY]).await;
    }
    let page = include_str!("../../../docs/drivers/redis.md");
    assert!(
        page.contains(&format!("~allclear:lease:* {}", rules[1..].join(" "))),
        "the page says other rights than {rules:?}"
    );
}

//! Flags in a real Redis.

use super::*;
use crate::{
    drivers::redis::{
        Found, Glob, Key,
        testing::{RedisPart, redis_server},
    },
    model::{
        environment::{Redis, RedisPlace, SecretRef},
        ids::ServerName,
        playbook::Flags,
        secret::SecretText,
    },
};

pub(super) fn playbook(at_most: u32) -> Playbook {
    Playbook {
        flags: vec![Flags::Redis {
            server: ServerName::new("main").unwrap(),
            pattern: "degrade:order:*".into(),
            at_most,
        }],
        ..nothing_to_do()
    }
}

pub(super) fn at(address: &str, login: Option<(&str, &str)>) -> Environment {
    let server = Redis {
        place: RedisPlace::Address(address.to_owned()),
        user: login.map(|l| l.0.to_owned()),
        password: login.map(|_| SecretRef::Env("FLAGS_PASSWORD".into())),
        db: 0,
        tls: None,
    };
    let mut environment = environment(&[]);
    environment.redis.insert(ServerName::new("main").unwrap(), server);
    environment
}

fn secrets(password: &str) -> Secrets {
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("FLAGS_PASSWORD".into()), SecretText::new(password));
    secrets
}

async fn ready(redis: &RedisPart, at_most: u32) -> Stage {
    stage(at(&redis.address, None), playbook(at_most))
        .with_snapshot_read()
        .await
}

#[tokio::test]
async fn only_the_flags_that_the_drill_caused_are_deleted() {
    let redis = redis_server(&[]).await;
    redis.set(&["degrade:order:old", "degrade:cart:x", "other"]).await;
    let mut stage = ready(&redis, 1000).await;
    assert_eq!(super::super::flags(&stage.scene).await.state, StepState::Nothing);
    redis.set(&["degrade:order:1", "degrade:order:2"]).await;
    assert_eq!(needs_repair(&stage.scene).await.flags, 2);
    let end = super::super::flags(&stage.scene).await;
    assert_eq!(
        (end.state, end.detail.en()),
        (StepState::Done, "2 removed; 1 kept, older than the drill")
    );
    assert_eq!(
        redis.keys().await,
        ["degrade:cart:x", "degrade:order:old", "other"]
    );
    assert!(matches!(
        stage.intents()[..],
        [ChangeIntent::Flags { count: 2, .. }]
    ));
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn a_flag_that_is_written_again_after_the_last_look_of_the_step_is_seen_by_the_last_read() {
    let redis = redis_server(&[]).await;
    let stage = ready(&redis, 1000).await;
    redis.set(&["degrade:order:1"]).await;
    let end = super::super::flags(&stage.scene).await;
    assert_eq!((end.state, end.detail.en()), (StepState::Done, "1 removed"));
    assert!(left_behind(&stage.scene).await.is_empty());
    redis.set(&["degrade:order:1"]).await;
    let left = left_behind(&stage.scene).await;
    let said: Vec<_> = left.iter().map(|l| (l.what.en(), l.why.en())).collect();
    assert_eq!(
        said,
        [(
            "1 flags degrade:order:* in Redis main",
            "written after the drill began"
        )]
    );
    let again = super::super::flags(&stage.scene).await;
    assert_eq!(again.detail.en(), "1 removed");
    assert!(redis.keys().await.is_empty());
}

#[tokio::test]
async fn flags_that_never_stay_away_are_a_leftover() {
    let redis = redis_server(&[]).await;
    let stage = ready(&redis, 1000).await;
    redis.set(&["degrade:order:1"]).await;
    let writer = async {
        loop {
            redis.set(&["degrade:order:1"]).await;
        }
    };
    let end = tokio::select! {
        end = super::super::flags(&stage.scene) => end,
        () = writer => unreachable!(),
    };
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    redis.set(&["degrade:order:1"]).await;
    type_by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    assert!(redis.keys().await.is_empty());
}

#[tokio::test]
async fn more_flags_than_at_most_are_refused_and_none_is_deleted() {
    let redis = redis_server(&[]).await;
    redis.set(&["degrade:order:old"]).await;
    let stage = ready(&redis, 2).await;
    redis.set(&["degrade:order:1", "degrade:order:2"]).await;
    let end = super::super::flags(&stage.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert_eq!(redis.keys().await.len(), 3);
    // By hand: a look first, then everything but what was there before.
    let by_hand = end.leftovers[0].by_hand.as_deref().unwrap();
    let [look, delete] = by_hand.lines().collect::<Vec<_>>()[..] else {
        panic!("{by_hand}");
    };
    assert_eq!(type_by_hand(look).await.trim(), "2");
    assert_eq!(
        redis.keys().await.len(),
        3,
        "what at_most protects is not deleted by a look"
    );
    assert!(
        delete.contains("this deletes 2 flags or more: 3 or more match, at_most is 2"),
        "{delete}"
    );
    type_by_hand(delete).await;
    assert_eq!(redis.keys().await, ["degrade:order:old"]);
}

#[tokio::test]
async fn by_hand_after_an_unread_server_nothing_is_deleted_beyond_at_most() {
    let mut redis = redis_server(&[]).await;
    let stage = ready(&redis, 2).await;
    let folder = redis.kill();
    let end = super::super::flags(&stage.scene).await;
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    let by_hand = end.leftovers[0].by_hand.as_deref().unwrap();
    redis.start_again(folder).await;
    redis
        .set(&["degrade:order:1", "degrade:order:2", "degrade:order:3"])
        .await;
    let said = type_by_hand(by_hand).await;
    assert!(said.contains("3 flags match, more than at_most"), "{said}");
    assert_eq!(redis.keys().await.len(), 3);
    redis.ask(&["DEL", "degrade:order:3"]).await;
    type_by_hand(by_hand).await;
    assert!(redis.keys().await.is_empty());
}

#[tokio::test]
async fn without_a_snapshot_no_flag_is_deleted() {
    let redis = redis_server(&[]).await;
    redis.set(&["degrade:order:1"]).await;
    let stage = stage(at(&redis.address, None), playbook(10));
    let end = super::super::flags(&stage.scene).await;
    assert_eq!((end.state, end.leftovers.len()), (StepState::Failed, 1));
    assert_eq!(redis.keys().await, ["degrade:order:1"]);
}

#[tokio::test]
async fn rights_are_proved_before_and_del_stands_in_for_unlink() {
    let redis = redis_server(&[]).await;
    redis
        .ask(&[
            "ACL",
            "SETUSER",
            "only-del",
            "on",
            ">pw-only-del",
            "~degrade:*",
            "+scan",
            "+del",
            "+acl|whoami",
        ])
        .await;
    redis
        .ask(&[
            "ACL",
            "SETUSER",
            "reader",
            "on",
            ">pw-only-del",
            "~*",
            "+@read",
            "+acl",
        ])
        .await;
    redis.set(&["degrade:order:before"]).await;
    let login = at(&redis.address, Some(("only-del", "x")));
    let stage = stage_with(login, playbook(10), |_| {}, secrets("pw-only-del"), SHORT)
        .with_snapshot_read()
        .await;
    redis.set(&["degrade:order:1"]).await;
    let end = super::super::flags(&stage.scene).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert_eq!(redis.keys().await, ["degrade:order:before"]);

    for (user, password) in [("reader", "pw-only-del"), ("only-del", "wrong-password")] {
        let stage = stage_with(
            at(&redis.address, Some((user, "x"))),
            playbook(10),
            |_| {},
            secrets(password),
            SHORT,
        );
        let (_, checks) = read_snapshot(&stage.scene.plan, &stage.scene.drivers).await;
        assert_eq!(
            checks[0].outcome,
            crate::model::event::CheckOutcome::Refused,
            "{user}"
        );
        assert!(!format!("{checks:?}").contains(password));
    }
    assert_eq!(redis.keys().await, ["degrade:order:before"]);
}

#[tokio::test]
async fn keys_that_are_no_text_are_kept_and_deleted_by_their_bytes() {
    let redis = redis_server(&[]).await;
    let client = redis::Client::open(format!("redis://{}/", redis.address)).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let set = async |connection: &mut redis::aio::MultiplexedConnection, key: &[u8]| {
        let () = redis::cmd("SET")
            .arg(key)
            .arg(1)
            .query_async(connection)
            .await
            .unwrap();
    };
    set(&mut connection, b"degrade:order:\xfe'kept").await;
    let stage = ready(&redis, 10).await;
    set(&mut connection, b"degrade:order:\xff'caused").await;
    let left = left_behind(&stage.scene).await;
    type_by_hand(left[0].by_hand.as_deref().unwrap()).await;
    let server = stage
        .scene
        .drivers
        .redis(&ServerName::new("main").unwrap())
        .unwrap();
    let keys = server
        .matching(&Glob::new("degrade:*").unwrap(), 10)
        .await
        .and_then(Found::all)
        .unwrap();
    assert_eq!(
        keys.into_iter().collect::<Vec<_>>(),
        [Key::new(&b"degrade:order:\xfe'kept"[..])]
    );
}

#[tokio::test]
async fn a_flag_of_another_type_and_more_than_are_named_are_left() {
    let redis = redis_server(&[]).await;
    let keys: Vec<String> = (0..23).map(|n| format!("degrade:order:{n}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    redis.set(&keys).await;
    let stage = ready(&redis, 100).await;
    assert!(left_behind(&stage.scene).await.is_empty());
    redis.ask(&["DEL", "degrade:order:7"]).await;
    redis.ask(&["RPUSH", "degrade:order:7", "1"]).await;
    let left = left_behind(&stage.scene).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(
        left[0].why.en().contains("its type is list now, and was string"),
        "{left:?}"
    );
    for key in &keys {
        redis.ask(&["DEL", key]).await;
    }
    let left = left_behind(&stage.scene).await;
    assert_eq!(left.len(), 21, "{left:?}");
    assert!(left[20].what.en().starts_with("3 more flags"), "{left:?}");
}

#[tokio::test]
async fn whether_flags_of_before_are_what_they_were_is_not_known_if_they_cannot_be_read() {
    let redis = redis_server(&[]).await;
    redis.set(&["degrade:order:old"]).await;
    let stage = ready(&redis, 100).await;
    redis.ask(&["ACL", "SETUSER", "default", "-type"]).await;
    let left = left_behind(&stage.scene).await;
    assert_eq!(
        (left.len(), left[0].certainty),
        (1, Certainty::Unknown),
        "{left:?}"
    );
    assert!(
        left[0].what.en().starts_with("1 flags in Redis main, older"),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_flag_that_has_become_too_large_to_be_read_is_neither_as_before_nor_called_changed() {
    let redis = redis_server(&[]).await;
    redis.set(&["degrade:order:old"]).await;
    let stage = ready(&redis, 100).await;
    redis.ask(&["SETRANGE", "degrade:order:old", "100000", "x"]).await;
    let left = left_behind(&stage.scene).await;
    assert_eq!(
        (left.len(), left[0].certainty),
        (1, Certainty::Unknown),
        "{left:?}"
    );
    assert!(left[0].why.en().contains("can no longer be read"), "{left:?}");
}

//! Flags on one server, by TLS, behind Sentinels and in a cluster: the same in each, and the command by hand as well.

use redis::{ErrorKind, ServerErrorKind};

use super::{flags::playbook, redis_moments::CALM, *};
use crate::{
    drivers::{
        redis::testing::{
            ClusterPart, RedisPart, WatchedPart, ask_at, cluster, cluster_over_tls, redis_server, tls_server,
            watched, watched_over_tls,
        },
        testing::{nobody, until},
    },
    model::{environment::Redis, ids::ServerName},
};

/// A Redis of some kind: how it is named, and all servers that may hold keys.
pub(super) struct Place<'a> {
    pub redis: Redis,
    pub servers: Vec<&'a str>,
    /// Where writes go; it sends on in a cluster.
    pub cli: Vec<String>,
}

impl Place<'_> {
    pub(super) fn at(redis: Redis, servers: Vec<&str>, cluster: bool) -> Place<'_> {
        let port = servers[0].rsplit_once(':').unwrap().1;
        let mut cli = vec!["-p".to_owned(), port.to_owned()];
        cli.extend(cluster.then(|| "-c".to_owned()));
        Place { redis, servers, cli }
    }

    pub(super) fn environment(&self) -> Environment {
        let mut environment = environment(&[]);
        let name = ServerName::new("main").unwrap();
        environment.redis.insert(name, self.redis.clone());
        environment
    }

    pub(super) async fn stage(&self, at_most: u32) -> Stage {
        let (place, book) = (self.environment(), playbook(at_most));
        let stage = stage_with(place, book, |_| {}, Secrets::none(), CALM);
        stage.with_snapshot_read().await
    }

    /// Types words to the server.
    pub(super) fn say(&self, words: &[&str]) -> String {
        let cli: Vec<&str> = self.cli.iter().map(String::as_str).collect();
        crate::drivers::redis::testing::tool("redis-cli", &[&cli, words].concat())
    }

    /// All keys that any server has, once it has read what it had.
    pub(super) async fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for server in &self.servers {
            let mut here = Vec::new();
            until("it has loaded", async || {
                match ask_at::<Vec<String>>(server, &[b"KEYS", b"*"]).await {
                    Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::BusyLoading) => false,
                    answer => {
                        here = answer.unwrap();
                        true
                    }
                }
            })
            .await;
            keys.extend(here);
        }
        keys.sort();
        keys
    }
}

pub(super) fn single(redis: &RedisPart) -> Place<'_> {
    Place::at(redis.named(), vec![&redis.address], false)
}

pub(super) fn sharded(part: &ClusterPart) -> Place<'_> {
    let nodes = part.nodes.iter().map(|n| n.address.as_str()).collect();
    Place::at(part.named(), nodes, true)
}

/// Behind Sentinels that name this server as the master.
pub(super) fn behind(part: &WatchedPart, master: usize) -> Place<'_> {
    Place::at(part.named(), vec![&part.servers[master].address], false)
}

/// Flags that are older than the drill, of each type, one with a time to live.
const OLD: [&[&str]; 6] = [
    &["SET", "degrade:order:text", "old"],
    &["HSET", "degrade:order:hash", "field", "value"],
    &["RPUSH", "degrade:order:list", "a", "b"],
    &["SADD", "degrade:order:set", "member"],
    &["ZADD", "degrade:order:sorted", "1", "member"],
    &["SET", "degrade:order:expires", "old", "EX", "1000"],
];

fn caused() -> [String; 5] {
    ["1", "with space", "quote'\"", "back\\slash", "line\nbreak"].map(|end| format!("degrade:order:{end}"))
}

async fn kept_and_removed(place: Place<'_>) {
    for words in OLD {
        place.say(words);
    }
    place.say(&["SET", "session", "1"]);
    let stage = place.stage(100).await;
    let dumps = || OLD.map(|words| place.say(&["DUMP", words[1]]));
    let (old, before) = (dumps(), place.keys().await);
    assert_eq!(super::super::flags(&stage.scene).await.state, StepState::Nothing);

    for key in caused() {
        place.say(&["SET", &key, "1"]);
    }
    let end = super::super::flags(&stage.scene).await;
    assert_eq!(
        (end.state, end.detail.en()),
        (StepState::Done, "5 removed; 6 kept, older than the drill")
    );
    assert_eq!(place.keys().await, before);
    assert_eq!(dumps(), old);
    let left: u32 = place
        .say(&["TTL", "degrade:order:expires"])
        .trim()
        .parse()
        .unwrap();
    assert!((900..=1000).contains(&left), "{left}");

    let ends = place.say(&["PEXPIRETIME", "degrade:order:expires"]);
    // What the drill does to an old flag is seen, whatever its type, until a person has put it back.
    let spoilt: [(&[&str], &[&str], &str); 5] = [
        (
            &["SET", "degrade:order:text", "new"],
            OLD[0],
            "its value is another",
        ),
        (
            &["HSET", "degrade:order:hash", "field", "new"],
            OLD[1],
            "its value is another",
        ),
        (
            &["LPUSH", "degrade:order:list", "new"],
            &["LPOP", "degrade:order:list"],
            "its value is another",
        ),
        (
            &["PERSIST", "degrade:order:expires"],
            &["PEXPIREAT", "degrade:order:expires", ends.trim()],
            "it does not expire now",
        ),
        (&["DEL", "degrade:order:sorted"], OLD[4], "it is gone"),
    ];
    for (words, back, how) in spoilt {
        place.say(words);
        let left = left_behind(&stage.scene).await;
        assert_eq!(left.len(), 1, "{words:?} {left:?}");
        assert!(
            left[0].what.en().contains(words[1]) && left[0].why.en().contains(how),
            "{left:?}"
        );
        assert_eq!(left[0].certainty, Certainty::Seen);
        type_by_hand(left[0].by_hand.as_deref().unwrap()).await;
        place.say(back);
        let left = left_behind(&stage.scene).await;
        assert!(left.is_empty(), "{words:?} {left:?}");
    }

    // Few are named by hand, many are found again; an unread server's are found again as well.
    for key in caused() {
        place.say(&["SET", &key, "1"]);
    }
    type_by_hand(left_behind(&stage.scene).await[0].by_hand.as_deref().unwrap()).await;
    assert_eq!(place.keys().await, before);
    for n in 0..101 {
        place.say(&["SET", &format!("degrade:order:{n}"), "1"]);
    }
    place.say(&["SET", &caused()[4], "1"]);
    let end = super::super::flags(&stage.scene).await;
    assert_eq!(
        end.state,
        StepState::Failed,
        "more than at_most: {}",
        end.detail.en()
    );
    let (look, delete) = end.leftovers[0]
        .by_hand
        .as_deref()
        .unwrap()
        .split_once('\n')
        .unwrap();
    let counted: usize = type_by_hand(look).await.trim().parse().unwrap();
    assert_eq!(
        place.keys().await.len(),
        before.len() + counted,
        "a look deletes nothing"
    );
    type_by_hand(delete).await;
    assert_eq!(place.keys().await, before);
    assert_eq!(dumps(), old);
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn a_literal_prefix_matches_itself_alone() {
    let redis = redis_server(&[]).await;
    redis.set(&["flags:o:x", "flags:ab:x", "session"]).await;
    // What the reader makes of `prefix: "flags:[o]*:"`.
    let book = Playbook {
        flags: vec![crate::model::playbook::Flags::Redis {
            server: ServerName::new("main").unwrap(),
            pattern: r"flags:\[o\]\*:*".into(),
            at_most: 10,
        }],
        ..nothing_to_do()
    };
    let place = Place::at(redis.named(), vec![&redis.address], false);
    let stage = stage(place.environment(), book).with_snapshot_read().await;
    redis.set(&["flags:[o]*:1", "flags:o:1", "flags:[o]ab:1"]).await;
    let end = super::super::flags(&stage.scene).await;
    assert_eq!(end.detail.en(), "1 removed");
    assert_eq!(
        redis.keys().await,
        ["flags:[o]ab:1", "flags:ab:x", "flags:o:1", "flags:o:x", "session"]
    );
    redis.set(&["flags:[o]*:1"]).await;
    type_by_hand(left_behind(&stage.scene).await[0].by_hand.as_deref().unwrap()).await;
    assert_eq!(redis.keys().await.len(), 5);
}

#[tokio::test]
async fn on_one_server_old_flags_are_kept_whole_and_new_ones_removed() {
    kept_and_removed(single(&redis_server(&[]).await)).await;
}

#[tokio::test]
async fn over_tls_old_flags_are_kept_whole_and_new_ones_removed() {
    let part = tls_server().await;
    kept_and_removed(Place::at(
        part.named("ca.pem", true),
        vec![&part.plain.address],
        false,
    ))
    .await;
}

#[tokio::test]
async fn behind_sentinels_old_flags_are_kept_whole_and_new_ones_removed() {
    kept_and_removed(behind(&watched().await, 0)).await;
}

#[tokio::test]
async fn behind_sentinels_over_tls_old_flags_are_kept_whole_and_new_ones_removed() {
    kept_and_removed(behind(&watched_over_tls().await, 0)).await;
}

#[tokio::test]
async fn in_a_cluster_old_flags_are_kept_whole_and_new_ones_removed() {
    kept_and_removed(sharded(&cluster().await)).await;
}

#[tokio::test]
async fn in_a_cluster_over_tls_old_flags_are_kept_whole_and_new_ones_removed() {
    kept_and_removed(sharded(&cluster_over_tls().await)).await;
}

/// What preflight says of a plain address.
async fn refused_at(redis: &RedisPart) -> String {
    let stage = stage(single(redis).environment(), playbook(10));
    let (_, checks) = read_snapshot(&stage.scene.plan, &stage.scene.drivers).await;
    assert_eq!(
        checks[0].outcome,
        crate::model::event::CheckOutcome::Refused,
        "{checks:?}"
    );
    checks[0].found.en().to_owned()
}

#[tokio::test]
async fn a_node_of_a_cluster_is_no_server_of_its_own_whatever_lies_on_it() {
    let part = cluster().await;
    for node in &part.nodes {
        let said = refused_at(node).await;
        assert!(said.contains("write `cluster: {addresses:"), "{said}");
    }
}

#[tokio::test]
async fn a_node_of_a_cluster_is_known_by_any_one_question_that_it_answers() {
    for unknown in [["INFO", "CLUSTER"], ["HELLO", "CLUSTER"], ["HELLO", "INFO"]] {
        let renamed = unknown.map(|word| ["--rename-command", word, ""]).concat();
        // Its usual port for the others is ten thousand above, and may be somebody's.
        let bus = nobody().await;
        let bus = bus.rsplit_once(':').unwrap().1;
        let options = ["--cluster-enabled", "yes", "--cluster-port", bus];
        let node = redis_server(&[&options[..], &renamed].concat()).await;
        let said = refused_at(&node).await;
        assert!(
            said.contains("write `cluster: {addresses:"),
            "without {unknown:?}: {said}"
        );
    }
}

#[tokio::test]
async fn a_sentinel_is_no_server_of_flags() {
    let said = refused_at(&watched().await.sentinel).await;
    assert!(said.contains("write `sentinel: {master: NAME"), "{said}");
}

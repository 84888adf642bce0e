//! The rights that the driver's page names: a user with exactly these can do all, and one that is missing is named before anything
//! depends on it.

use super::{
    flags::playbook,
    redis_moments::CALM,
    redis_places::{Place, behind, sharded, single},
    *,
};
use crate::{
    drivers::redis::testing::{RedisPart, cluster, redis_server, watched},
    model::{
        environment::{RedisPlace, SecretRef},
        event::{Check, CheckOutcome},
        playbook::Flags,
        secret::SecretText,
    },
};

const PAGE: &str = include_str!("../../../../docs/drivers/redis.md");

/// What the page's users are given: the first of them at servers, the second at Sentinels.
fn user(nth: usize) -> Vec<String> {
    let rules = PAGE.split("ACL SETUSER drill ").nth(nth + 1).unwrap();
    let end = rules.find(['`', '\n']).unwrap();
    rules[..end].split(' ').map(str::to_owned).collect()
}

/// What the page's table gives them for this as well.
fn also(purpose: &str) -> Vec<String> {
    let of_it = |line: &&str| line.starts_with("| `+") && line.contains(purpose);
    let row = PAGE.lines().find(of_it).unwrap().replace(r"\|", "/");
    let cell = row.split('|').nth(1).unwrap();
    let words = cell.split(['`', ' ']).filter(|word| word.starts_with('+'));
    words.map(|word| word.replace('/', "|")).collect()
}

/// What the page gives them at Sentinels for the command by hand.
fn by_hand_at_sentinels() -> String {
    let mut words = PAGE.split('`');
    words
        .find(|word| word.starts_with("+sentinel|"))
        .unwrap()
        .to_owned()
}

/// A place, and what the user may at each of its servers.
struct Permitted<'a> {
    place: Place<'a>,
    at: Vec<(&'a RedisPart, Vec<String>)>,
}

const ALL: &str = "degrade:order:*";
/// Leaves no room for a key that nobody has.
const NARROW: &str = "degrade:order:[ab]";

impl<'a> Permitted<'a> {
    fn new(mut place: Place<'a>, at: Vec<(&'a RedisPart, Vec<String>)>) -> Self {
        place.redis.user = Some("drill".into());
        place.redis.password = Some(SecretRef::Env("FLAGS_PASSWORD".into()));
        if let RedisPlace::Sentinel(sentinels) = &mut place.redis.place {
            sentinels.user = Some("drill".into());
            sentinels.password = Some(SecretRef::Env("SENTINEL_PASSWORD".into()));
        }
        Self { place, at }
    }

    /// Gives the user all of it but one right.
    async fn give_all_but(&self, right: &str) {
        for (server, rules) in &self.at {
            server.ask(&["ACL", "DELUSER", "drill"]).await;
            let rules = rules.iter().map(String::as_str).filter(|rule| *rule != right);
            let words: Vec<&str> = ["ACL", "SETUSER", "drill"].into_iter().chain(rules).collect();
            server.ask(&words).await;
        }
    }

    async fn preflight(&self, glob: &str) -> (Stage, Check) {
        let mut book = playbook(100);
        let Flags::Redis { pattern, .. } = &mut book.flags[0];
        *pattern = glob.to_owned();
        let mut secrets = Secrets::none();
        for variable in ["FLAGS_PASSWORD", "SENTINEL_PASSWORD"] {
            secrets.insert(SecretRef::Env(variable.into()), SecretText::new("secret"));
        }
        let mut stage = stage_with(self.place.environment(), book, |_| {}, secrets, CALM);
        let (snapshot, mut checks) = read_snapshot(&stage.scene.plan, &stage.scene.drivers).await;
        stage.scene.snapshot = Arc::new(snapshot);
        (stage, checks.remove(0))
    }

    /// All of a recovery, by itself and by hand.
    async fn recovers(&self) {
        self.give_all_but("").await;
        let set = |key: &str| {
            drop(
                self.place
                    .say(&["SET", &format!("degrade:order:{key}"), "before"]),
            )
        };
        set("old");
        let (stage, check) = self.preflight(ALL).await;
        assert_ne!(check.outcome, CheckOutcome::Refused, "{check:?}");
        set("1");
        set("2");
        let end = super::super::flags(&stage.scene).await;
        assert_eq!(
            (end.state, end.detail.en()),
            (StepState::Done, "2 removed; 1 kept, older than the drill")
        );
        assert!(left_behind(&stage.scene).await.is_empty());
        set("3");
        let left = left_behind(&stage.scene).await;
        let by_hand = left[0].by_hand.as_deref().unwrap();
        type_by_hand(&format!(
            "FLAGS_PASSWORD=secret; SENTINEL_PASSWORD=secret; {by_hand}"
        ))
        .await;
        assert!(left_behind(&stage.scene).await.is_empty());
        assert_eq!(self.place.say(&["GET", "degrade:order:old"]).trim(), "before");
    }

    /// Without it preflight refuses, and says which it is.
    async fn needs(&self, right: &str, glob: &str) {
        let there = |(_, rules): &(_, Vec<String>)| rules.iter().any(|rule| rule == right);
        assert!(self.at.iter().any(there), "the page does not name {right}");
        self.give_all_but(right).await;
        let (_, check) = self.preflight(glob).await;
        assert_eq!(check.outcome, CheckOutcome::Refused, "{right}: {check:?}");
        let command = format!("'{}'", right.trim_start_matches('+'));
        assert!(check.found.en().contains(&command), "{right}: {check:?}");
    }
}

#[tokio::test]
async fn on_one_server_the_documented_rights_are_enough_and_each_is_named_if_it_is_missing() {
    let redis = redis_server(&[]).await;
    let permitted = Permitted::new(single(&redis), vec![(&redis, user(0))]);
    permitted.recovers().await;
    for right in ["+scan", "+unlink"] {
        permitted.needs(right, ALL).await;
    }
    // Whether it is a master is known without ROLE where a removal can be tried.
    permitted.needs("+role", NARROW).await;
    let (_, check) = permitted.preflight(ALL).await;
    assert_ne!(check.outcome, CheckOutcome::Refused, "{check:?}");
}

#[tokio::test]
async fn in_another_database_and_by_del_the_documented_rights_are_enough_and_select_is_named() {
    let redis = redis_server(&[]).await;
    let mut place = single(&redis);
    place.redis.db = 3;
    place.cli.extend(["-n".to_owned(), "3".to_owned()]);
    let mut rules = [user(0), also("other than 0")].concat();
    let [del, unlink] = &also("may not be given")[..] else {
        panic!("one right instead of another");
    };
    let place_of_unlink = rules.iter().position(|rule| rule == unlink).unwrap();
    rules[place_of_unlink] = del.clone();
    let permitted = Permitted::new(place, vec![(&redis, rules)]);
    permitted.recovers().await;
    permitted.needs("+select", ALL).await;
    permitted.needs("+del", ALL).await;
}

#[tokio::test]
async fn in_a_cluster_the_documented_rights_are_enough_and_each_is_named_if_it_is_missing() {
    let part = cluster().await;
    let rules = [user(0), also("| a cluster |")].concat();
    let at = part.nodes.iter().map(|node| (node, rules.clone())).collect();
    let permitted = Permitted::new(sharded(&part), at);
    permitted.recovers().await;
    for right in ["+scan", "+unlink", "+cluster|nodes", "+asking"] {
        permitted.needs(right, ALL).await;
    }
}

#[tokio::test]
async fn behind_sentinels_the_documented_rights_are_enough_and_each_is_named_if_it_is_missing() {
    let part = watched().await;
    let at_sentinel = [user(1), vec![by_hand_at_sentinels()]].concat();
    let mut at: Vec<_> = part.servers.iter().map(|server| (server, user(0))).collect();
    at.push((&part.sentinel, at_sentinel));
    let permitted = Permitted::new(behind(&part, 0), at);
    permitted.recovers().await;
    for right in ["+sentinel|master", "+scan", "+unlink"] {
        permitted.needs(right, ALL).await;
    }
}

#[tokio::test]
async fn with_the_right_to_a_dry_run_a_missing_one_is_named_where_nothing_can_be_tried() {
    let redis = redis_server(&[]).await;
    let rules = [user(0), also("without trying")].concat();
    let permitted = Permitted::new(single(&redis), vec![(&redis, rules)]);
    permitted.recovers().await;
    permitted.needs("+unlink", NARROW).await;
}

#[tokio::test]
async fn with_the_documented_rights_older_flags_are_compared_and_without_one_of_them_fewer() {
    let redis = redis_server(&[]).await;
    let reading = also("compared at the end");
    let rules = [user(0), reading.clone()].concat();
    let permitted = Permitted::new(single(&redis), vec![(&redis, rules)]);
    permitted.recovers().await;
    for words in [
        &["HSET", "degrade:order:hash", "field", "value"][..],
        &["RPUSH", "degrade:order:list", "a"],
        &["SADD", "degrade:order:set", "member"],
        &["ZADD", "degrade:order:sorted", "1", "member"],
    ] {
        redis.ask(words).await;
    }
    let (_, check) = permitted.preflight(ALL).await;
    assert_eq!(check.outcome, CheckOutcome::Passed, "{check:?}");
    assert!(check.found.en().contains("5 of them compared"), "{check:?}");
    for right in &reading {
        permitted.give_all_but(right).await;
        let (_, check) = permitted.preflight(ALL).await;
        // When a key ends is told by either of two commands.
        let outcome = match right.as_str() {
            "+pexpiretime" | "+pttl" => CheckOutcome::Passed,
            _ => CheckOutcome::Warned,
        };
        assert_eq!(check.outcome, outcome, "{right}: {check:?}");
    }
    // Without it nothing is compared, and the page's first line is enough for all else.
    let permitted = Permitted::new(single(&redis), vec![(&redis, user(0))]);
    permitted.give_all_but("").await;
    let (_, check) = permitted.preflight(ALL).await;
    assert!(check.found.en().contains("0 of them compared"), "{check:?}");
}

//! Bad luck with a Redis at a moment that is known to the command: the step stands still while it strikes.

use std::{cell::OnceCell, pin::pin};

use tokio::time::Instant;

use super::{
    redis_luck::{FLAGS, LONG, halted, is_true},
    redis_places::{Place, sharded, single},
    *,
};
use crate::drivers::{
    redis::testing::{ClusterPart, cluster, errors_at, redis_server, tool},
    testing::until,
};

/// Time enough for each answer of a server that loads, and on a busy machine.
pub(super) const CALM: Patience = Patience {
    connect: Span::seconds(10),
    call: Span::seconds(10),
    ..LONG
};

/// Runs the step; `luck` strikes as soon as it is `time`. The runtime has this one thread: meanwhile nobody else does anything, and what
/// the step has just said is not on its way yet.
async fn at_the_moment<T>(step: impl Future<Output = T>, time: impl Fn() -> bool, luck: impl FnOnce()) -> T {
    let (mut step, mut luck) = (pin!(step), Some(luck));
    let end = std::future::poll_fn(|context| {
        let polled = step.as_mut().poll(context);
        if let Some(luck) = luck.take_if(|_| time()) {
            luck();
        }
        polled
    })
    .await;
    assert!(luck.is_none(), "the moment never came");
    end
}

/// The app writes some flags again right after their removal, before the step looks again.
async fn written_again(place: Place<'_>) {
    let mut halted = halted(&place, CALM).await;
    let port = |server: &&str| server.rsplit_once(':').unwrap().1.to_owned();
    let ports: Vec<String> = place.servers.iter().map(port).collect();
    let size = |port: &String| {
        tool("redis-cli", &["-p", port, "DBSIZE"])
            .trim()
            .parse::<usize>()
            .unwrap()
    };
    let gone = || ports.iter().map(size).sum::<usize>() == 2;
    let again = || {
        for n in [7, 8] {
            place.say(&["SET", &format!("degrade:order:{n}"), "1"]);
        }
    };
    let end = at_the_moment(halted.struck(async {}, async {}), gone, again).await;
    let said = format!(
        "{} removed; 2 of them written again meanwhile; 1 kept, older than the drill",
        FLAGS + 2
    );
    assert_eq!((end.state, end.detail.en()), (StepState::Done, said.as_str()));
    is_true(&place, &end, &halted.stage.scene, "written again").await;
}

#[tokio::test]
async fn flags_that_are_written_again_before_the_recheck_are_deleted_again_and_it_is_said() {
    written_again(single(&redis_server(&[]).await)).await;
}

#[tokio::test]
async fn in_a_cluster_flags_that_are_written_again_before_the_recheck_are_deleted_again_and_it_is_said() {
    written_again(sharded(&cluster().await)).await;
}

/// The slot of a flag, the node that has it, and another one.
async fn slot(part: &ClusterPart) -> (u16, usize, usize) {
    let slot = part.nodes[0]
        .ask(&["CLUSTER", "KEYSLOT", "degrade:order:0"])
        .await;
    let slot: u16 = redis::from_redis_value(slot).unwrap();
    let from = usize::from(slot > 5460) + usize::from(slot > 10922);
    (slot, from, (from + 1) % 3)
}

#[tokio::test]
async fn a_key_that_moved_right_before_the_change_while_its_slot_is_open_is_followed() {
    let part = cluster().await;
    let place = sharded(&part);
    let mut halted = halted(&place, CALM).await;
    let (slot, from, to) = slot(&part).await;
    let luck = async {
        part.begin_move(slot, from, to).await;
        part.move_key("degrade:order:0", from, to).await;
    };
    let end = halted.struck(luck, async {}).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert_eq!(errors_at(&part.nodes[from].address, "ASK").await, 1);
    is_true(&place, &end, &halted.stage.scene, "ask").await;
}

#[tokio::test]
async fn a_slot_that_moved_between_the_look_at_the_cluster_and_the_change_is_followed() {
    let part = cluster().await;
    let mut place = sharded(&part);
    // By one node alone, so that it is known how often each is asked for its view.
    place.redis = part.named_by(&[0]);
    let mut halted = halted(&place, CALM).await;
    let (slot, from, to) = slot(&part).await;
    let ids = [part.id(from).await, part.id(to).await];
    let sent_on = async || errors_at(&part.nodes[from].address, "MOVED").await;
    let sent_on_before = sent_on().await;

    let views = || {
        let views = part.nodes.iter().map(|node| {
            let stats = tool("redis-cli", &["-p", node.port(), "INFO", "commandstats"]);
            let (_, calls) = stats.split_once("cmdstat_cluster|nodes:calls=").unwrap();
            calls.split_once(',').unwrap().0.parse::<usize>().unwrap()
        });
        views.collect::<Vec<_>>()
    };
    let before = OnceCell::new();
    // The step asks its one node who the masters are, then each of them, then it sends the removals.
    let opened = || {
        before
            .get()
            .is_some_and(|at: &Vec<_>| views() == [at[0] + 2, at[1] + 1, at[2] + 1])
    };
    let moves = || {
        let at = |node: usize, words: &[&str]| {
            let said = tool("redis-cli", &[&["-p", part.nodes[node].port()], words].concat());
            assert_eq!(said.trim(), "OK", "{words:?}");
        };
        let (slot, port) = (slot.to_string(), part.nodes[to].port());
        at(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &ids[0]]);
        at(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &ids[1]]);
        at(
            from,
            &["MIGRATE", "127.0.0.1", port, "degrade:order:0", "0", "1000"],
        );
        for node in [to, from] {
            at(node, &["CLUSTER", "SETSLOT", &slot, "NODE", &ids[1]]);
        }
    };
    let looked = async { before.set(views()).unwrap() };
    let end = at_the_moment(halted.struck(looked, async {}), opened, moves).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    let count = format!("{FLAGS} removed; 1 kept, older than the drill");
    assert_eq!(end.detail.en(), count);
    assert_eq!(sent_on().await, sent_on_before + 1);
    part.is_whole().await;
    is_true(&place, &end, &halted.stage.scene, "moved").await;
}

/// Loads its keys so slowly that all of them take six seconds, and answers once a second meanwhile.
const SLOW: [&str; 4] = [
    "--key-load-delay",
    "20000",
    "--loading-process-events-interval-bytes",
    "1024",
];

#[tokio::test]
async fn one_that_is_loading_in_mid_step_is_asked_until_it_has_loaded() {
    let mut redis = redis_server(&SLOW).await;
    let (named, address) = (redis.named(), redis.address.clone());
    let place = Place::at(named, vec![&address], false);
    let mut halted = halted(&place, CALM).await;
    place.say(&["SAVE"]);
    let restarts = async {
        let folder = redis.kill();
        redis.start_again(folder).await;
    };
    let loads = async {
        until("the step has been told LOADING", async || {
            errors_at(&address, "LOADING").await > 1
        })
        .await;
        place.say(&["CONFIG", "SET", "key-load-delay", "0"]);
    };
    let end = halted.struck(restarts, loads).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    is_true(&place, &end, &halted.stage.scene, "loading").await;
}

#[tokio::test]
async fn one_that_is_still_loading_when_the_time_of_the_step_is_over_is_a_leftover() {
    let mut redis = redis_server(&SLOW).await;
    let (named, address) = (redis.named(), redis.address.clone());
    let place = Place::at(named, vec![&address], false);
    let mut halted = halted(
        &place,
        Patience {
            step: SHORT.step,
            ..CALM
        },
    )
    .await;
    place.say(&["SAVE"]);
    let restarts = async {
        let folder = redis.kill();
        redis.start_again(folder).await;
    };
    let began = Instant::now();
    let end = halted.struck(restarts, async {}).await;
    assert!(elapsed(began) >= SHORT.step, "{}", elapsed(began));
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(end.detail.en().contains("LOADING"), "{}", end.detail.en());
    place.say(&["CONFIG", "SET", "key-load-delay", "0"]);
    redis.has_loaded().await;
    is_true(&place, &end, &halted.stage.scene, "still loading").await;
}

//! The environment's lease between runs that know nothing of each other: another state directory is another machine.
//! Needs `redis-server` on the PATH: scripts/needs installs it.

mod luck_support;

use luck_support::{Place, Program, Redis, Shop, any_verdict, until};
use rustix::process::{Pid, Signal, kill_process};

const RUN: [&str; 3] = ["run", "drill.yaml", "--plain"];
const KEY: &str = "allclear:lease:shop";

/// A place whose environment is the range, with its lease in that Redis.
fn place(shop: &Shop, redis: &Redis, drill: &str) -> Place {
    let url = redis.url();
    let address = url.trim_start_matches("redis://").trim_end_matches('/');
    let kept = format!("lease: {{redis: lock}}\n    redis: {{lock: {{address: \"{address}\"}}, main:");
    let place = Place::with(&shop.scraped().replace("redis: {main:", &kept));
    place.file("drill.yaml", drill);
    place
}

async fn say(redis: &Redis, command: &str) -> String {
    redis.say(command).await.expect("an answer")
}

/// How long the lease lasts unless it is renewed, in milliseconds.
async fn left(redis: &Redis) -> i64 {
    let answer = say(redis, &format!("PTTL {KEY}")).await;
    answer.trim_start_matches(':').trim().parse().expect("a number")
}

async fn is_free(redis: &Redis) -> bool {
    left(redis).await == -2
}

async fn is_anothers(redis: &Redis) {
    let set = format!(r#"SET {KEY} '{{"run":"beef01","who":"ben","host":"ops-2"}}' PX 600000"#);
    assert_eq!(say(redis, &set).await.trim(), "+OK");
}

/// The keeper of the run of a place.
fn keeper(place: &Place) -> Pid {
    let is_keeper = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"keeper")
    };
    let pid = place.processes().into_iter().find(is_keeper).expect("a keeper");
    Pid::from_raw(pid).expect("a process id")
}

async fn run_id(run: &Program) -> String {
    let line = run.says(" @ PREPROD shop").await;
    let mut words = line.split_whitespace().skip_while(|word| *word != "run");
    words.nth(1).expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_from_another_state_directory_is_refused_until_the_first_is_over() {
    let (shop, redis) = (Shop::open(&[]).await, Redis::start().await);
    let drill = any_verdict(&[]);
    let (here, there) = (place(&shop, &redis, &drill), place(&shop, &redis, &drill));
    let first = here.start(&RUN);
    let id = run_id(&first).await;
    first.says("taken in redis lock until the run is over").await;
    let second = there.run(&RUN).await.with_code(5);
    let second = second.saying(&format!("held by run {id}"));
    assert!(!second.out.contains("BASELINE"), "{}", second.out);
    assert!(!is_free(&redis).await, "it is the first's still");
    first.signal(Signal::INT);
    first.ended().await.with_code(130);
    assert!(
        is_free(&redis).await,
        "given back, long before it would have ended"
    );
    let next = there.start(&RUN);
    next.says("BASELINE").await;
    assert!(!is_free(&redis).await);
    next.signal(Signal::INT);
    next.ended().await.with_code(130);
    assert!(
        is_free(&redis).await,
        "given back, long before it would have ended"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_run_that_turns_up_in_mid_fault_makes_this_one_recover() {
    let (shop, redis) = (Shop::open(&[]).await, Redis::start().await);
    let place = place(&shop, &redis, &any_verdict(&[("duration: 10s", "duration: 60s")]));
    let run = place.start(&RUN);
    run.says(" LIVE").await;
    is_anothers(&redis).await;
    let ended = run.ended().await.with_code(3);
    ended
        .saying("lease lost: held by run beef01 (ben on ops-2)")
        .saying("ALL CLEAR");
    shop.is_as_before().await;
    let kept = say(&redis, &format!("GET {KEY}")).await;
    assert!(kept.contains("beef01"), "what is theirs is left: {kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_of_a_run_whose_keeper_is_killed_is_renewed_by_the_next_one_to_the_end() {
    let (shop, redis) = (Shop::open(&[]).await, Redis::start().await);
    let place = place(&shop, &redis, &any_verdict(&[("duration: 10s", "duration: 60s")]));
    let run = place.start(&RUN);
    run.says(" LIVE").await;
    let keeper = keeper(&place);
    // So that it is not the dying one that has renewed it.
    kill_process(keeper, Signal::STOP).expect("stopped");
    say(&redis, &format!("PEXPIRE {KEY} 25000")).await;
    kill_process(keeper, Signal::KILL).expect("killed");
    until("it is renewed", async || left(&redis).await > 40_000).await;
    run.ended().await.with_code(3).saying("ALL CLEAR");
    shop.is_as_before().await;
    assert!(
        is_free(&redis).await,
        "given back, long before it would have ended"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_is_told_who_holds_the_lease_and_goes_on() {
    let (shop, redis) = (Shop::open(&[]).await, Redis::start().await);
    let place = place(&shop, &redis, &any_verdict(&[]));
    is_anothers(&redis).await;
    let ended = place.run(&["restore", "drill.yaml", "--yes", "--plain"]).await;
    assert_ne!(ended.code, 5, "{}", ended.out);
    let ended = ended.saying("held by run beef01 (ben on ops-2)");
    assert!(ended.out.contains("FAULTS GONE"), "{}", ended.out);
    let kept = say(&redis, &format!("GET {KEY}")).await;
    assert!(kept.contains("beef01"), "what is theirs is left: {kept}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: scripts/test all"]
async fn a_lease_that_cannot_be_renewed_for_its_time_makes_the_run_recover() {
    let (shop, redis) = (Shop::open(&[]).await, Redis::start().await);
    let place = place(&shop, &redis, &any_verdict(&[("duration: 10s", "duration: 5m")]));
    let run = place.start(&RUN);
    run.says(" LIVE").await;
    drop(redis);
    run.says("the environment's lease cannot be renewed").await;
    let ended = run.ended().await.with_code(3);
    ended.saying("lease lost: not renewed for 1m").saying("ALL CLEAR");
    shop.is_as_before().await;
}

//! Every shipped drill, on the sound range and on the weak one: what its file says is what comes.

mod support;

use std::{fs, path::PathBuf, time::Duration};

use regex::Regex;
use serde_json::Value;
use support::{Shop, repository};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Semaphore,
    time::timeout,
};

/// A range and a keeper take a third of a core: with more of them at once, latencies would be the machine's.
static RANGES: Semaphore = Semaphore::const_new(2);

/// The longest that a run may take, on a busy machine.
const RUN: Duration = Duration::from_secs(300);

/// A machine that is busy with something else stops a range for seconds. allclear then says that it cannot tell (refused,
/// not established) or that the guard saw enough, and never anything else: such a run is made again.
const ATTEMPTS: usize = 3;
const REFUSED: i32 = 5;
const NOT_SURE: [Option<i32>; 4] = [Some(1), Some(3), Some(REFUSED), Some(6)];

/// What a row of the sheet must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Expected,
    Unexpected,
    NotExercised,
    /// The weakness makes it move in a way that the drill's file promises nothing about.
    Open,
}
use Row::{Expected, NotExercised, Open, Unexpected};

/// How a run must end: its exit code and the word for the hypothesis. All end ALL CLEAR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Held,
    Falsified,
    /// By the guard.
    Aborted,
    NotEstablished,
}
use End::{Aborted, Falsified, Held, NotEstablished};

impl End {
    fn code(self) -> i32 {
        match self {
            Held => 0,
            Falsified => 1,
            Aborted => 3,
            NotEstablished => 6,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Held => "HELD",
            Falsified | Aborted => "FALSIFIED",
            NotEstablished => "UNDECIDED",
        }
    }
}

macro_rules! table {
    ($($name:ident: $drill:literal, [$($weakness:literal)?] => $end:expr, $rows:expr;)+) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            run($drill, &[$($weakness)?], $end, &$rows).await;
        })+
    };
}

table! {
    a_slow_coupon_is_skipped: "coupon-slow", [] => Held, [Expected; 6];
    without_a_fallback_a_slow_coupon_fails_orders: "coupon-slow", ["no-coupon-fallback"]
        => Falsified, [Expected, Open, Unexpected, Expected, Expected, Expected];
    a_breaker_that_stays_open_is_seen_after_the_fault: "coupon-slow", ["breaker-stays-open"]
        => Falsified, [Open, Expected, Expected, Expected, Unexpected, Expected];
    flags_that_stay_are_seen_after_the_fault: "coupon-slow", ["flags-stay"]
        => Falsified, [Expected, Expected, Expected, Expected, Unexpected, Expected];
    threads_that_come_free_late_trip_the_wire: "coupon-slow", ["slow-drain"] => Aborted, [Open; 6];
    failed_reservations_are_retried: "inventory-errors", [] => Held, [Expected; 3];
    a_retry_storm_is_seen: "inventory-errors", ["retry-storm"]
        => Falsified, [Unexpected, Open, Expected];
    a_mark_that_is_lost_exercises_nothing: "inventory-errors", ["header-lost"]
        => NotEstablished, [NotExercised; 3];
    a_stock_below_zero_is_not_believed: "inventory-dirty", [] => Held, [Expected; 4];
    a_stock_below_zero_that_is_sold_is_seen: "inventory-dirty", ["negative-stock-accepted"]
        => Falsified, [Expected, Unexpected, Expected, Expected];
    a_slow_redis_spares_the_database: "cart-redis-slow", [] => Held, [Expected; 4];
    a_cart_that_goes_to_the_database_fills_its_pool: "cart-redis-slow", ["cart-enrich"]
        => Falsified, [Unexpected, Unexpected, Unexpected, Expected];
    flow_control_does_without_redis: "gateway-flow-control", [] => Held, [Expected; 14];
    flow_control_that_connects_fails_only_without_any_redis: "gateway-flow-control", ["flow-control-connects"]
        => Falsified, [
            Expected, Expected,
            Expected, Expected, Expected,
            Expected, Expected, Expected,
            Expected, Unexpected, Unexpected,
            Expected, Expected, Expected,
        ];
    slow_payment_callbacks_leave_workers_to_spare: "payment-callback-slow", [] => Held, [Expected; 4];
    workers_that_come_free_late_hold_payments_up: "payment-callback-slow", ["slow-drain"]
        => Falsified, [Expected, Unexpected, Expected, Expected];
    a_short_heap_slows_orders_a_little: "memory-pressure", [] => Held, [Expected; 3];
    threads_that_stops_leave_behind_fail_orders: "memory-pressure", ["slow-drain"]
        => Falsified, [Expected, Unexpected, Unexpected];
}

/// Somebody sets a flag while nothing is injected: the run says so, and keeps it.
#[tokio::test(flavor = "multi_thread")]
async fn a_flag_that_somebody_sets_during_the_baseline_is_named_and_kept() {
    let _turn = RANGES.acquire().await.expect("nobody closes it");
    let mut attempts = Vec::new();
    for _ in 0..ATTEMPTS {
        let shop = Shop::open(&[]).await;
        let file = shortened(&shop, "coupon-slow");
        let file = file.to_str().expect("a name of ours");
        let redis = shop
            .endpoints
            .redis
            .trim_start_matches("redis://")
            .trim_end_matches('/');
        let by_hand = async {
            while !watches_or_is_over(&shop).await {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            say(redis, "SET degrade:order:nobody:by-hand 1").await;
        };
        let args = ["run", file, "--plain", "--baseline", "24s"];
        let (ended, ()) = tokio::join!(shop.output(&args, RUN), by_hand);
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        if ended.status.code() != Some(0) {
            assert!(NOT_SURE.contains(&ended.status.code()), "{said}");
            attempts.push(said);
            continue;
        }
        let changed = "changed during the baseline, and put back to what it is now: flag degrade:order:nobody:by-hand in Redis";
        assert!(said.contains(changed), "{said}");
        assert!(said.ends_with("HELD\nALL CLEAR\n"), "{said}");
        let kept = say(redis, "EXISTS degrade:order:nobody:by-hand").await;
        assert_eq!(kept.trim(), ":1", "{said}");
        return;
    }
    panic!("not established in {ATTEMPTS} attempts:\n{}", attempts.join("\n"));
}

/// Whether the newest run watches in silence; one that was refused is over before it does.
async fn watches_or_is_over(shop: &Shop) -> bool {
    let shown = shop.output(&["show", "latest", "--json"], RUN).await.stdout;
    let run: Value = serde_json::from_slice(&shown).unwrap_or_default();
    run["phase"]["phase"] == "baseline" || run["phase"]["phase"] == "closed"
}

/// One line to a server over TCP, and its answer.
async fn say(address: &str, line: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it is there");
    let line = format!("{line}\r\n");
    stream.write_all(line.as_bytes()).await.expect("sent");
    let mut answer = [0; 64];
    let read = timeout(Duration::from_secs(5), stream.read(&mut answer)).await;
    let count = read.expect("in time").expect("an answer");
    String::from_utf8_lossy(&answer[..count]).into_owned()
}

async fn run(drill: &str, weaknesses: &[&str], end: End, rows: &[Row]) {
    let _turn = RANGES.acquire().await.expect("nobody closes it");
    let mut attempts = Vec::new();
    for _ in 0..ATTEMPTS {
        let seen = attempt(drill, weaknesses).await;
        let contradicted = misses(&seen.run, rows, |said, must| firm(said) && said != must);
        assert_eq!(contradicted, Vec::<String>::new(), "{}", seen.said);
        let open = misses(&seen.run, rows, |said, must| said != must);
        if open.is_empty() && seen.code == Some(end.code()) {
            let last = format!("{}\nALL CLEAR\n", end.word());
            assert!(seen.said.ends_with(&last), "not {}: {}", end.word(), seen.said);
            return;
        }
        assert!(
            NOT_SURE.contains(&seen.code),
            "exit {:?} instead of {}, {open:?}: {}",
            seen.code,
            end.code(),
            seen.said
        );
        attempts.push(format!("exit {:?}, {open:?}\n{}", seen.code, seen.said));
    }
    panic!("not established in {ATTEMPTS} attempts:\n{}", attempts.join("\n"));
}

struct Seen {
    code: Option<i32>,
    said: String,
    run: Value,
}

/// One run on a range of its own. Whatever came of it, nothing is left.
async fn attempt(drill: &str, weaknesses: &[&str]) -> Seen {
    let shop = Shop::open(weaknesses).await;
    let file = shortened(&shop, drill);
    let file = file.to_str().expect("a name of ours");
    let ended = shop
        .output(&["run", file, "--plain", "--baseline", "24s"], RUN)
        .await;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    let shown = shop.output(&["show", "latest", "--json"], RUN).await.stdout;
    let run = serde_json::from_slice(&shown).unwrap_or_else(|e| panic!("{e}\n{said}"));
    if ended.status.code() != Some(REFUSED) {
        nothing_is_left(&shop.status().await, &said);
    }
    Seen {
        code: ended.status.code(),
        said,
        run,
    }
}

/// Whether a verdict claims something.
fn firm(verdict: &str) -> bool {
    matches!(verdict, "AS EXPECTED" | "UNEXPECTED" | "NOT EXERCISED")
}

/// The rows of which `wrong` says so, given what they say and what they must.
fn misses(run: &Value, rows: &[Row], wrong: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let sheet = run["rows"].as_array().cloned().unwrap_or_default();
    assert_eq!(sheet.len(), rows.len(), "rows of the sheet");
    let mut misses = Vec::new();
    for (row, must) in sheet.iter().zip(rows) {
        let must = match must {
            Expected => "AS EXPECTED",
            Unexpected => "UNEXPECTED",
            NotExercised => "NOT EXERCISED",
            Open => continue,
        };
        let said = row["state"]["verdict"].as_str().unwrap_or("NO DATA");
        if wrong(said, must) {
            misses.push(format!("{said} instead of {must}: {row}"));
        }
    }
    misses
}

/// The range's own word, not the keeper's.
fn nothing_is_left(status: &Value, said: &str) {
    assert_eq!(status["rules"], serde_json::json!({}), "{said}");
    assert_eq!(status["flags"], 0, "{said}");
    assert_eq!(status["retry"]["held"], false, "{said}");
    assert_eq!(status["retry"]["rate"], Value::Null, "{said}");
    let servers = status["servers"].as_object().expect("servers");
    for (name, server) in servers {
        assert_eq!(
            (&server["weight"], &server["state"]),
            (&100.into(), &"ready".into()),
            "{name}: {said}"
        );
    }
    let breakers = status["breakers"].as_object().expect("breakers");
    for (instance, states) in breakers {
        assert_eq!(states["coupon"], "CLOSED", "{instance}: {said}");
    }
}

/// The drill with half of its times, so that the whole table takes minutes.
fn shortened(shop: &Shop, drill: &str) -> PathBuf {
    let text = fs::read_to_string(repository(format!("expectations/{drill}.yaml"))).expect("a shipped drill");
    let times = [
        ("duration: (45|30)s", "duration: 18s"),
        ("duration: 35s", "duration: 24s"),
        ("duration: 20s", "duration: 14s"),
        ("duration: 15s", "duration: 12s"),
        ("settle: 9s", "settle: 7s"),
        ("hold: 3s", "hold: 1s"),
        ("hold: 10s", "hold: 3s"),
    ];
    let short = times.iter().fold(text, |text, (long, short)| {
        let long = Regex::new(long).expect("a pattern");
        long.replace_all(&text, *short).into_owned()
    });
    let path = shop.home.join(format!("{drill}.yaml"));
    fs::write(&path, short).expect("written");
    path
}

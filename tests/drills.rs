//! Every shipped drill, on the sound range and on the weak one: what its file says is what comes.

mod support;

use std::{fs, path::PathBuf, time::Duration};

use regex::Regex;
use serde_json::Value;
use support::{Shop, repository};
use tokio::sync::Semaphore;

/// A range and a keeper take a third of a core: with more of them at once, latencies would be the machine's.
static RANGES: Semaphore = Semaphore::const_new(2);

/// The longest that a run may take, on a busy machine.
const RUN: Duration = Duration::from_secs(300);

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
        => Falsified, [Expected, Open, Unexpected, Expected, Open, Open];
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

async fn run(drill: &str, weaknesses: &[&str], end: End, rows: &[Row]) {
    let _turn = RANGES.acquire().await.expect("nobody closes it");
    let shop = Shop::open(weaknesses).await;
    let file = shortened(&shop, drill);
    let file = file.to_str().expect("a name of ours");
    let ended = shop
        .output(&["run", file, "--plain", "--baseline", "24s"], RUN)
        .await;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);

    let shown = shop.output(&["show", "latest", "--json"], RUN).await.stdout;
    let run: Value = serde_json::from_slice(&shown).unwrap_or_else(|e| panic!("{e}\n{said}"));
    assert_eq!(misses(&run, rows), Vec::<String>::new(), "{said}");
    assert_eq!(ended.status.code(), Some(end.code()), "{said}");
    assert!(
        said.ends_with(&format!("{}\nALL CLEAR\n", end.word())),
        "not {}: {said}",
        end.word()
    );
    nothing_is_left(&shop.status().await, &said);
}

/// The rows that say something else than they must.
fn misses(run: &Value, rows: &[Row]) -> Vec<String> {
    let sheet = run["rows"].as_array().cloned().unwrap_or_default();
    let mut misses = Vec::new();
    if sheet.len() != rows.len() {
        misses.push(format!("{} rows instead of {}", sheet.len(), rows.len()));
    }
    for (row, must) in sheet.iter().zip(rows) {
        let must = match must {
            Expected => "AS EXPECTED",
            Unexpected => "UNEXPECTED",
            NotExercised => "NOT EXERCISED",
            Open => continue,
        };
        if row["state"]["verdict"] != must {
            misses.push(format!("not {must}: {row}"));
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

//! What an injection point costs a service that nobody drills: without any rule, and with rules that do not match. The
//! bounds: 2 ns and 34 ns. The least of many rounds is the cost; more is what else the machine does.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    clippy::disallowed_types,
    reason = "a bench measures the time that the processor takes, not what passes while the machine sleeps"
)]

use std::{hint::black_box, process::ExitCode, time::Instant};

use allclear::point::{Headers, Points, Rule};
use axum::http::HeaderMap;
use serde_json::json;

#[path = "stand/bound.rs"]
mod bound;

const ROUNDS: usize = 200;
const CALLS: u32 = 100_000;

/// The headers of a usual call between services; the drill's mark is not among them.
fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "order-0:8081"),
        ("user-agent", "gateway/1.2"),
        ("accept", "application/json"),
        ("accept-encoding", "gzip"),
        ("content-type", "application/json"),
        (
            "traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ),
        ("x-request-id", "f058ebd6-02f7-4d3f-942e-904344e8cde5"),
    ] {
        headers.insert(name, value.parse().expect("a value"));
    }
    headers
}

fn rule(id: &str, point: &str) -> Rule {
    let body = json!({
        "run": "7f3a01", "point": point, "fault": {"delay": {"mean_ms": 2000, "jitter_ms": 500}},
        "header": {"x-drill": "coupon-slow"}, "instance": "order-0", "percent": 20.0, "max_concurrent": 20,
        "ttl_ms": 600_000,
    });
    Rule::from_json(id, body).expect("a rule")
}

fn measure<H: Headers + ?Sized>(what: &str, points: &Points, headers: &H, bound: f64) {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                let hit = black_box(points).check(black_box("coupon.query"), black_box(headers));
                assert!(black_box(hit).is_none());
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let least = rounds[0];
    println!(
        "{what:<56} {least:>6.2} ns  (median {:.2}; bound {bound}: {})",
        rounds[ROUNDS / 2],
        bound::word(least <= bound)
    );
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let headers = headers();
    let points = Points::new("order", "order-0");
    measure("no rule", &points, &headers, 2.0);
    points.put(rule("other", "inventory.query")).expect("the rule");
    measure("a rule at another point", &points, &headers, 34.0);
    points.put(rule("mark", "coupon.query")).expect("the rule");
    measure(
        "a rule at this point, call without the mark",
        &points,
        &headers,
        34.0,
    );
    let mut marked = headers.clone();
    marked.insert("x-drill", "another-drill".parse().expect("a value"));
    measure(
        "a rule at this point, call of another drill",
        &points,
        &marked,
        34.0,
    );
    measure(
        "a rule at this point, marked, without HTTP headers",
        &points,
        &(),
        34.0,
    );
    points.delete_run(&"7f3a01".to_owned().try_into().expect("a run"));
    measure("the rules are gone again", &points, &headers, 2.0);
    bound::code()
}

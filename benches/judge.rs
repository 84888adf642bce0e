//! How long 10,000 rows take: gauges of 60 windows before and 18 during the fault, on one core. Bound: 10 s.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    clippy::disallowed_types,
    reason = "nothing sleeps in here, and there is no engine to ask for the time"
)]

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use allclear::judge::{
    Bounds, Case, Expect, Periods, Unit, Verdict, Windows, movers, parse_case, smallest_detectable,
    steadiness, verdict,
};

#[path = "stand/bound.rs"]
mod bound;

const ROWS: u32 = 10_000;
/// For all rows, from JSON to JSON.
const BOUND: Duration = Duration::from_secs(10);

/// Repeatable noise, uniform around zero (a 64-bit linear congruential generator, Knuth's constants).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

/// A gauge around 100 whose windows resemble each other, moved by `change` after the start of the fault.
fn row(noise: &mut Noise, memory: f64, change: f64) -> Case {
    let mut carried = 0.0;
    let mut windows = |count: u32, level: f64| {
        let mut window = || {
            carried = memory * carried + 10.0 * noise.next();
            Some(level + carried)
        };
        Windows::Gauge((0..count).map(|_| window()).collect())
    };
    let (before, during) = (windows(60, 100.0), windows(18, 100.0 + change));
    let periods = Periods::new(before, during).expect("two gauges");
    let bounds = Bounds {
        at_least: Some(10.0),
        at_most: None,
    };
    Case::new(
        periods,
        Expect::Rises {
            bounds,
            unit: Unit::Abs,
        },
    )
}

fn rows() -> Vec<Case> {
    let mut noise = Noise(1);
    (0..ROWS)
        .map(|k| {
            row(
                &mut noise,
                [0.0, 0.3, 0.6, 0.8][k as usize % 4],
                [0.0, 5.0, 20.0][k as usize % 3],
            )
        })
        .collect()
}

/// Runs `work` over all rows and prints its rate.
fn measure(what: &str, rows: &[Case], mut work: impl FnMut(&Case) -> bool) {
    let start = Instant::now();
    let hits = rows.iter().filter(|case| work(case)).count();
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{what:<40} {seconds:>8.3} s  {:>8.1} µs a row  ({hits})",
        seconds * 1e6 / f64::from(ROWS)
    );
}

fn line(case: &Case) -> String {
    let list = |windows: &Windows| match windows {
        Windows::Gauge(list) => serde_json::json!(list),
        _ => serde_json::Value::Null,
    };
    serde_json::json!({
        "kind": "gauge",
        "baseline": list(case.periods.baseline()),
        "injection": list(case.periods.injection()),
        "expect": {"dir": "rises", "at_least": 10.0},
    })
    .to_string()
}

fn main() -> ExitCode {
    let rows = rows();
    let relative = |case: &Case| {
        let mut case = case.clone();
        case.expect = Expect::Stays {
            within: 0.1,
            unit: Unit::Rel,
        };
        case
    };
    println!("{ROWS} gauges of 60 + 18 windows, one thread");
    measure("verdict, at least, absolute", &rows, |case| {
        verdict(case).verdict == Verdict::AsExpected
    });
    measure("verdict, stays, relative", &rows, |case| {
        verdict(&relative(case)).verdict == Verdict::AsExpected
    });
    measure("smallest detectable change", &rows, |case| {
        smallest_detectable(case.periods.baseline(), 18, None).is_some()
    });
    measure("steadiness", &rows, |case| {
        steadiness(case.periods.baseline()).is_some_and(|steady| steady.is_unsteady())
    });
    let lines: Vec<String> = rows.iter().map(line).collect();
    let start = Instant::now();
    let written: usize = lines
        .iter()
        .filter_map(|line| parse_case(line).ok())
        .map(|case| verdict(&case).to_json(case.id.as_ref()).to_string().len())
        .sum();
    let took = start.elapsed();
    println!(
        "{:<40} {:>8.3} s  ({written} bytes; bound {BOUND:?}: {})",
        "JSON line in, JSON line out",
        took.as_secs_f64(),
        bound::word(took <= BOUND)
    );
    let start = Instant::now();
    let listed = movers(&rows).len();
    println!(
        "{:<40} {:>8.3} s  ({listed} listed)",
        "movers of all of them",
        start.elapsed().as_secs_f64()
    );
    bound::code()
}

//! How long an event takes to be on the disk, and a reading to be handed over. Run in a directory on the disk in
//! question: `TMPDIR=… cargo bench --bench journal`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    clippy::disallowed_types,
    reason = "nothing sleeps in here, and there is no engine to ask for the time"
)]

use std::time::{Duration, Instant};

use allclear::{
    journal::{Journal, StateDir},
    model::{
        event::{Body, Event},
        plan::Plan,
        said::Said,
        secret::Secrets,
        time::Moment,
    },
};

/// The smallest plan there is.
const PLAN: &str = r#"{
    "run": "7f3a01", "drill_source": "", "drill_folder": "/", "started_by": "bench", "purpose": "drill",
    "attended": false, "lang": "en", "allclear_version": "0",
    "environment": {
        "name": "range", "stage": "practice", "metrics": {"scrape": {"every": 1000, "path": "/metrics"}},
        "services": {}, "redis": {}, "gateways": {}, "notify": []
    },
    "drill": {
        "name": "bench", "title": {"en": ""}, "hypothesis": {"en": ""}, "risk": null, "baseline": 0, "window": 0,
        "settle": null, "steps": [], "accept_no_expiry": false, "targets": {"service": "order", "instances": []},
        "dashboard": {"name": "shop", "scopes": [], "metrics": [], "panels": [], "topology": []},
        "guard": {"every": 10000, "samples": 3, "steady_state": [], "tripwires": []},
        "recovery": {
            "gateway": null, "breakers": [], "flags": [], "retry_queues": [], "pools": [], "commands": [],
            "hold": 0, "verify_within": 0
        }
    }
}"#;

const DURABLE: u64 = 1_000;
const READINGS: u64 = 100_000;

fn main() {
    let temp = tempfile::tempdir().expect("a directory for the journal");
    let state = StateDir::open(temp.path().join("state")).expect("the state directory");
    let plan: Plan = serde_json::from_str(PLAN).expect("the plan above");
    let run = state.create_run(&plan, &Secrets::none()).expect("the run");
    let (mut journal, _) = Journal::open(&run).expect("the journal");
    measure("append, durable", 1..=DURABLE, &mut journal, |n| {
        Body::Warning(Said::as_it_is(format!("event {n}")))
    });
    let first = DURABLE + 1;
    measure("append, reading", first..=DURABLE + READINGS, &mut journal, |n| {
        Body::Watching { consoles: n as usize }
    });
}

fn measure(
    what: &str,
    seqs: std::ops::RangeInclusive<u64>,
    journal: &mut Journal,
    body: impl Fn(u64) -> Body,
) {
    let mut took: Vec<Duration> = seqs
        .map(|seq| {
            let event = Event {
                seq,
                at: Moment(seq),
                wall: jiff::Timestamp::UNIX_EPOCH,
                body: body(seq),
            };
            let start = Instant::now();
            journal.append(&event).expect("an append");
            start.elapsed()
        })
        .collect();
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    println!(
        "{what}: median {:?}, p99 {:?}, worst {:?} of {}",
        at(0.5),
        at(0.99),
        at(1.0),
        took.len()
    );
}

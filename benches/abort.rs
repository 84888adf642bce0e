//! From the guard's last bad sample to all faults stopped, through the real engine: 16 rules on 8 instances whose
//! injection-point API takes 100 ms to answer. The bound: 1 s and one round trip.
//!
//! The clock starts when the page with the last bad sample is asked for, and stops at the services, when the last rule
//! goes. Runs overlap, each begins to be bad at another moment of the second.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{process::ExitCode, sync::atomic::Ordering::SeqCst, time::Duration};

use allclear::{
    engine::Begin,
    model::{
        event::{Body, Health},
        exit::Exit,
    },
};
use serde_json::{Value, json};
use stand::{Engine, Services, bound, plan, spread};
use tokio::time::{Instant, sleep};

mod stand;

const INSTANCES: usize = 8;
const RULES: usize = 2;
const LATENCY: u64 = 100;
const RUNS: u64 = 10;
const SAMPLES: usize = 3;
const BOUND: Duration = Duration::from_millis(1000 + LATENCY);

/// Which part of the guard breaks.
#[derive(Debug, Clone, Copy)]
enum Breaks {
    Tripwire,
    Hypothesis,
}

struct Took {
    /// From the last bad sample.
    from_sample: Duration,
    /// From the guard's look at it.
    from_look: Duration,
}

fn guard(breaks: Breaks) -> Value {
    let held = json!({"metric": "success", "scope": null, "window": 1000, "limit": {"at_least": 0.0}});
    let hypothesis = json!({"metric": "success", "scope": null, "window": 0, "limit": {"at_least": 0.99}});
    let tripwire = json!({"metric": "busy", "scope": null, "limit": {"at_most": 40.0}, "samples": SAMPLES});
    match breaks {
        Breaks::Tripwire => {
            json!({"every": 1000, "samples": 30, "steady_state": [held], "tripwires": [tripwire]})
        }
        Breaks::Hypothesis => {
            json!({"every": 1000, "samples": SAMPLES, "steady_state": [hypothesis], "tripwires": []})
        }
    }
}

async fn one(breaks: Breaks, number: u64) -> Took {
    let services = Services::start(INSTANCES + 1, 0, false).await;
    let world = services.world.clone();
    world.latency.store(LATENCY, SeqCst);
    let mut engine = Engine::start(plan(&services, RULES, guard(breaks), |_| {}), Begin::Fresh);
    let deadline = Instant::now() + Duration::from_secs(60);
    while world.made.load(SeqCst) < (INSTANCES * RULES) as u64 {
        assert!(Instant::now() < deadline, "the faults were not made in time");
        sleep(Duration::from_millis(10)).await;
    }
    // Another moment of the second for each run.
    sleep(Duration::from_millis(number * 97 % 1000)).await;
    world.bad.store(true, SeqCst);
    // The sample's time is the guard's own record of it: when the page was asked for.
    let (looked, age) = engine
        .until("broken guard", |event| match &event.body {
            Body::Guard(state) if state.health == Health::Broken => {
                let age = jiff::Timestamp::now().as_millisecond() - state.reading.sampled;
                Some((Instant::now(), Duration::from_millis(age.unsigned_abs())))
            }
            _ => None,
        })
        .await;
    let outcome = engine.outcome.await.expect("the engine");
    assert_eq!(
        outcome.exit,
        Exit::Aborted,
        "by the guard, and all clear: {outcome:?}"
    );
    let stopped = world.emptied.lock().await.expect("every rule is gone");
    Took {
        from_sample: stopped - looked + age,
        from_look: stopped - looked,
    }
}

async fn measure(breaks: Breaks) {
    let runs = (0..RUNS).map(|number| one(breaks, number));
    let took = futures::future::join_all(runs).await;
    let sample: Vec<Duration> = took.iter().map(|t| t.from_sample).collect();
    let look: Vec<Duration> = took.iter().map(|t| t.from_look).collect();
    println!(
        "{breaks:?}, {} rules on {INSTANCES} instances at {LATENCY} ms",
        INSTANCES * RULES
    );
    println!("  last bad sample → all stopped  {}", spread(sample.clone()));
    println!("  guard's last look → all stopped {}", spread(look.clone()));
    let bounded = match breaks {
        Breaks::Tripwire => sample,
        // A sample of a hypothesis is a look: it has a rhythm of its own, which the drill file sets.
        Breaks::Hypothesis => look,
    };
    let worst = bounded.into_iter().max().unwrap_or_default();
    println!("  bound {BOUND:?}: {}", bound::word(worst <= BOUND));
}

#[tokio::main]
async fn main() -> ExitCode {
    measure(Breaks::Tripwire).await;
    measure(Breaks::Hypothesis).await;
    bound::code()
}

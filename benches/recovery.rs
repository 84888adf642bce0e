//! One key and many things to put back, through the real engine that takes over a run, journal and all:
//!
//! 1. 1,000 rules on 100 instances whose API takes 400 ms to answer. The bound: about one latency until the last rule is
//!    gone, and about one more to have read that back; *about* is for the machine, and less than one latency.
//! 2. 1,000 rules on 1,000 such instances, one of which (the first) never answers: it may not delay the others. The same bound.
//! 3. 1,000 open breakers on 1,000 actuators on loopback. The bound: 2 s.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{process::ExitCode, sync::atomic::Ordering::SeqCst, time::Duration};

use allclear::{
    engine::Begin,
    journal::{Facts, FaultFact, FaultState},
    model::{
        event::{Body, Hits},
        ids::{FaultId, InstanceName, StepName},
        phase::Cause,
        plan::Plan,
        recovery::{Milestone, StepId, StepReport},
        snapshot::{BreakerSeen, BreakerState, Snapshot},
        time::{Moment, Span},
        undo::{FaultIntent, UndoFault},
    },
};
use serde_json::{Value, json};
use stand::{Engine, Services, bound, instance, plan, rule_id};
use tokio::{net::TcpListener, time::Instant};

mod stand;

const LATENCY: u64 = 400;
/// About one latency.
const GONE: Duration = Duration::from_millis(2 * LATENCY);
const READ_BACK: Duration = Duration::from_millis(3 * LATENCY);
const BREAKERS: Span = Span::seconds(2);

fn guard() -> Value {
    let held = json!({"metric": "success", "scope": null, "window": 1000, "limit": {"at_least": 0.0}});
    json!({"every": 1000, "samples": 3, "steady_state": [held], "tripwires": []})
}

/// What the journal of a run says that was left with these rules live.
fn facts(services: &Services, instances: usize, rules: usize, breakers: usize) -> Facts {
    let fault = |number: usize, n: usize| FaultFact {
        intent: FaultIntent {
            id: serde_json::from_value::<FaultId>(json!(rule_id(number, n))).expect("an id"),
            step: StepName::new("slow").expect("a name"),
            instance: name(number),
            what: "coupon.query delay 2s".into(),
            undo: UndoFault::Rule {
                base: format!("http://{}", services.addresses[number]),
            },
            expires_in: Some(Span::seconds(60)),
        },
        intended_at: Moment(0),
        state: FaultState::Live { expires: None },
        hits: Hits::default(),
    };
    let breaker = |number: usize| BreakerSeen {
        entry: 0,
        instance: name(number),
        name: "coupon".into(),
        state: BreakerState::Closed,
    };
    Facts {
        faults: (0..instances)
            .flat_map(|number| (0..rules).map(move |n| (number, n)))
            .map(|(number, n)| fault(number, n))
            .collect(),
        snapshot: Some(Snapshot {
            breakers: (0..breakers).map(breaker).collect(),
            ..Snapshot::default()
        }),
        ..Facts::default()
    }
}

fn name(number: usize) -> InstanceName {
    InstanceName::new(&instance(number)).expect("a name")
}

fn take_over(plan: Plan, facts: Facts) -> Engine {
    let begin = Begin::TakeOver {
        damage: Vec::new(),
        facts: Box::new(facts),
        cause: Cause::Asked { by: "bench".into() },
        pause: Span::ZERO,
    };
    Engine::start(plan, begin)
}

/// Metrics are no part of this: they are read rarely.
fn rarely_read(plan: &mut Value) {
    plan["environment"]["metrics"]["scrape"]["every"] = json!(30_000);
}

async fn rules_gone() {
    let (instances, rules) = (100, 10);
    let services = Services::start(instances + 1, rules, false).await;
    let world = services.world.clone();
    // The one that is no target keeps its rules: they are not the run's.
    world.live.fetch_sub(rules as u64, SeqCst);
    world.latency.store(LATENCY, SeqCst);
    let made = facts(&services, instances, rules, 0);
    let began = Instant::now();
    let mut engine = take_over(plan(&services, 1, guard(), rarely_read), made);
    let gone = engine
        .until("FAULTS GONE", |event| match &event.body {
            Body::Reached {
                milestone: Milestone::FaultsGone,
                ..
            } => Some(began.elapsed()),
            _ => None,
        })
        .await;
    let emptied = world.emptied.lock().await.expect("every rule is gone");
    println!(
        "{} rules on {instances} instances at {LATENCY} ms",
        instances * rules
    );
    tell("last rule gone", emptied - began, GONE);
    tell("all read back", gone, READ_BACK);
    engine.outcome.abort();
}

async fn one_is_dead() {
    let instances = 1000;
    let mut services = Services::start(instances + 1, 1, false).await;
    let world = services.world.clone();
    // Accepts connections (the system does) and never answers.
    let dead = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    services.addresses[0] = dead.local_addr().expect("an address").to_string();
    world.live.fetch_sub(2, SeqCst);
    world.latency.store(LATENCY, SeqCst);
    let made = facts(&services, instances, 1, 0);
    let began = Instant::now();
    let mut engine = take_over(plan(&services, 1, guard(), rarely_read), made);
    let report = over(&mut engine, StepId::Faults).await;
    let emptied = world
        .emptied
        .lock()
        .await
        .expect("every rule that can go is gone");
    println!("{instances} rules on {instances} instances at {LATENCY} ms, the first of which never answers");
    tell("last of the others", emptied - began, GONE);
    println!("  step over           {} ({})", report.took, report.detail.en());
    engine.outcome.abort();
}

async fn breakers() {
    let instances = 1000;
    let services = Services::start(instances + 1, 1, true).await;
    let world = services.world.clone();
    let made = facts(&services, 1, 1, instances);
    let with_breakers = |plan: &mut Value| {
        rarely_read(plan);
        plan["drill"]["targets"]["instances"] = json!([instance(0)]);
        plan["drill"]["recovery"]["breakers"] = json!([{"resilience4j": {
            "actuator": "http://{instance}/actuator", "callers": "order", "names": ["coupon"],
            "via": {"app": {"url": "http://{instance}/breakers/{name}/half-open"}},
        }}]);
    };
    let mut engine = take_over(plan(&services, 1, guard(), with_breakers), made);
    let report = over(&mut engine, StepId::Breakers).await;
    let left = world.open.load(SeqCst);
    assert_eq!(
        left,
        1,
        "only the one that is not in the snapshot is open: {}",
        report.detail.en()
    );
    println!("{instances} open breakers on {instances} actuators on loopback");
    println!(
        "  half-opened, each intent durable before, read back  {} (bound {BREAKERS}: {})",
        report.took,
        bound::word(report.took < BREAKERS)
    );
    engine.outcome.abort();
}

async fn over(engine: &mut Engine, step: StepId) -> StepReport {
    engine
        .until("end of the step", |event| match &event.body {
            Body::Recovery(report) if report.step == step && report.state.is_over() => Some(report.clone()),
            _ => None,
        })
        .await
}

fn tell(what: &str, took: Duration, within: Duration) {
    println!(
        "  {what:<18}  {} ms (bound {} ms: {})",
        took.as_millis(),
        within.as_millis(),
        bound::word(took < within)
    );
}

#[tokio::main]
async fn main() -> ExitCode {
    rules_gone().await;
    one_is_dead().await;
    breakers().await;
    bound::code()
}

//! Pools of a real Spring Boot app, read from its own page: Tomcat's threads, Hikari's connections, an executor's queue.

use allclear::{
    engine::Begin,
    journal::Facts,
    model::{
        dashboard::Metric,
        event::{Body, Event},
        ids::InstanceName,
        phase::Cause,
        playbook::PoolDrain,
        recovery::{StepId, StepReport, StepState},
        snapshot::{BaselineLevels, Snapshot},
        time::Span,
        undo::ChangeIntent,
    },
};
use serde_json::json;

use crate::{
    app::{Lent, spring, until},
    engine::Engine,
    stage::{plan, resilience4j},
};

/// Where people find the gauges.
const PAGE: &str = include_str!("../../docs/drivers/pools.md");

struct Gauge {
    id: &'static str,
    name: &'static str,
    /// Label and value, where the name has several series.
    label: Option<(&'static str, &'static str)>,
}

const THREADS: Gauge = Gauge {
    id: "threads_busy",
    name: "tomcat_threads_busy_threads",
    label: None,
};
const CONNECTIONS: Gauge = Gauge {
    id: "connections_busy",
    name: "hikaricp_connections_active",
    label: Some(("pool", "orders-db")),
};
const QUEUED: Gauge = Gauge {
    id: "tasks_queued",
    name: "executor_queued_tasks",
    label: Some(("name", "orders")),
};
const WORKING: Gauge = Gauge {
    id: "tasks_under_way",
    name: "executor_active_threads",
    label: Some(("name", "orders")),
};

impl Gauge {
    fn metric(&self) -> Metric {
        assert!(PAGE.contains(&format!("`{}`", self.name)), "{}", self.name);
        let matchers = self
            .label
            .map(|(label, value)| json!({"label": label, "op": "=", "value": value}));
        let metric = json!({"id": self.id, "title": {"en": ""}, "kind": "system", "unit": "count", "better": "lower",
            "read": {"gauge": {"selector": {"name": self.name, "matchers": Vec::from_iter(matchers)}, "agg": "max"}}});
        serde_json::from_value(metric).expect("a metric")
    }

    /// Its pool, which may have nothing busy but the scrape.
    fn pool(&self, scrape_holds: u32, wait: Span) -> PoolDrain {
        let pool = json!({"metric": self.id, "scope": null, "idle_at_most": 0.0, "scrape_holds": scrape_holds,
            "wait": wait, "if_stuck": null});
        serde_json::from_value(pool).expect("a pool")
    }
}

/// A recovery of both instances that waits for these pools, and for nothing else.
fn recovery(app: &Lent, gauges: &[&Gauge], pools: Vec<PoolDrain>) -> Engine {
    let mut plan = plan(&[app.address(0), app.address(1)], resilience4j(&[], "app"));
    let drill = &mut plan.drill;
    let second = InstanceName::new("order-1").expect("a name");
    drill.targets.instances.push(second);
    drill.recovery.breakers.clear();
    drill.recovery.verify_within = Span::seconds(5);
    drill.recovery.pools = pools;
    drill
        .dashboard
        .metrics
        .extend(gauges.iter().map(|gauge| gauge.metric()));
    let facts = Facts {
        snapshot: Some(Snapshot::default()),
        baseline: Some(BaselineLevels::default()),
        // There is something to be put back.
        changes: vec![ChangeIntent::Command { name: "warm".into() }],
        ..Facts::default()
    };
    let begin = Begin::TakeOver {
        facts: Box::new(facts),
        damage: Vec::new(),
        cause: Cause::Asked { by: "test".into() },
        pause: Span::ZERO,
    };
    Engine::start(plan, begin)
}

/// The report about pools with which everything of this has been said.
async fn says(recovery: &mut Engine, all: &[&str]) -> StepReport {
    let mut unsaid = all.to_vec();
    let last = |event: &Event| match &event.body {
        Body::Recovery(report) if report.step == StepId::Pools => {
            unsaid.retain(|what| !report.detail.en().contains(what));
            unsaid.is_empty().then(|| report.clone())
        }
        _ => None,
    };
    recovery.until(&all.join(", "), last).await
}

/// A gauge on the page of an instance comes to this.
async fn comes_to(app: &Lent, number: usize, gauge: &Gauge, value: f64) {
    until(&format!("{} is {value}", gauge.name), async || {
        let (_, page) = app.get(number, "/actuator/prometheus").await;
        let line = page.lines().find(|line| line.starts_with(gauge.name));
        let read = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        read == Some(value)
    })
    .await;
}

const LONG: Span = Span::seconds(60);

#[tokio::test(flavor = "multi_thread")]
async fn the_scrape_is_one_of_tomcats_busy_threads_and_idle_is_what_is_busy_beside_it() {
    let app = spring().await;
    for number in [0, 1] {
        comes_to(&app, number, &THREADS, 1.0).await;
    }
    let both = ["threads_busy on order-0 0", "threads_busy on order-1 0"];
    let mut taken_off = recovery(&app, &[&THREADS], vec![THREADS.pool(1, LONG)]);
    let report = says(&mut taken_off, &both).await;
    assert_eq!(report.state, StepState::Nothing, "{report:?}");
    assert!(taken_off.outcome.await.expect("it ends").all_clear());

    // Not taken off, it keeps a pool that is idle from ever being so.
    let mut counted = recovery(&app, &[&THREADS], vec![THREADS.pool(0, Span::millis(500))]);
    let busy = "threads_busy on order-0 1 busy, idle is at most 0";
    let report = says(&mut counted, &[busy]).await;
    assert_eq!(report.state, StepState::Failed, "{report:?}");
    assert!(!counted.outcome.await.expect("it ends").all_clear());

    // A request of somebody else is busy all the same.
    let drains = async {
        comes_to(&app, 0, &THREADS, 2.0).await;
        let mut taken_off = recovery(&app, &[&THREADS], vec![THREADS.pool(1, LONG)]);
        says(&mut taken_off, &["threads_busy on order-0 1"]).await;
        app.post(0, "/scene/pools/release").await;
        let report = says(&mut taken_off, &["threads_busy on order-0 1 → 0"]).await;
        assert_eq!(report.state, StepState::Done, "{report:?}");
        assert!(taken_off.outcome.await.expect("it ends").all_clear());
    };
    tokio::join!(app.get(0, "/scene/pools/request"), drains);
}

#[tokio::test(flavor = "multi_thread")]
async fn hikaris_connections_and_an_executors_queue_are_waited_for_on_the_instance_that_is_busy() {
    let app = spring().await;
    for number in [0, 1] {
        // The series of a pool of connections is there from its first connection on.
        app.post(number, "/scene/pools/connections?busy=1").await;
        app.post(number, "/scene/pools/release").await;
    }
    comes_to(&app, 1, &CONNECTIONS, 0.0).await;
    app.post(0, "/scene/pools/connections?busy=3").await;
    app.post(0, "/scene/pools/tasks?busy=7").await;
    comes_to(&app, 0, &CONNECTIONS, 3.0).await;
    let gauges = [&CONNECTIONS, &QUEUED, &WORKING];
    let pools = gauges.map(|gauge| gauge.pool(0, LONG)).to_vec();
    let mut recovery = recovery(&app, &gauges, pools);
    let busy = [
        "connections_busy on order-0 3",
        "tasks_queued on order-0 5",
        "tasks_under_way on order-0 2",
    ];
    says(&mut recovery, &busy).await;
    app.post(0, "/scene/pools/release").await;
    let report = says(&mut recovery, &["connections_busy on order-0 3 → 0"]).await;
    assert_eq!(report.state, StepState::Done, "{report:?}");
    for drained in [
        "connections_busy on order-1 0",
        "tasks_queued on order-0 5 → 0",
        "tasks_queued on order-1 0",
        "tasks_under_way on order-0 2 → 0",
        "tasks_under_way on order-1 0",
    ] {
        assert!(report.detail.en().contains(drained), "{drained}: {report:?}");
    }
    assert!(recovery.outcome.await.expect("it ends").all_clear());
}

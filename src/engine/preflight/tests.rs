//! Preflight beside many targets.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use axum::{Router, extract::State, routing::get};
use tokio::net::TcpListener;

use super::*;
use crate::{
    drivers::testing::{environment, nothing_to_do, plan},
    model::{
        amount::Unit,
        dashboard::{Metric, MetricKind, Pool, Read, Selector, TopologyNode},
        drill::Start,
        environment::MetricsSource,
        ids::{MetricId, ServiceName},
        secret::Secrets,
        testing::step,
        text::Localized,
        time::Span,
    },
};

/// Pages asked for so far. Each page counts ten requests more than the one before it.
async fn page(State(pages): State<Arc<AtomicUsize>>) -> String {
    let n = pages.fetch_add(1, Relaxed);
    format!("requests_total {}\n", n * 10)
}

async fn service() -> (String, Arc<AtomicUsize>) {
    let pages = Arc::new(AtomicUsize::new(0));
    let router = Router::new()
        .route("/metrics", get(page))
        .with_state(pages.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, pages)
}

/// A drill with a delay on every instance of `order`, whose requests are counted by a metric.
fn drill_on(instances: usize, address: &str) -> Plan {
    let names: Vec<String> = (0..instances).map(|n| format!("order-{n}")).collect();
    let all: Vec<_> = names.iter().map(|n| ("order", n.as_str(), address)).collect();
    let mut plan = plan(environment(&all), nothing_to_do());
    plan.environment.metrics = MetricsSource::Scrape {
        every: Span::millis(100),
        path: "/metrics".into(),
    };
    let rate = MetricId::new("requests").unwrap();
    let selector = Selector {
        name: "requests_total".into(),
        matchers: Vec::new(),
    };
    plan.drill.dashboard.metrics.push(Metric {
        id: rate.clone(),
        title: Localized::plain("requests"),
        kind: MetricKind::System,
        unit: Unit::Count,
        better: None,
        read: Read::Rate { selector },
        of: Vec::new(),
    });
    plan.drill.dashboard.topology.push(TopologyNode {
        service: ServiceName::new("order").unwrap(),
        instances: instances as u32,
        calls: Vec::new(),
        pool: Some(Pool {
            threads: 50,
            metric: None,
            timeout: None,
            rate_metric: Some(rate),
        }),
        shares: Vec::new(),
    });
    plan.drill.steps.push(step("delay", 1, Start::InOrder, true));
    plan
}

#[tokio::test]
async fn the_rates_of_many_targets_take_two_rounds_and_not_two_rounds_each() {
    const TARGETS: usize = 24;
    let (address, pages) = service().await;
    let plan = drill_on(TARGETS, &address);
    let mut meters = Meters::open(&plan, &Secrets::none()).unwrap();
    let (done, _checks) = mpsc::unbounded_channel();
    let mut inspector = Inspector {
        drivers: Arc::new(Drivers::new(&plan, Secrets::none()).unwrap()),
        plan: Arc::new(plan),
        done,
        refused: Vec::new(),
    };
    let lines = inspector.reach(&mut meters).await;
    assert_eq!(lines.len(), TARGETS);
    assert!(
        lines.iter().all(|l| l.rate.is_some_and(|rate| rate > 0.0)),
        "{lines:?}"
    );
    assert_eq!(pages.load(Relaxed), TARGETS * 2);
    assert!(meters.source.is_some(), "the run goes on reading with it");
}

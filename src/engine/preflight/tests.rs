//! Preflight beside many targets.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use axum::{Router, extract::State, routing::get};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;
use crate::{
    drivers::{
        redis::testing::redis_server,
        testing::{environment, nobody, nothing_to_do, plan},
    },
    model::{
        amount::Unit,
        dashboard::{Metric, MetricKind, Pool, Read, Selector, TopologyNode},
        drill::Start,
        environment::{MetricsSource, Redis, RedisPlace, SecretRef},
        ids::{MetricId, RunId, ServerName, ServiceName},
        lease::LeasePlace,
        secret::{SecretText, Secrets},
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

/// A service that hangs up on whoever asks first, so often.
async fn service_after(lost: usize) -> (String, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            if count.fetch_add(1, Relaxed) < lost {
                continue;
            }
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let page = "requests_total 10\n";
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                page.len()
            );
            let _ = stream.write_all((head + page).as_bytes()).await;
        }
    });
    (address, asked)
}

#[tokio::test]
async fn a_source_of_metrics_that_loses_an_answer_is_asked_again_and_one_that_never_answers_refuses() {
    for (lost, refuses) in [(2, false), (usize::MAX, true)] {
        let (address, asked) = service_after(lost).await;
        let plan = Arc::new(drill_on(1, &address));
        let mut meters = Meters::open(&plan, &Secrets::none()).unwrap();
        let (done, _checks) = mpsc::unbounded_channel();
        let mut inspector = Inspector {
            drivers: Arc::new(Drivers::new(&plan, Secrets::none()).unwrap()),
            plan,
            done,
            refused: Vec::new(),
        };
        inspector.source(&mut meters).await;
        let of_source = |why: &&Said| why.en().starts_with("metrics source");
        let refused = inspector.refused.iter().find(of_source);
        assert_eq!(refused.is_some(), refuses, "{:?}", inspector.refused);
        if refuses {
            assert_eq!(asked.load(Relaxed), 3, "and not for ever");
        }
    }
}

/// An inspector of a run whose environment keeps its lease there.
fn inspector(run: &str, redis: &Redis) -> (Inspector, mpsc::UnboundedReceiver<Done>) {
    let mut plan = plan(environment(&[]), nothing_to_do());
    let main = ServerName::new("main").unwrap();
    plan.run = RunId::new(run).unwrap();
    plan.started_by = "ana from 10.0.0.7".into();
    plan.environment.redis.insert(main.clone(), redis.clone());
    plan.environment.lease = Some(LeasePlace::Redis(main));
    let mut secrets = Secrets::none();
    secrets.insert(SecretRef::Env("LEASE".into()), SecretText::new("secret"));
    let (done, checks) = mpsc::unbounded_channel();
    let inspector = Inspector {
        drivers: Arc::new(Drivers::new(&plan, secrets).unwrap()),
        plan: Arc::new(plan),
        done,
        refused: Vec::new(),
    };
    (inspector, checks)
}

fn told(checks: &mut mpsc::UnboundedReceiver<Done>) -> Check {
    match checks.try_recv() {
        Ok(Done::Check(check)) => check,
        _ => panic!("nothing is told"),
    }
}

#[tokio::test]
async fn the_lease_is_taken_and_a_second_run_is_refused_with_who_holds_it_and_what_to_do() {
    let redis = redis_server(&[]).await;
    let (mut first, mut checks) = inspector("aaaa01", &redis.named());
    assert!(first.take_lease().await.is_some() && first.refused.is_empty());
    let check = told(&mut checks);
    assert_eq!(check.outcome, CheckOutcome::Passed);
    assert_eq!(
        format!("{}: {}", check.what.en(), check.found.en()),
        "lease of here: taken in redis main until the run is over"
    );
    let (mut second, _checks) = inspector("bbbb02", &redis.named());
    assert!(second.take_lease().await.is_none());
    let refused = second.refused[0].en();
    for part in [
        "lease of here: held by run aaaa01 (ana from 10.0.0.7 on ",
        ", since 20",
        " more unless it is renewed; wait until that run is over",
        "`allclear recover aaaa01` on ",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    let (mut restore, mut checks) = inspector("cccc03", &redis.named());
    restore.take_lease_if_free().await;
    let check = told(&mut checks);
    assert_eq!(check.outcome, CheckOutcome::Warned);
    assert!(check.found.en().contains("run aaaa01") && restore.refused.is_empty());
}

#[tokio::test]
async fn a_lease_that_cannot_be_taken_refuses_a_run_and_only_warns_a_restore() {
    let server = redis_server(&[]).await;
    server
        .ask(&["ACL", "SETUSER", "drill", "on", ">secret", "~degrade:*", "+@all"])
        .await;
    let denied = Redis {
        user: Some("drill".into()),
        password: Some(SecretRef::Env("LEASE".into())),
        ..server.named()
    };
    let down = Redis {
        place: RedisPlace::Address(nobody().await),
        ..server.named()
    };
    let right = "`ACL SETUSER drill ~allclear:lease:here +set +watch ";
    for (redis, why, next) in [
        (denied, "NOPERM", right),
        (down, "cannot be reached", "nothing begins before it is taken"),
    ] {
        let (mut run, _checks) = inspector("aaaa01", &redis);
        assert!(run.take_lease().await.is_none());
        let refused = run.refused[0].en();
        assert!(refused.contains(why) && refused.contains(next), "{refused}");
        let (mut restore, mut checks) = inspector("aaaa01", &redis);
        restore.take_lease_if_free().await;
        assert_eq!(told(&mut checks).outcome, CheckOutcome::Warned);
        assert!(restore.refused.is_empty());
    }
}

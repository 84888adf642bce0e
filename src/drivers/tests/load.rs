//! The load generator against a service that counts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use axum::{Router, http::StatusCode, routing::get};
use tokio::time::Instant;

use super::serve;
use crate::{
    drivers::{
        Drivers,
        load::LoadCounters,
        testing::{environment, nothing_to_do, plan},
    },
    model::{
        drill::{Load, LoadMethod},
        ids::{FaultId, InstanceName, RunId, StepName},
        secret::Secrets,
        time::Span,
    },
};

fn id() -> FaultId {
    let instance = InstanceName::new("order-0").unwrap();
    FaultId::new(
        &RunId::new("7f3a").unwrap(),
        &StepName::new("surge").unwrap(),
        &instance,
        0,
    )
}

fn load(rate: f64, max_concurrent: u32) -> Load {
    Load {
        url: "http://{order-0}/order".into(),
        method: LoadMethod::Get,
        headers: [("x-drill".to_owned(), "surge".to_owned())].into(),
        rate,
        max_concurrent,
        timeout: Span::seconds(5),
    }
}

async fn started(address: &str, load: &Load) -> Drivers {
    let environment = environment(&[("order", "order-0", address)]);
    let drivers = Drivers::new(&plan(environment, nothing_to_do()), Secrets::none()).unwrap();
    drivers
        .loads()
        .start(drivers.http().client(), drivers.places(), &id(), load)
        .await
        .unwrap();
    drivers
}

async fn until(drivers: &Drivers, ready: impl Fn(LoadCounters) -> bool) -> LoadCounters {
    let watch = async {
        loop {
            let now = drivers.loads().counters(&id()).await.unwrap();
            if ready(now) {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), watch)
        .await
        .expect("the load gets there")
}

#[tokio::test]
async fn requests_come_at_the_rate_and_end_with_the_stop() {
    let hits = Arc::new(AtomicU64::new(0));
    let counted = hits.clone();
    let service = serve(Router::new().route(
        "/order",
        get(move || {
            let n = counted.fetch_add(1, Relaxed);
            async move {
                if n.is_multiple_of(4) {
                    StatusCode::SERVICE_UNAVAILABLE
                } else {
                    StatusCode::OK
                }
            }
        }),
    ))
    .await;
    let begin = Instant::now();
    let drivers = started(&service.address, &load(200.0, 50)).await;
    until(&drivers, |c| c.sent >= 200).await;
    let seconds = begin.elapsed().as_secs_f64();
    assert!(
        (0.9..1.5).contains(&seconds),
        "200 requests at 200/s took {seconds} s"
    );
    let c = until(&drivers, |c| c.good > 0 && c.bad > 0).await;
    assert_eq!(c.failed, 0);
    drivers.loads().stop(&id()).await;
    assert!(!drivers.loads().runs(&id()).await);
    let after = hits.load(Relaxed);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(hits.load(Relaxed), after, "nothing is sent after the stop");
}

#[tokio::test]
async fn a_service_that_hangs_gets_no_more_than_the_cap_and_the_stop_does_not_wait_for_it() {
    let hang = get(|| async { tokio::time::sleep(Duration::from_secs(60)).await });
    let service = serve(Router::new().route("/order", hang)).await;
    let drivers = started(&service.address, &load(500.0, 10)).await;
    let c = until(&drivers, |c| c.dropped >= 100).await;
    assert_eq!((c.in_flight, c.sent), (10, 10));
    let begin = Instant::now();
    drivers.loads().stop(&id()).await;
    assert!(begin.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_load_that_makes_no_request_is_refused() {
    let environment = environment(&[]);
    let drivers = Drivers::new(&plan(environment, nothing_to_do()), Secrets::none()).unwrap();
    for wrong in [load(0.0, 1), load(1.0, 1)] {
        let made = drivers
            .loads()
            .start(drivers.http().client(), drivers.places(), &id(), &wrong)
            .await;
        assert!(made.is_err(), "{wrong:?}");
    }
}

//! Who is down, as a server tells it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::serving::{error, healthy_api, open, prometheus, success};
use crate::{
    metrics::{
        Fetch, Store,
        testing::{gauge, query},
    },
    model::{dashboard::Agg, time::Span},
};

const BUSY: &str = r#"[{"metric":{"job":"order","instance":"a"},"values":[[1990,"7"],[1995,"8"]]},
    {"metric":{"job":"order","instance":"b"},"values":[[1990,"7"]]}]"#;

/// Two rounds of a server that answers the second question for who is down like this.
async fn rounds(
    down: impl Fn() -> axum::response::Response + Clone + Send + Sync + 'static,
) -> (Store, [Fetch; 2]) {
    let asked = Arc::new(AtomicBool::new(false));
    let server = healthy_api(move |query| match query {
        "up == 0" if asked.swap(true, Ordering::SeqCst) => down(),
        "up == 0" => success("vector", "[]"),
        _ => success("matrix", BUSY),
    })
    .await;
    let wanted = [gauge("busy", Agg::Sum)];
    let mut source = open(prometheus(&server.url()));
    let mut store = Store::new(&wanted, Span::seconds(60));
    let rounds = [source.fetch(&wanted).await, source.fetch(&wanted).await];
    for round in &rounds {
        store.add(round.clone());
    }
    (store, rounds)
}

#[tokio::test]
async fn a_target_that_goes_down_makes_what_it_was_part_of_incomplete_and_is_named() {
    let down = r#"[{"metric":{"job":"order","instance":"b"},"value":[2000,"0"]},
        {"metric":{"job":"other","instance":"z"},"value":[2000,"0"]}]"#;
    let (store, [before, after]) = rounds(move || success("vector", down)).await;
    assert!(before.down.is_empty() && before.warnings.is_empty());
    assert_eq!(after.down.len(), 1, "the other one is part of nothing");
    assert_eq!(after.warnings.len(), 1);
    assert_eq!(
        after.warnings[0].en(),
        "b of job `order` does not answer its scrape"
    );
    assert!(store.reading(&query("busy"), Span::ZERO).partial);
}

#[tokio::test]
async fn a_server_that_knows_no_up_fails_no_round() {
    let (store, [_, after]) = rounds(|| error(400, "bad_data", "unknown metric")).await;
    assert!(after.problems.is_empty() && after.down.is_empty(), "{after:?}");
    let reading = store.reading(&query("busy"), Span::ZERO);
    assert!(reading.value.is_ok() && !reading.partial, "{reading:?}");
}

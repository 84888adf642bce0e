//! Ports: where everything is, and what stands in the way.

use allclear::range::{Options, Ports, Range, RangeError, default_endpoints};

use crate::range_support::quiet;

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_frees_every_port_and_a_taken_one_is_named() {
    let range = Range::start(quiet()).await.expect("a range");
    let endpoints = range.endpoints().clone();
    let mut addresses: Vec<String> = endpoints
        .instances
        .iter()
        .map(|one| one.address.clone())
        .collect();
    addresses.push(endpoints.gateway_runtime.clone());
    addresses.push(
        endpoints.redis["redis://".len()..]
            .trim_end_matches('/')
            .to_owned(),
    );
    // A connection that stays open must not keep its port.
    let kept = tokio::net::TcpStream::connect(&addresses[0])
        .await
        .expect("a connection");
    let taken: u16 = addresses[3]
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    let refused = Range::start(Options {
        ports: Ports::From(taken - 1),
        ..quiet()
    })
    .await
    .err();
    let Some(RangeError::Bind { address, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(address.port(), taken);

    range.shutdown().await;
    for address in &addresses {
        std::net::TcpListener::bind(address).unwrap_or_else(|error| panic!("{address}: {error}"));
    }
    drop(kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_started_says_why() {
    let why = async |options: Options| match Range::start(options).await {
        Ok(_) => panic!("it started"),
        Err(error) => error.to_string(),
    };
    let redis = Some("redis://user:secret@127.0.0.1:1/".to_owned());
    let said = why(Options { redis, ..quiet() }).await;
    assert!(
        said.contains("redis://127.0.0.1:1/") && !said.contains("secret"),
        "{said}"
    );
    let said = why(Options {
        ports: Ports::From(65_500),
        ..quiet()
    })
    .await;
    assert!(said.contains("too high"), "{said}");
    assert!(
        why(Options {
            mark: "a\nb".into(),
            ..quiet()
        })
        .await
        .contains("not a header value")
    );
    assert!(
        why(Options {
            users_rate: 6000,
            ..quiet()
        })
        .await
        .contains("too many")
    );
}

#[test]
fn the_fixed_layout_begins_at_7400() {
    let endpoints = default_endpoints();
    assert_eq!(endpoints.gateway_http, "127.0.0.1:7400");
    assert_eq!(endpoints.gateway_runtime, "127.0.0.1:7401");
    assert_eq!(endpoints.redis, "redis://127.0.0.1:7402/");
    assert_eq!(endpoints.retry, "127.0.0.1:7460");
    assert_eq!(endpoints.instance("order-7"), Some("127.0.0.1:7417"));
}

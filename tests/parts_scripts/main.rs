//! `scripts/parts NAME up|down|status`, as people and tests call it. Twice does no harm, nobody but this machine is listened to,
//! nothing is left, and a port that somebody else has is an error that names it.
#![allow(missing_docs, clippy::unwrap_used)]

mod all;
mod listening;
mod part;
#[path = "../parts_support/mod.rs"]
mod parts_support;

use std::net::TcpListener;

use crate::{
    part::{Kind, Part},
    parts_support::Script,
};

const REDIS: Kind = Kind::new("redis", &[0, 1, 2, 3, 4, 5, 6, 7, 10_005, 10_006, 10_007]);
const HAPROXY: Kind = Kind::new("haproxy", &[0, 1, 2, 3]);
const PROMETHEUS: Kind = Kind::new("prometheus", &[0]);
const KAFKA: Kind = Kind::new("kafka", &[0, 1, 2, 3, 4]).with_files_that_stay();
const KUBERNETES: Kind = Kind::new("kubernetes", &[0, 1, 2, 3, 4]).with_files_that_stay();
const ROCKETMQ: Kind = Kind::new("rocketmq", &[0, 3, 7]).with_files_that_stay();
const SENTINEL: Kind = Kind::new("sentinel", &[0, 1])
    .with_a_list_of_ports()
    .with_files_that_stay();
const SPRING: Kind = Kind::new("spring", &[0, 1, 2, 3])
    .with_a_list_of_ports()
    .with_files_that_stay();
const SHOP: Kind = Kind::new(
    "shop",
    &[
        0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14, 25, 26, 27, 10_025, 10_026, 10_027,
    ],
)
.with_files_that_stay();

async fn comes_and_goes(kind: Kind) {
    let part = Part::new(kind);
    let before = part.does("status").await;
    assert!(!before.is_well && before.text.contains("down"), "{before:?}");

    part.well("up").await;
    let listeners = part.listeners();
    for at in listeners.keys() {
        assert!(at.ip().to_canonical().is_loopback(), "{listeners:?}");
    }
    for port in part.ports() {
        let there = listeners.keys().any(|at| at.port() == port);
        assert!(there, "nobody listens at {port}: {listeners:?}");
    }
    let up = part.well("status").await;
    assert!(up.contains("up") && !up.contains("down"), "{up}");

    part.well("up").await;
    assert_eq!(part.listeners(), listeners, "the second `up` starts nothing anew");

    part.well("down").await;
    part.is_gone().await;
    let after = part.does("status").await;
    assert!(!after.is_well && after.text.contains("down"), "{after:?}");
    part.well("down").await;
    part.is_gone().await;
}

/// Something that is no part, and never answers, has one of its ports.
async fn a_taken_port_is_named(kind: Kind) {
    let part = Part::new(kind);
    for port in [part.ports().next(), part.ports().last()].into_iter().flatten() {
        let _other = TcpListener::bind(("127.0.0.1", port)).unwrap();
        part.is_refused(port).await;
        part.well("down").await;
        part.is_gone().await;
    }
}

/// Another of its kind has its ports: it must not be taken for this one, nor harmed.
async fn another_of_its_kind_is_left_alone(kind: Kind) {
    let part = Part::new(kind);
    part.well("up").await;
    let listeners = part.listeners();
    let other = part.at_the_same_ports();
    let status = other.does("status").await;
    assert!(!status.is_well, "{status:?}");
    other.is_refused(part.first).await;
    other.well("down").await;
    other.is_gone().await;
    part.well("status").await;
    assert_eq!(part.listeners(), listeners);
}

#[tokio::test]
async fn redis_comes_and_goes() {
    comes_and_goes(REDIS).await;
}

#[tokio::test]
async fn haproxy_comes_and_goes() {
    comes_and_goes(HAPROXY).await;
}

#[tokio::test]
async fn prometheus_comes_and_goes() {
    comes_and_goes(PROMETHEUS).await;
}

#[tokio::test]
async fn redis_names_a_taken_port() {
    a_taken_port_is_named(REDIS).await;
    another_of_its_kind_is_left_alone(REDIS).await;
}

#[tokio::test]
async fn haproxy_names_a_taken_port() {
    a_taken_port_is_named(HAPROXY).await;
    another_of_its_kind_is_left_alone(HAPROXY).await;
}

#[tokio::test]
async fn prometheus_names_a_taken_port() {
    a_taken_port_is_named(PROMETHEUS).await;
    another_of_its_kind_is_left_alone(PROMETHEUS).await;
}

#[tokio::test]
async fn a_test_that_needs_a_part_whose_port_is_taken_fails_and_says_so() {
    let part = Part::new(PROMETHEUS);
    let _other = TcpListener::bind(("127.0.0.1", part.first)).unwrap();
    let settings = vec![("PART_PORT", part.first.to_string())];
    let script = Script::new("prometheus", settings);
    let needs = tokio::spawn(async move { script.does(&["up"], &[]).await });
    let panic = needs.await.unwrap_err().into_panic();
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains(&part.taken(part.first)), "{said}");
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn kafka_comes_and_goes_and_names_a_taken_port() {
    comes_and_goes(KAFKA).await;
    a_taken_port_is_named(KAFKA).await;
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn kubernetes_comes_and_goes_and_names_a_taken_port() {
    comes_and_goes(KUBERNETES).await;
    a_taken_port_is_named(KUBERNETES).await;
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn rocketmq_comes_and_goes_and_names_a_taken_port() {
    comes_and_goes(ROCKETMQ).await;
    a_taken_port_is_named(ROCKETMQ).await;
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn sentinel_comes_and_goes_and_names_a_taken_port() {
    comes_and_goes(SENTINEL).await;
    a_taken_port_is_named(SENTINEL).await;
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn spring_comes_and_goes_and_names_a_taken_port() {
    comes_and_goes(SPRING).await;
    a_taken_port_is_named(SPRING).await;
}

#[tokio::test]
#[ignore = "minutes: scripts/test all"]
async fn the_shop_comes_and_goes() {
    comes_and_goes(SHOP).await;
}

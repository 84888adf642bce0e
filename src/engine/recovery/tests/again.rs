//! What somebody changes during the baseline is what recovery puts back to.

use super::{
    breakers::{playbook as breakers, via_app},
    haproxy_part::{Setting, haproxy, haproxy_with},
    stand::{Actuator, Mood, Queue, Stand},
    *,
};
use crate::{
    drivers::{redis::testing::redis_server, testing::until},
    model::{ids::ServerName, snapshot::Changed},
};

async fn again(stage: &Stage) -> Again {
    read_again(&stage.scene.plan, &stage.scene.drivers, &stage.scene.snapshot).await
}

fn told(changed: &[Changed]) -> Vec<String> {
    let line = |one: &Changed| format!("{}: {} → {}", one.what.en(), one.before.en(), one.now.en());
    changed.iter().map(line).collect()
}

fn blockers(again: Again) -> Vec<String> {
    match again {
        Again::Blocked(why) => why.iter().map(|said| said.en().to_owned()).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_weight_and_a_flag_that_somebody_has_changed_are_named_and_kept() {
    let (part, redis) = (haproxy().await, redis_server(&[]).await);
    redis.set(&["degrade:order:old"]).await;
    let mut environment = gateway::one_target("order-0");
    environment
        .redis
        .insert(ServerName::new("main").unwrap(), redis.named());
    let book = Playbook {
        flags: flags::playbook(10).flags,
        ..gateway::playbook(&part.admin, Span::ZERO)
    };
    let mut stage = stage(environment, book).with_snapshot_read().await;
    assert!(matches!(again(&stage).await, Again::AsBefore));

    let haproxy = stage.scene.drivers.haproxy(&part.admin, "order").unwrap();
    haproxy.set_weight(&instance("order-0"), 50).await.unwrap();
    redis.set(&["degrade:order:by-hand"]).await;
    let Again::Changed { snapshot, changed } = again(&stage).await else {
        panic!("it was changed");
    };
    assert_eq!(
        told(&changed),
        [
            format!(
                "order-0 at gateway {}: weight 100 of 100, ready → weight 50 of 100, ready",
                part.admin
            ),
            "flag degrade:order:by-hand in Redis main: not there → there".to_owned(),
        ]
    );
    // What the fault then changes goes back to what stood when it was made.
    stage.scene.snapshot = Arc::new(*snapshot);
    redis.set(&["degrade:order:caused"]).await;
    drain(&stage.scene, true).await;
    super::super::flags(&stage.scene).await;
    traffic(&stage.scene).await;
    assert_eq!(gateway::server(&stage, &part.admin, "order-0").await.weight, 50);
    assert_eq!(redis.keys().await, ["degrade:order:by-hand", "degrade:order:old"]);
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn a_weight_that_does_not_come_to_rest_blocks_and_is_named() {
    let part = haproxy().await;
    let stage = stage(
        gateway::one_target("order-0"),
        gateway::playbook(&part.admin, Span::ZERO),
    );
    let stage = stage.with_snapshot_read().await;
    let haproxy = stage.scene.drivers.haproxy(&part.admin, "order").unwrap();
    haproxy.set_weight(&instance("order-0"), 99).await.unwrap();
    let restless = async {
        for weight in (1..100).cycle() {
            haproxy.set_weight(&instance("order-0"), weight).await.unwrap();
            tokio::time::sleep(Span::millis(20).into()).await;
        }
    };
    let why = tokio::select! {
        again = again(&stage) => blockers(again),
        () = restless => unreachable!(),
    };
    assert!(
        why[0].starts_with("order-0 at gateway") && why[0].contains("changes still"),
        "{why:?}"
    );
}

#[tokio::test]
async fn what_cannot_be_read_again_blocks_and_a_backlog_that_wavers_does_not() {
    let queue = Queue::of(400, false, Some(50.0));
    let stand = Stand::start(queue.router()).await;
    let stage = stage(
        environment(&[]),
        retry::playbook(&stand.address, 100.0, Span::seconds(5)),
    );
    let stage = stage.with_snapshot_read().await;
    queue.state().await.backlog = 40.0;
    assert!(matches!(again(&stage).await, Again::AsBefore));
    stand.turn(Mood::Refuses);
    let why = blockers(again(&stage).await);
    assert!(
        why[0].contains("read again before arming") && why[0].contains("403"),
        "{why:?}"
    );
    stand.turn(Mood::Well);
    {
        let mut state = queue.state().await;
        (state.held, state.backlog) = (true, 9_000.0);
    }
    let Again::Changed { snapshot, changed } = again(&stage).await else {
        panic!("it is held now");
    };
    let backlog = snapshot.retry_queues[0].backlog;
    assert!(
        backlog <= 400,
        "{backlog}: what has piled up meanwhile is nobody's decision"
    );
    assert_eq!(
        (changed[0].before.en(), changed[0].now.en()),
        ("flowing at 50/s", "held at 50/s")
    );
}

#[tokio::test]
async fn a_breaker_that_has_opened_by_itself_blocks() {
    let actuator = Actuator::with(&[("coupon", "CLOSED")]).await;
    let stand = Stand::start(actuator.router()).await;
    let environment = environment(&[("order", "order-0", &stand.address)]);
    let stage = stage(environment, breakers(&["coupon"], via_app()))
        .with_snapshot_read()
        .await;
    actuator.set("coupon", "OPEN").await;
    let why = blockers(again(&stage).await);
    assert!(why[0].starts_with("breaker coupon on order-0 is OPEN"), "{why:?}");
    actuator.set("coupon", "HALF_OPEN").await;
    let why = blockers(again(&stage).await);
    assert!(
        why[0].starts_with("breaker coupon on order-0 is HALF_OPEN"),
        "{why:?}"
    );
    // A person's decision is taken as it is.
    actuator.set("coupon", "FORCED_OPEN").await;
    let Again::Changed { changed, .. } = again(&stage).await else {
        panic!("it was forced open");
    };
    assert_eq!(
        told(&changed),
        ["breaker coupon on order-0: CLOSED → FORCED_OPEN"]
    );
}

#[tokio::test]
async fn a_flag_of_another_value_is_named_and_what_moves_is_not_compared_at_the_end() {
    let redis = redis_server(&[]).await;
    redis
        .set(&[
            "degrade:order:edited",
            "degrade:order:gone",
            "degrade:order:still",
        ])
        .await;
    let mut stage = stage(flags::at(&redis.address, None), flags::playbook(10))
        .with_snapshot_read()
        .await;
    redis.ask(&["SET", "degrade:order:edited", "by hand"]).await;
    let edited = "flag degrade:order:edited in Redis main: as preflight found it → its value is another; not compared at the end";
    let Again::Changed { changed, .. } = again(&stage).await else {
        panic!("somebody has edited it");
    };
    assert_eq!(told(&changed), [edited]);
    redis.ask(&["DEL", "degrade:order:gone"]).await;
    let Again::Changed { snapshot, changed } = again(&stage).await else {
        panic!("somebody has edited it");
    };
    let gone = "flag degrade:order:gone in Redis main: there → not there";
    assert_eq!(told(&changed), [gone, edited]);
    stage.scene.snapshot = Arc::new(*snapshot);
    redis.ask(&["SET", "degrade:order:edited", "moves on"]).await;
    assert!(left_behind(&stage.scene).await.is_empty(), "it moves by itself");
    redis.ask(&["SET", "degrade:order:still", "changed"]).await;
    let left = left_behind(&stage.scene).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(
        left[0].what.en().starts_with("flag degrade:order:still"),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_breaker_that_was_open_before_the_baseline_blocks_nothing() {
    let actuator = Actuator::with(&[("coupon", "OPEN")]).await;
    let stand = Stand::start(actuator.router()).await;
    let environment = environment(&[("order", "order-0", &stand.address)]);
    let stage = stage(environment, breakers(&["coupon"], via_app()));
    let stage = stage.with_snapshot_read().await;
    actuator.set("coupon", "HALF_OPEN").await;
    let Again::Changed { changed, .. } = again(&stage).await else {
        panic!("it is half open now");
    };
    assert_eq!(told(&changed), ["breaker coupon on order-0: OPEN → HALF_OPEN"]);
}

#[tokio::test]
async fn a_server_that_went_down_during_the_baseline_blocks_and_is_named() {
    let there = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = there.local_addr().unwrap().to_string();
    let setting = Setting {
        servers: Some(&address),
        checked: true,
        ..Setting::default()
    };
    let part = haproxy_with(setting).await;
    let stage = stage(
        gateway::one_target("order-0"),
        gateway::playbook(&part.admin, Span::ZERO),
    );
    let stage = stage.with_snapshot_read().await;
    assert!(stage.scene.snapshot.gateway[0].running);
    drop(there);
    until("the server is down", async || {
        !gateway::server(&stage, &part.admin, "order-0").await.running
    })
    .await;
    let why = blockers(again(&stage).await);
    assert!(
        why.len() == 1 && why[0].contains("order-0 at gateway") && why[0].contains("is DOWN"),
        "{why:?}"
    );
}

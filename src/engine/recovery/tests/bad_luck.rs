//! Each driver × {down, slow, refuses, broken, garbage}: never done, always a leftover with a command.

use super::{
    breakers::{playbook as breakers, via_app},
    faults::{intent, one, with_a_rule},
    flags::{at, playbook as flags},
    haproxy_part::haproxy,
    stand::{Actuator, Injector, Mood, Queue, Stand, nobody, silent},
    *,
};
use crate::drivers::redis::testing::redis_server;
use crate::model::{
    environment::{RedisCluster, RedisPlace, Sentinels},
    event::CheckOutcome,
    playbook::Via,
    snapshot::{BreakerSeen, BreakerState, FlagsSeen, GatewayServer, GatewayState, RetryQueueSeen},
};

const MOODS: [Mood; 4] = [Mood::Slow, Mood::Refuses, Mood::Broken, Mood::Garbage];

/// Patience for a system that never gets well.
const SHORTER: Patience = Patience {
    call: Span::millis(150),
    connect: Span::millis(150),
    step: Span::millis(400),
    confirm: Span::millis(400),
    ..SHORT
};

fn failed(end: &StepEnd, case: &str) {
    assert_eq!(end.state, StepState::Failed, "{case}: {}", end.detail.en());
    assert!(end.gone.is_empty(), "{case}");
    left(&end.leftovers, case);
}

fn left(leftovers: &[Leftover], case: &str) {
    assert!(!leftovers.is_empty(), "{case}: nothing is left over");
    for leftover in leftovers {
        let by_hand = leftover.by_hand.as_deref().unwrap_or_default();
        let typed = ["curl ", "redis-cli ", "socat "]
            .iter()
            .any(|c| by_hand.contains(c));
        assert!(typed, "{case}: {by_hand:?}");
        let shown = format!("{} {}", leftover.what.en(), leftover.why.en());
        assert!(!shown.chars().any(char::is_control), "{case}: {shown:?}");
    }
}

fn at_order_0(address: &str) -> Environment {
    environment(&[("order", "order-0", address)])
}

async fn injectors_fail(address: &str, case: &str) {
    let plan = with_a_rule(at_order_0(address), nothing_to_do());
    let stage = staged(plan, |_| {}, Secrets::none(), SHORTER);
    failed(
        &super::super::faults(&stage.scene, &[intent(address, "order-0", 1)]).await,
        case,
    );
    failed(&super::super::injector(&stage.scene).await, case);
    left(&left_behind(&stage.scene).await, case);
}

async fn breakers_fail(address: &str, via: Via, case: &str) {
    let book = breakers(&["coupon"], via);
    let mut stage = stage_with(at_order_0(address), book, |_| {}, Secrets::none(), SHORTER);
    stage.scene.snapshot = Arc::new(Snapshot {
        breakers: vec![BreakerSeen {
            entry: 0,
            instance: instance("order-0"),
            name: "coupon".into(),
            state: BreakerState::Closed,
        }],
        ..Snapshot::default()
    });
    let scene = &stage.scene;
    let (opened, back, behind, repair) = tokio::join!(
        breakers_open(scene),
        traffic(scene),
        left_behind(scene),
        needs_repair(scene)
    );
    failed(&opened, case);
    failed(&back, case);
    left(&behind, case);
    assert!(repair.is_needed(), "{case}");
}

async fn queues_fail(address: &str, case: &str) {
    let book = retry::playbook(address, 10.0, Span::seconds(1));
    let mut stage = stage_with(environment(&[]), book, |_| {}, Secrets::none(), SHORTER);
    stage.scene.snapshot = Arc::new(Snapshot {
        retry_queues: vec![RetryQueueSeen {
            entry: 0,
            backlog: 0,
            held: false,
            rate: None,
            quotas: vec![],
            groups: vec![],
        }],
        ..Snapshot::default()
    });
    let scene = &stage.scene;
    let (held, released, behind, repair) = tokio::join!(
        hold_retry(scene),
        release_retry(scene),
        left_behind(scene),
        needs_repair(scene)
    );
    failed(&held, case);
    failed(&released, case);
    left(&behind, case);
    assert!(repair.is_needed(), "{case}");
}

/// One server, Sentinels and a cluster at the same address: none of them is what is meant.
async fn flags_fail_everywhere(address: &str, login: Option<(&str, &str)>, case: &str) {
    let addresses = vec![address.to_owned()];
    let places = [
        RedisPlace::Address(address.to_owned()),
        RedisPlace::Sentinel(Sentinels {
            master: "shop".into(),
            addresses: addresses.clone(),
            user: None,
            password: None,
        }),
        RedisPlace::Cluster(RedisCluster { addresses }),
    ];
    let cases = places.map(|place| async move {
        let mut environment = at(address, login);
        let case = format!("{case}: {place:?}");
        environment
            .redis
            .values_mut()
            .for_each(|redis| redis.place = place.clone());
        flags_fail(environment, &case).await;
    });
    futures::future::join_all(cases).await;
}

async fn flags_fail(environment: Environment, case: &str) {
    let mut stage = stage_with(environment, flags(10), |_| {}, Secrets::none(), SHORTER);
    stage.scene.snapshot = Arc::new(Snapshot {
        flags: vec![FlagsSeen {
            entry: 0,
            ..FlagsSeen::default()
        }],
        ..Snapshot::default()
    });
    failed(&super::super::flags(&stage.scene).await, case);
    left(&left_behind(&stage.scene).await, case);
    assert!(needs_repair(&stage.scene).await.is_needed(), "{case}");
    let (_, checks) = read_snapshot(&stage.scene.plan, &stage.scene.drivers).await;
    assert_eq!(checks[0].outcome, CheckOutcome::Refused, "{case}");
}

fn gateway_stage(socket: &str) -> Stage {
    let book = gateway::playbook(socket, Span::ZERO);
    let mut stage = stage_with(
        gateway::one_target("order-0"),
        book,
        |_| {},
        Secrets::none(),
        SHORTER,
    );
    stage.scene.snapshot = Arc::new(Snapshot {
        gateway: vec![GatewayServer {
            at: socket.to_owned(),
            instance: instance("order-0"),
            weight: 100,
            initial_weight: 100,
            state: GatewayState::Ready,
            running: true,
        }],
        ..Snapshot::default()
    });
    stage
}

async fn gateway_fails(socket: &str, case: &str) {
    let stage = gateway_stage(socket);
    failed(&drain(&stage.scene, true).await, case);
    failed(&traffic(&stage.scene).await, case);
    left(&left_behind(&stage.scene).await, case);
}

#[tokio::test]
async fn an_injector_that_does_not_answer_well_is_never_called_clear() {
    injectors_fail(&nobody().await, "injector down").await;
    let (stand, _) = one(&Injector::default()).await;
    for mood in MOODS {
        stand.turn(mood);
        injectors_fail(&stand.address, &format!("injector {mood:?}")).await;
    }
}

#[tokio::test]
async fn an_actuator_that_does_not_answer_well_is_never_called_closed() {
    let stand = Stand::start(Actuator::with(&[("coupon", "OPEN")]).await.router()).await;
    for via in [via_app(), Via::Close, Via::Wait] {
        breakers_fail(&nobody().await, via.clone(), "actuator down").await;
        for mood in MOODS {
            stand.turn(mood);
            breakers_fail(&stand.address, via.clone(), &format!("actuator {mood:?}")).await;
        }
    }
}

#[tokio::test]
async fn a_retry_queue_that_does_not_answer_well_is_never_called_released() {
    queues_fail(&nobody().await, "queue down").await;
    let stand = Stand::start(Queue::of(500, false, None).router()).await;
    for mood in MOODS {
        stand.turn(mood);
        queues_fail(&stand.address, &format!("queue {mood:?}")).await;
    }
}

#[tokio::test]
async fn a_redis_that_does_not_answer_well_is_never_called_clean() {
    flags_fail_everywhere(&nobody().await, None, "redis down").await;
    let silent = silent().await;
    flags_fail_everywhere(&silent.address, None, "redis slow").await;
    let web = Stand::start(Queue::of(0, false, None).router()).await;
    flags_fail_everywhere(&web.address, None, "redis garbage").await;
    let locked = redis_server(&["--requirepass", "pw-of-the-test"]).await;
    flags_fail_everywhere(&locked.address, None, "redis refuses").await;
    let login = Some(("default", "x"));
    flags_fail_everywhere(&locked.address, login, "redis secret missing").await;
}

#[tokio::test]
async fn a_gateway_that_does_not_answer_well_is_never_called_back() {
    gateway_fails(&nobody().await, "gateway down").await;
    gateway_fails("/nonexistent/haproxy.sock", "gateway socket missing").await;
    let silent = silent().await;
    gateway_fails(&silent.address, "gateway slow").await;
    let web = Stand::start(Queue::of(0, false, None).router()).await;
    gateway_fails(&web.address, "gateway garbage").await;
    // One that can be read and not changed: what differs stays, and is seen.
    let part = haproxy().await;
    failed(
        &drain(&gateway_stage(&part.operator).scene, true).await,
        "gateway refuses",
    );
    let admin = gateway_stage(&part.admin);
    assert_eq!(drain(&admin.scene, true).await.state, StepState::Done);
    failed(
        &traffic(&gateway_stage(&part.operator).scene).await,
        "gateway refuses",
    );
}

#[tokio::test]
async fn a_healthy_system_needs_no_repair() {
    let injector = Injector::default();
    let (_stand, environment) = one(&injector).await;
    let stage = staged(
        with_a_rule(environment, nothing_to_do()),
        |_| {},
        Secrets::none(),
        SHORT,
    );
    let stage = stage.with_snapshot_read().await;
    assert!(!needs_repair(&stage.scene).await.is_needed());
    assert!(left_behind(&stage.scene).await.is_empty());
}

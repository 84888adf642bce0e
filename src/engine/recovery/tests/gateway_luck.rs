//! Bad luck at a real HAProxy, or at one of two: reloaded, down, changed by someone else, full; recovery killed.

use std::sync::atomic::AtomicUsize;

use tokio::{io::AsyncWriteExt, net::TcpListener};

use super::{
    gateway::{one_target, playbook, playbook_of, server},
    haproxy_part::{HaproxyPart, Setting, haproxy, haproxy_with},
    stand::silent,
    *,
};
use crate::{drivers::haproxy::Haproxy, model::snapshot::GatewayState};

pub(super) fn at(stage: &Stage, socket: &str) -> Haproxy {
    stage.scene.drivers.haproxy(socket, "order").unwrap()
}

pub(super) async fn weighs(stage: &Stage, socket: &str, weight: u32) {
    let reached = async {
        loop {
            let servers = at(stage, socket).servers().await.unwrap_or_default();
            if servers.iter().any(|s| s.name == "order-0" && s.weight == weight) {
                return;
            }
            tokio::time::sleep(Span::millis(5).into()).await;
        }
    };
    let limit = Span::seconds(20).into();
    tokio::time::timeout(limit, reached)
        .await
        .expect("the weight is reached");
}

pub(super) async fn is_exactly(stage: &Stage, socket: &str, weight: u32, state: GatewayState) {
    let now = server(stage, socket, "order-0").await;
    assert_eq!((now.weight, now.state), (weight, state), "at {socket}");
}

pub(super) async fn two(hold: Span) -> (HaproxyPart, HaproxyPart, Stage) {
    let (a, b) = (haproxy().await, haproxy().await);
    let stage = stage(one_target("order-0"), playbook_of(&[&a.admin, &b.unix], hold));
    (a, b, stage)
}

#[tokio::test]
async fn each_load_balancer_gets_back_its_own_state() {
    let (a, b, stage) = two(Span::millis(40)).await;
    at(&stage, &b.unix)
        .set_weight(&instance("order-0"), 40)
        .await
        .unwrap();
    let mut stage = stage.with_snapshot_read().await;
    let end = drain(&stage.scene, true).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    for socket in [&a.admin, &b.unix] {
        is_exactly(&stage, socket, 0, GatewayState::Ready).await;
    }
    let left = left_behind(&stage.scene).await;
    assert_eq!(left.len(), 2);
    assert!(
        left[1].what.en().contains(&format!("order-0 at {}", b.unix)),
        "{}",
        left[1].what.en()
    );
    let end = traffic(&stage.scene).await;
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    is_exactly(&stage, &a.admin, 100, GatewayState::Ready).await;
    is_exactly(&stage, &b.unix, 40, GatewayState::Ready).await;
    let at_b = stage.intents().into_iter().filter_map(|i| match i {
        ChangeIntent::Gateway {
            at, to, weight: 40, ..
        } if at == b.unix => Some(to),
        _ => None,
    });
    assert_eq!(
        at_b.collect::<Vec<_>>(),
        ["weight 0", "weight 4", "weight 12", "weight 40"]
    );
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn a_load_balancer_where_the_target_was_out_is_left_so_while_the_other_one_is_drained() {
    let (a, b, stage) = two(Span::ZERO).await;
    at(&stage, &b.unix)
        .set_state(&instance("order-0"), GatewayState::Maint)
        .await
        .unwrap();
    let stage = stage.with_snapshot_read().await;
    assert_eq!(drain(&stage.scene, true).await.state, StepState::Done);
    is_exactly(&stage, &b.unix, 100, GatewayState::Maint).await;
    assert_eq!(traffic(&stage.scene).await.state, StepState::Done);
    is_exactly(&stage, &a.admin, 100, GatewayState::Ready).await;
    is_exactly(&stage, &b.unix, 100, GatewayState::Maint).await;
}

#[tokio::test]
async fn one_load_balancer_that_is_down_keeps_the_other_one_from_nothing() {
    let (a, mut b, stage) = two(Span::millis(40)).await;
    let stage = stage.with_snapshot_read().await;
    drain(&stage.scene, true).await;
    b.kill();
    let end = traffic(&stage.scene).await;
    assert_eq!(
        (end.state, end.leftovers.len()),
        (StepState::Failed, 1),
        "{}",
        end.detail.en()
    );
    assert_eq!(end.leftovers[0].certainty, Certainty::Unknown);
    is_exactly(&stage, &a.admin, 100, GatewayState::Ready).await;
    assert_eq!(left_behind(&stage.scene).await.len(), 1);
    b.start().await;
    type_by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn nothing_is_drained_while_the_rest_has_no_room_for_the_sessions() {
    let server = silent().await;
    let setting = Setting {
        servers: Some(&server.address),
        maxconn: Some(2),
        ..Setting::default()
    };
    let part = haproxy_with(setting).await;
    let rows = [
        ("order", "order-0", "a:1"),
        ("order", "order-1", "a:2"),
        ("order", "order-9", "a:3"),
    ];
    let stage = stage(environment(&rows), playbook(&part.unix, Span::ZERO))
        .with_snapshot_read()
        .await;
    let mut requests = Vec::new();
    let mut send = async |count: usize| {
        for _ in 0..count {
            let mut request = tokio::net::TcpStream::connect(&part.front).await.unwrap();
            request
                .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                .await
                .unwrap();
            requests.push(request);
        }
        let all = requests.len() as u64;
        let served = async {
            while at(&stage, &part.unix)
                .carries()
                .await
                .unwrap()
                .iter()
                .map(|c| c.sessions)
                .sum::<u64>()
                < all
            {
                tokio::time::sleep(Span::millis(5).into()).await;
            }
        };
        tokio::time::timeout(Span::seconds(10).into(), served)
            .await
            .expect("the sessions are there");
    };
    send(1).await;
    let end = drain(&stage.scene, true).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert!(
        end.detail.en().ends_with("1 serve 1 sessions, have room for 2"),
        "{}",
        end.detail.en()
    );
    assert_eq!(traffic(&stage.scene).await.state, StepState::Done);
    send(2).await;
    let end = drain(&stage.scene, true).await;
    assert_eq!(end.state, StepState::Nothing);
    assert!(
        end.detail
            .en()
            .contains("order-2 would get 3 of 3 sessions (weight 100 of 100) and may have 2"),
        "{}",
        end.detail.en()
    );
    is_exactly(&stage, &part.unix, 100, GatewayState::Ready).await;
}

/// Recovery is killed at each of its changes, before or after it, and begins again with the same snapshot.
#[tokio::test]
async fn recovery_killed_at_any_change_and_begun_again_ends_at_exactly_what_was() {
    let (a, b) = (haproxy().await, haproxy().await);
    let sockets = [a.unix.as_str(), b.unix.as_str()];
    let fresh = || stage(one_target("order-0"), playbook_of(&sockets, Span::ZERO));
    at(&fresh(), sockets[1])
        .set_weight(&instance("order-0"), 1)
        .await
        .unwrap();
    let snapshot = fresh().with_snapshot_read().await.scene.snapshot;
    for killed_at in 0.. {
        let left = Arc::new(AtomicUsize::new(killed_at));
        let seen = left.clone();
        let killed = move |ledger: &mut Ledger| {
            ledger.dies =
                Box::new(move || seen.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_err());
        };
        let book = playbook_of(&sockets, Span::ZERO);
        let mut first = stage_with(one_target("order-0"), book, killed, Secrets::none(), SHORT);
        first.scene.snapshot = snapshot.clone();
        let dead = async {
            while first.intents.len() <= killed_at {
                tokio::task::yield_now().await;
            }
        };
        let scene = first.scene.clone();
        let recovery = async {
            drain(&scene, true).await;
            traffic(&scene).await
        };
        let is_over = tokio::select! {
            end = recovery => {
                assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
                true
            }
            () = dead => false,
        };
        let mut second = fresh();
        second.scene.snapshot = snapshot.clone();
        drain(&second.scene, true).await;
        let end = traffic(&second.scene).await;
        assert!(
            matches!(end.state, StepState::Done),
            "killed at {killed_at}: {}",
            end.detail.en()
        );
        is_exactly(&second, sockets[0], 100, GatewayState::Ready).await;
        is_exactly(&second, sockets[1], 1, GatewayState::Ready).await;
        assert!(
            left_behind(&second.scene).await.is_empty(),
            "killed at {killed_at}"
        );
        if is_over {
            assert_eq!(
                killed_at, 6,
                "weight 0 twice, three stages at one and one at the other"
            );
            return;
        }
    }
}

#[tokio::test]
async fn a_target_that_the_gateway_finds_down_is_a_leftover_unless_it_was_so_before() {
    let there = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = there.local_addr().unwrap().to_string();
    let part = haproxy_with(Setting {
        servers: Some(&address),
        checked: true,
        ..Setting::default()
    })
    .await;
    let playbook = playbook_of(&[&part.admin], Span::millis(40));
    let stage = stage(one_target("order-0"), playbook).with_snapshot_read().await;
    assert_eq!(left_behind(&stage.scene).await, vec![]);
    drop(there);
    let down = async { while server(&stage, &part.admin, "order-0").await.running {} };
    tokio::time::timeout(Span::seconds(20).into(), down)
        .await
        .expect("its check fails");
    let left = left_behind(&stage.scene).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].what.en(), "order-0 at the gateway is DOWN");
    // Its weight and state are as before all the time: what was down before is nobody's leftover.
    let stage = stage.with_snapshot_read().await;
    assert_eq!(left_behind(&stage.scene).await, vec![]);
}

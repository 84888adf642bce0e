//! The gateway: a real HAProxy.

use super::{haproxy_part::haproxy, *};
use crate::{
    drivers::haproxy::Server,
    model::{amount::Share, playbook::Gateway, snapshot::GatewayState},
};

pub(super) fn playbook(socket: &str, hold: Span) -> Playbook {
    playbook_of(&[socket], hold)
}

pub(super) fn playbook_of(sockets: &[&str], hold: Span) -> Playbook {
    Playbook {
        gateway: Some(Gateway::Haproxy {
            sockets: sockets.iter().map(|s| (*s).to_owned()).collect(),
            backend: "order".into(),
            ramp: vec![Share(0.1), Share(0.3), Share(1.0)],
            hold,
        }),
        ..nothing_to_do()
    }
}

pub(super) fn one_target(name: &str) -> Environment {
    environment(&[("order", name, "127.0.0.1:9")])
}

pub(super) async fn server(stage: &Stage, socket: &str, name: &str) -> Server {
    let haproxy = stage.scene.drivers.haproxy(socket, "order").unwrap();
    haproxy
        .servers()
        .await
        .unwrap()
        .into_iter()
        .find(|s| s.name == name)
        .unwrap()
}

fn weights(intents: &[ChangeIntent]) -> Vec<&str> {
    let to = |i| match i {
        &ChangeIntent::Gateway {
            ref to,
            weight: 100 | 1,
            state: GatewayState::Ready,
            ..
        } => to.as_str(),
        other => panic!("{other:?}"),
    };
    intents.iter().map(to).collect()
}

#[tokio::test]
async fn a_target_goes_out_and_comes_back_in_stages_to_exactly_what_it_was() {
    let part = haproxy().await;
    for socket in [&part.admin, &part.unix] {
        let stage = stage(one_target("order-0"), playbook(socket, Span::millis(60)));
        let mut stage = stage.with_snapshot_read().await;
        assert_eq!(drain(&stage.scene, false).await.state, StepState::Nothing);
        let end = drain(&stage.scene, true).await;
        assert_eq!(
            (end.state, end.detail.en()),
            (StepState::Done, "order-0 weight 100 → 0; 3 serve")
        );
        assert_eq!(server(&stage, socket, "order-0").await.weight, 0);
        assert_eq!(drain(&stage.scene, true).await.state, StepState::Nothing);
        assert_eq!(left_behind(&stage.scene).await.len(), 1);
        let end = traffic(&stage.scene).await;
        assert_eq!(
            (end.state, end.leftovers),
            (StepState::Done, vec![]),
            "{}",
            end.detail.en()
        );
        assert_eq!(
            weights(&stage.intents()),
            ["weight 0", "weight 10", "weight 30", "weight 100"]
        );
        let back = server(&stage, socket, "order-0").await;
        assert_eq!((back.weight, back.state), (100, GatewayState::Ready));
        assert_eq!(traffic(&stage.scene).await.state, StepState::Nothing);
        assert!(left_behind(&stage.scene).await.is_empty());
    }
}

#[tokio::test]
async fn a_weight_of_one_comes_back_and_a_state_set_meanwhile_is_undone() {
    let part = haproxy().await;
    let stage = stage(one_target("order-9"), playbook(&part.admin, Span::ZERO));
    let stage = stage.with_snapshot_read().await;
    drain(&stage.scene, true).await;
    let haproxy = stage.scene.drivers.haproxy(&part.admin, "order").unwrap();
    haproxy
        .set_state(&instance("order-9"), GatewayState::Maint)
        .await
        .unwrap();
    assert_eq!(traffic(&stage.scene).await.state, StepState::Done);
    let back = server(&stage, &part.admin, "order-9").await;
    assert_eq!((back.weight, back.state), (1, GatewayState::Ready));
}

#[tokio::test]
async fn a_server_that_was_out_before_the_drill_stays_out() {
    let part = haproxy().await;
    let stage = stage(one_target("order-0"), playbook(&part.admin, Span::ZERO));
    let haproxy = stage.scene.drivers.haproxy(&part.admin, "order").unwrap();
    haproxy
        .set_state(&instance("order-0"), GatewayState::Drain)
        .await
        .unwrap();
    haproxy.set_weight(&instance("order-0"), 40).await.unwrap();
    let mut stage = stage.with_snapshot_read().await;
    assert_eq!(drain(&stage.scene, true).await.state, StepState::Nothing);
    assert_eq!(traffic(&stage.scene).await.state, StepState::Nothing);
    assert!(stage.intents().is_empty());
    haproxy
        .set_state(&instance("order-0"), GatewayState::Ready)
        .await
        .unwrap();
    assert_eq!(traffic(&stage.scene).await.state, StepState::Done);
    let back = server(&stage, &part.admin, "order-0").await;
    assert_eq!((back.weight, back.state), (40, GatewayState::Drain));
}

#[tokio::test]
async fn nothing_is_drained_that_the_rest_cannot_carry() {
    let part = haproxy().await;
    let rows = [
        ("order", "order-0", "a:1"),
        ("order", "order-1", "a:2"),
        ("order", "order-2", "a:3"),
    ];
    let stage = stage(environment(&rows), playbook(&part.admin, Span::ZERO))
        .with_snapshot_read()
        .await;
    let end = drain(&stage.scene, true).await;
    assert_eq!(
        (end.state, server(&stage, &part.admin, "order-0").await.weight),
        (StepState::Nothing, 100)
    );
    assert!(
        end.detail.en().contains("cannot carry the load"),
        "{}",
        end.detail.en()
    );
}

/// A stage of the ramp that the users do not bear.
struct Broken {
    at: &'static str,
    /// What weights are set on the way.
    way: &'static [&'static str],
    /// The weight that is borne, and that is left.
    borne: u32,
    /// The weights that are left to be set by hand.
    by_hand: &'static [u32],
}

const BROKEN: [Broken; 3] = [
    Broken {
        at: "10%",
        way: &["weight 10", "weight 0", "weight 10", "weight 0"],
        borne: 0,
        by_hand: &[10, 30, 100],
    },
    Broken {
        at: "30%",
        way: &["weight 10", "weight 30", "weight 10", "weight 30", "weight 10"],
        borne: 10,
        by_hand: &[30, 100],
    },
    Broken {
        at: "100%",
        way: &[
            "weight 10",
            "weight 30",
            "weight 100",
            "weight 30",
            "weight 100",
            "weight 30",
        ],
        borne: 30,
        by_hand: &[100],
    },
];

#[tokio::test]
async fn a_guard_that_breaks_at_any_stage_of_the_way_up_stops_below_it() {
    futures::future::join_all(BROKEN.map(stops_below)).await;
}

async fn stops_below(broken: Broken) {
    let Broken { at, borne, .. } = broken;
    let part = haproxy().await;
    let (address, hurt) = (part.admin.clone(), Arc::new(AtomicBool::new(false)));
    let seen = hurt.clone();
    let guard = move |ledger: &mut Ledger| {
        ledger.guard = Box::new(move || seen.load(Relaxed).then(|| "order_p99 users 900ms".into()));
    };
    let book = playbook(&address, Span::millis(300));
    let mut stage = stage_with(one_target("order-0"), book, guard, Secrets::none(), SHORT)
        .with_snapshot_read()
        .await;
    drain(&stage.scene, true).await;
    assert_eq!(weights(&stage.intents()), ["weight 0"], "{at}");
    let haproxy = stage.scene.drivers.haproxy(&address, "order").unwrap();
    // Users are hurt whenever the target has more than they bear.
    let feel = async {
        loop {
            let servers = haproxy.servers().await.unwrap();
            let is_too_much = |s: &Server| s.name == "order-0" && s.weight > borne;
            hurt.store(servers.iter().any(is_too_much), Relaxed);
            tokio::time::sleep(Span::millis(5).into()).await;
        }
    };
    let end = tokio::select! {
        end = traffic(&stage.scene) => end,
        () = feel => unreachable!(),
    };
    assert_eq!(end.state, StepState::Failed, "{at}: {}", end.detail.en());
    assert_eq!(weights(&stage.intents()), broken.way, "{at}");
    assert_eq!(server(&stage, &address, "order-0").await.weight, borne, "{at}");
    assert!(
        end.leftovers[0].why.en().contains(&format!("bad at {at}")),
        "{at}: {:?}",
        end.leftovers
    );
    // Not all of it at once: that is what the guard did not bear.
    let left = left_behind(&stage.scene).await;
    assert_eq!(left[0].by_hand, end.leftovers[0].by_hand, "{at}");
    let by_hand = left[0].by_hand.as_deref().unwrap();
    let lines: Vec<&str> = by_hand.lines().collect();
    assert_eq!(lines.len(), broken.by_hand.len() * 2, "{at}: {by_hand}");
    for (nth, (lines, weight)) in lines.chunks(2).zip(broken.by_hand).enumerate() {
        let when = match nth {
            0 => "# only once the guards hold / 守护成立后再执行",
            _ => "# only once the guards have held for 300ms / 守护保持 300ms 后再执行",
        };
        assert_eq!(lines[0], when, "{at}");
        assert!(lines[1].contains(&format!("weight {weight};")), "{at}: {by_hand}");
    }
    type_by_hand(by_hand).await;
    assert!(left_behind(&stage.scene).await.is_empty(), "{at}");
}

#[tokio::test]
async fn the_commands_by_hand_work_over_both_sockets() {
    let part = haproxy().await;
    for socket in [&part.admin, &part.unix] {
        let stage = stage(one_target("order-0"), playbook(socket, Span::ZERO))
            .with_snapshot_read()
            .await;
        let haproxy = stage.scene.drivers.haproxy(socket, "order").unwrap();
        haproxy.set_weight(&instance("order-0"), 7).await.unwrap();
        haproxy
            .set_state(&instance("order-0"), GatewayState::Maint)
            .await
            .unwrap();
        let left = left_behind(&stage.scene).await;
        assert_eq!(left[0].what.en(), "order-0 at the gateway: weight 7, maint");
        type_by_hand(left[0].by_hand.as_deref().unwrap()).await;
        assert!(left_behind(&stage.scene).await.is_empty());
    }
}

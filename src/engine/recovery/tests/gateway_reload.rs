//! A real HAProxy that is reloaded, or changed by someone else, in mid-recovery.

use super::{
    gateway::{one_target, playbook},
    gateway_luck::{at, is_exactly, weighs},
    haproxy_part::{Setting, haproxy, haproxy_with},
    pools::falling,
    *,
};
use crate::model::snapshot::GatewayState;

#[tokio::test]
async fn a_reload_in_the_middle_of_a_stage_is_put_right_and_the_stage_held_again() {
    let mut part = haproxy().await;
    let (socket, hold) = (part.unix.clone(), Span::millis(700));
    let mut stage = stage(one_target("order-0"), playbook(&socket, hold))
        .with_snapshot_read()
        .await;
    drain(&stage.scene, true).await;
    let reload = async {
        weighs(&stage, &socket, 10).await;
        part.reload().await;
    };
    let (end, ()) = tokio::join!(traffic(&stage.scene), reload);
    assert_eq!(
        (end.state, &end.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        end.detail.en()
    );
    assert!(end.detail.en().contains("put right"), "{}", end.detail.en());
    is_exactly(&stage, &socket, 100, GatewayState::Ready).await;
    let tens = stage
        .intents()
        .into_iter()
        .filter(|i| matches!(i, ChangeIntent::Gateway { to, .. } if to == "weight 10"));
    assert_eq!(tens.count(), 2);
}

#[tokio::test]
async fn a_reload_that_keeps_its_states_needs_no_putting_right() {
    let setting = Setting {
        keeps_state: true,
        ..Setting::default()
    };
    let mut part = haproxy_with(setting).await;
    let socket = part.unix.clone();
    let stage = stage(one_target("order-0"), playbook(&socket, Span::millis(700)))
        .with_snapshot_read()
        .await;
    drain(&stage.scene, true).await;
    part.reload().await;
    is_exactly(&stage, &socket, 0, GatewayState::Ready).await;
    let reload = async {
        weighs(&stage, &socket, 10).await;
        part.reload().await;
    };
    let (end, ()) = tokio::join!(traffic(&stage.scene), reload);
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert!(!end.detail.en().contains("put right"), "{}", end.detail.en());
    is_exactly(&stage, &socket, 100, GatewayState::Ready).await;
}

#[tokio::test]
async fn a_target_that_a_reload_brings_back_while_pools_drain_is_taken_out_again() {
    let mut part = haproxy().await;
    let socket = part.unix.clone();
    let mut book = playbook(&socket, Span::ZERO);
    let (pools, readings) = falling();
    book.pools = pools;
    let stage = stage_with(one_target("order-0"), book, readings, Secrets::none(), SHORT)
        .with_snapshot_read()
        .await;
    drain(&stage.scene, true).await;
    let reload = async {
        part.reload().await;
        weighs(&stage, &socket, 0).await;
    };
    tokio::select! {
        end = super::super::pools(&stage.scene) => panic!("the pool was empty too soon: {}", end.detail.en()),
        () = reload => {}
    }
}

#[tokio::test]
async fn someone_else_who_keeps_changing_it_is_named_and_not_fought_for_ever() {
    let part = haproxy().await;
    let socket = part.unix.clone();
    let stage = stage(one_target("order-0"), playbook(&socket, Span::millis(300)))
        .with_snapshot_read()
        .await;
    drain(&stage.scene, true).await;
    let other = at(&stage, &socket);
    let someone_else = async {
        weighs(&stage, &socket, 10).await;
        loop {
            other.set_weight(&instance("order-0"), 77).await.unwrap();
            tokio::time::sleep(Span::millis(60).into()).await;
        }
    };
    let end = tokio::select! {
        end = traffic(&stage.scene) => end,
        () = someone_else => unreachable!(),
    };
    assert_eq!(end.state, StepState::Failed, "{}", end.detail.en());
    assert!(!end.leftovers.is_empty());
    type_by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    assert!(left_behind(&stage.scene).await.is_empty());
}

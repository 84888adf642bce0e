//! Breakers against an actuator with Resilience4j's traps.

use axum::{
    extract::Request,
    middleware::{Next, from_fn},
};
use reqwest::Method;
use tokio::sync::Barrier;

use super::{
    stand::{Actuator, Stand},
    *,
};
use crate::model::{
    plan::Purpose,
    playbook::{Breakers, Via},
};

pub(super) fn playbook(names: &[&str], via: Via) -> Playbook {
    Playbook {
        breakers: vec![Breakers::Resilience4j {
            actuator: "http://{instance}/actuator".into(),
            callers: ServiceName::new("order").unwrap(),
            names: names.iter().map(|n| (*n).to_owned()).collect(),
            via,
        }],
        ..nothing_to_do()
    }
}

pub(super) fn via_app() -> Via {
    Via::App {
        url: "http://{instance}/app/breakers/{name}/half-open".into(),
    }
}

async fn ready(actuator: &Actuator, names: &[&str], via: Via) -> (Stand, Stage) {
    let stand = Stand::start(actuator.router()).await;
    let environment = environment(&[("order", "order-0", &stand.address)]);
    let stage = stage(environment, playbook(names, via))
        .with_snapshot_read()
        .await;
    (stand, stage)
}

#[tokio::test]
async fn an_opened_breaker_is_half_opened_and_seen_closed_by_calls() {
    let actuator = Actuator::with(&[("coupon", "CLOSED")]).await;
    let (_stand, mut stage) = ready(&actuator, &["coupon"], via_app()).await;
    assert_eq!(breakers_open(&stage.scene).await.state, StepState::Nothing);
    actuator.set("coupon", "OPEN").await;
    assert_eq!(needs_repair(&stage.scene).await.breakers, 1);
    let end = breakers_open(&stage.scene).await;
    assert_eq!(
        (end.state, end.detail.en()),
        (StepState::Done, "1 of 1 brought back")
    );
    assert_eq!(stage.intents().len(), 1);
    assert_eq!(
        left_behind(&stage.scene).await[0].what.en(),
        "breaker coupon on order-0 (HALF_OPEN)"
    );
    actuator.closes_after.store(2, Relaxed);
    let end = traffic(&stage.scene).await;
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Nothing, vec![]),
        "{}",
        end.detail.en()
    );
    assert_eq!(actuator.state("coupon").await.as_deref(), Some("CLOSED"));
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn a_half_open_breaker_that_no_call_closes_is_a_leftover() {
    let actuator = Actuator::with(&[("coupon", "CLOSED")]).await;
    let (_stand, stage) = ready(&actuator, &["coupon"], via_app()).await;
    actuator.set("coupon", "OPEN").await;
    breakers_open(&stage.scene).await;
    let end = traffic(&stage.scene).await;
    assert_eq!(end.state, StepState::Failed);
    type_by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    assert_eq!(actuator.state("coupon").await.as_deref(), Some("CLOSED"));
}

#[tokio::test]
async fn a_breaker_that_was_held_by_a_person_is_not_touched() {
    for held in ["FORCED_OPEN", "DISABLED", "OPEN", "METRICS_ONLY"] {
        let actuator = Actuator::with(&[("coupon", held)]).await;
        let (_stand, mut stage) = ready(&actuator, &["coupon"], Via::Close).await;
        assert_eq!(
            breakers_open(&stage.scene).await.state,
            StepState::Nothing,
            "{held}"
        );
        assert_eq!(traffic(&stage.scene).await.state, StepState::Nothing, "{held}");
        assert!(stage.intents().is_empty() && actuator.posts.lock().await.is_empty());
        assert!(left_behind(&stage.scene).await.is_empty());
    }
}

#[tokio::test]
async fn a_breaker_forced_open_meanwhile_is_named_with_the_command_that_closes_it() {
    let actuator = Actuator::with(&[("coupon", "CLOSED")]).await;
    let (_stand, stage) = ready(&actuator, &["coupon"], via_app()).await;
    actuator.set("coupon", "FORCED_OPEN").await;
    let end = breakers_open(&stage.scene).await;
    assert_eq!(
        (end.state, end.leftovers[0].what.en()),
        (StepState::Failed, "breaker coupon on order-0 (FORCED_OPEN)")
    );
    type_by_hand(end.leftovers[0].by_hand.as_deref().unwrap()).await;
    assert!(left_behind(&stage.scene).await.is_empty());
}

#[tokio::test]
async fn a_restore_does_not_close_what_a_person_forced_open_even_if_it_did_not_see_it_before() {
    let actuator = Actuator::with(&[("coupon", "CLOSED")]).await;
    let (_stand, mut stage) = ready(&actuator, &["coupon"], Via::Close).await;
    Arc::make_mut(&mut stage.scene.plan).purpose = Purpose::Restore;
    actuator.set("coupon", "FORCED_OPEN").await;
    let end = breakers_open(&stage.scene).await;
    assert_eq!(end.state, StepState::Failed, "named, and left to a person");
    assert!(stage.intents().is_empty() && actuator.posts.lock().await.is_empty());
    assert_eq!(actuator.state("coupon").await.as_deref(), Some("FORCED_OPEN"));
}

#[tokio::test]
async fn closing_by_the_actuator_never_creates_a_breaker() {
    let actuator = Actuator::with(&[("coupon", "CLOSED")]).await;
    let (_stand, stage) = ready(&actuator, &["coupon"], Via::Close).await;
    let base = format!(
        "http://{}/actuator",
        stage
            .scene
            .plan
            .environment
            .address_of(&instance("order-0"))
            .unwrap()
    );
    let refused = stage
        .scene
        .drivers
        .resilience4j()
        .close(&base, "cuopon")
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("did you mean `coupon`?"),
        "{refused}"
    );
    assert!(actuator.posts.lock().await.is_empty());
    actuator.set("coupon", "OPEN").await;
    assert_eq!(breakers_open(&stage.scene).await.state, StepState::Done);
    assert_eq!(actuator.state("coupon").await.as_deref(), Some("CLOSED"));
}

#[tokio::test]
async fn two_hundred_instances_are_brought_back_together() {
    let (mut stands, mut rows, mut actuators) = (Vec::new(), Vec::new(), Vec::new());
    let all_ask = Arc::new(Barrier::new(200));
    let once_all_ask = move |request: Request, next: Next| {
        let all_ask = all_ask.clone();
        async move {
            if request.method() == Method::POST {
                all_ask.wait().await;
            }
            next.run(request).await
        }
    };
    for i in 0..200 {
        let actuator = Actuator::with(&[("coupon", "CLOSED")]).await;
        let router = actuator.router().layer(from_fn(once_all_ask.clone()));
        let stand = Stand::start(router).await;
        rows.push((format!("order-{i}"), stand.address.clone()));
        stands.push(stand);
        actuators.push(actuator);
    }
    let rows: Vec<(&str, &str, &str)> = rows
        .iter()
        .map(|(n, a)| ("order", n.as_str(), a.as_str()))
        .collect();
    let patient = Patience {
        call: Span::seconds(10),
        step: Span::seconds(20),
        ..SHORT
    };
    let stage = stage_with(
        environment(&rows),
        playbook(&["coupon"], via_app()),
        |_| {},
        Secrets::none(),
        patient,
    );
    let stage = stage.with_snapshot_read().await;
    for actuator in &actuators {
        actuator.set("coupon", "OPEN").await;
    }
    // One after another, the first would wait for the last until its time is over.
    let end = breakers_open(&stage.scene).await;
    assert_eq!(end.detail.en(), "200 of 200 brought back");
}

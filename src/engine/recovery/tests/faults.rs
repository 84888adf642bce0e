//! Steps 1 and 2 against the injection-point API.

use super::{
    stand::{Injector, Stand},
    *,
};
use crate::model::{
    drill::{Effect, Envelope, Start},
    testing::step,
    undo::{FaultIntent, UndoFault},
};

pub(super) fn intent(base: &str, on: &str, n: usize) -> FaultIntent {
    let step = StepName::new("delay").unwrap();
    FaultIntent {
        id: FaultId::new(&RunId::new("7f3a").unwrap(), &step, &instance(on), n),
        step,
        instance: instance(on),
        what: "coupon.query delay 2s".into(),
        undo: UndoFault::Rule {
            base: format!("http://{base}"),
        },
        expires_in: Some(Span::seconds(60)),
    }
}

/// A plan whose one step has a rule on all targets.
pub(super) fn with_a_rule(environment: Environment, recovery: Playbook) -> Plan {
    let mut plan = plan(environment, recovery);
    plan.drill.steps.push(step("delay", 1, Start::InOrder, true));
    plan
}

pub(super) async fn one(injector: &Injector) -> (Stand, Environment) {
    let stand = Stand::start(injector.router()).await;
    let environment = environment(&[("order", "order-0", &stand.address)]);
    (stand, environment)
}

/// Nobody answered when the rules were made.
pub(super) fn unanswered(environment: Environment, patience: Patience) -> Stage {
    let unanswered = |ledger: &mut Ledger| ledger.answered = false;
    stage_with(
        environment,
        nothing_to_do(),
        unanswered,
        Secrets::none(),
        patience,
    )
}

/// The one rule is gone, and it is not there.
pub(super) async fn is_cleared(end: &StepEnd, injector: &Injector) {
    let seen = (end.state, end.gone.len());
    assert_eq!(seen, (StepState::Done, 1), "{}", end.detail.en());
    assert!(injector.ids().await.is_empty());
}

#[tokio::test]
async fn a_thousand_rules_on_a_hundred_slow_instances_take_about_one_latency() {
    const LATENCY: u64 = 400;
    let (mut stands, mut intents, mut injectors) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..100 {
        let injector = Injector::default();
        let stand = Stand::start(injector.router()).await;
        let name = format!("order-{i}");
        for n in 0..10 {
            let intent = intent(&stand.address, &name, n);
            injector.insert("7f3a", intent.id.as_str()).await;
            intents.push(intent);
        }
        injector.latency.store(LATENCY, Relaxed);
        injectors.push(injector);
        stands.push(stand);
    }
    let patient = Patience {
        call: Span::seconds(10),
        step: Span::seconds(30),
        ..SHORT
    };
    let stage = stage_with(
        environment(&[]),
        nothing_to_do(),
        |_| {},
        Secrets::none(),
        patient,
    );
    let begin = Instant::now();
    let end = super::super::faults(&stage.scene, &intents).await;
    let took = elapsed(begin);
    assert_eq!(
        (end.state, end.gone.len()),
        (StepState::Done, 1000),
        "{}",
        end.detail.en()
    );
    // One latency for the delete, one for the read-back; a thousand requests in a row would be 400 s.
    assert!(took < Span::millis(LATENCY * 2 + 2000), "{took}");
    for injector in injectors {
        assert!(injector.ids().await.is_empty());
        assert_eq!(injector.requests.load(Relaxed), 2);
    }
}

#[tokio::test]
async fn ending_one_step_leaves_the_rules_of_others_alone() {
    let injector = Injector::default();
    let (stand, environment) = one(&injector).await;
    let intents = [0, 1, 2].map(|n| intent(&stand.address, "order-0", n));
    for intent in &intents {
        injector.insert("7f3a", intent.id.as_str()).await;
    }
    let stage = stage(environment, nothing_to_do());
    let end = end_faults(&stage.scene, &intents[..2]).await;
    assert_eq!((end.state, end.gone.len()), (StepState::Done, 2));
    assert_eq!(injector.ids().await, [intents[2].id.as_str()]);
}

/// Waits until an injector has got so many requests.
pub(super) async fn asked(injector: &Injector, requests: u64) {
    while injector.requests.load(Relaxed) < requests {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_create_that_lands_late_is_still_deleted() {
    let injector = Injector::default();
    let (stand, environment) = one(&injector).await;
    let intent = intent(&stand.address, "order-0", 1);
    let patience = Patience {
        late: Span::millis(800),
        ..SHORT
    };
    let stage = unanswered(environment, patience);
    let (late, id) = (injector.clone(), intent.id.to_string());
    let intents = [intent];
    let landing = async {
        // The rule lands only after recovery has looked and found nothing.
        asked(&late, 4).await;
        late.insert("7f3a", &id).await;
    };
    let (end, ()) = tokio::join!(super::super::faults(&stage.scene, &intents), landing);
    is_cleared(&end, &injector).await;
}

#[tokio::test]
async fn what_may_still_land_when_the_step_is_over_is_not_said_to_be_gone() {
    let injector = Injector::default();
    let (stand, environment) = one(&injector).await;
    let intents = [intent(&stand.address, "order-0", 1)];
    let patience = Patience {
        late: Span::millis(1_000),
        ..SHORT
    };
    injector.latency.store(600_000, Relaxed);
    let stage = unanswered(environment, patience);
    let waking = async {
        // Its last silence is the third request's: it ends with the step.
        asked(&injector, 3).await;
        injector.latency.store(0, Relaxed);
    };
    let (end, ()) = tokio::join!(super::super::faults(&stage.scene, &intents), waking);
    assert_eq!((end.state, end.gone.len()), (StepState::Failed, 0));
    insta::assert_snapshot!(end.leftovers[0].why.en(), @"it is not there, but nobody answered when it was made: it may still land; the instance drops it by itself 1m after it was made");
    // What lay before it is carried out only now.
    injector.insert("7f3a", intents[0].id.as_str()).await;
    let rounds = std::cell::RefCell::new(Vec::new());
    try_on(&stage.scene, left_silent(&intents, &end), |end| {
        rounds.borrow_mut().push((end.state, end.gone.len()));
    })
    .await;
    assert_eq!(rounds.into_inner(), [(StepState::Done, 1)]);
    assert!(injector.ids().await.is_empty());
}

#[tokio::test]
async fn an_answered_create_that_has_expired_costs_no_waiting() {
    let (stand, environment) = one(&Injector::default()).await;
    let patience = Patience {
        late: Span::seconds(60),
        step: Span::seconds(60),
        ..SHORT
    };
    let stage = stage_with(environment, nothing_to_do(), |_| {}, Secrets::none(), patience);
    let stopping = super::super::faults(&stage.scene, &[intent(&stand.address, "order-0", 1)]).await;
    assert_eq!(stopping.state, StepState::Done);
}

#[tokio::test]
async fn a_rule_that_survives_its_delete_is_a_leftover_whose_command_works() {
    let injector = Injector::default();
    let (stand, environment) = one(&injector).await;
    let intents = [intent(&stand.address, "order-0", 1)];
    injector.insert("7f3a", intents[0].id.as_str()).await;
    injector.deaf.store(1, Relaxed);
    let stage = stage(environment, nothing_to_do());
    let end = super::super::faults(&stage.scene, &intents).await;
    assert_eq!((end.state, end.gone.len()), (StepState::Failed, 0));
    let left = &end.leftovers[0];
    assert_eq!(left.certainty, Certainty::Seen);
    assert!(
        left.why.en().contains("drops it by itself 1m"),
        "{}",
        left.why.en()
    );
    injector.deaf.store(0, Relaxed);
    type_by_hand(left.by_hand.as_deref().unwrap()).await;
    assert!(injector.ids().await.is_empty());
}

#[tokio::test]
async fn the_injector_step_removes_what_the_journal_does_not_know_and_names_foreign_rules() {
    let injector = Injector::holding(&[("7f3a", "7f3a-unknown"), ("beef", "beef-1")]).await;
    let (_stand, environment) = one(&injector).await;
    let plan = with_a_rule(environment, nothing_to_do());
    let stage = staged(plan, |_| {}, Secrets::none(), SHORT);
    let before = left_behind(&stage.scene).await;
    assert_eq!(before.len(), 1, "{before:?}");
    let end = super::super::injector(&stage.scene).await;
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
    assert_eq!(
        end.detail.en(),
        "1 ours removed; 1 foreign untouched: chaos rule beef-1 of run beef on coupon.query on order-0"
    );
    assert_eq!(injector.ids().await, ["beef-1"]);
    assert!(left_behind(&stage.scene).await.is_empty());
    assert_eq!(
        super::super::injector(&stage.scene).await.state,
        StepState::Nothing
    );
}

#[tokio::test]
async fn a_created_rule_carries_the_whole_envelope() {
    let injector = Injector::default();
    let (stand, environment) = one(&injector).await;
    let stage = stage(environment, nothing_to_do());
    let envelope = Envelope {
        header: [("x-drill".to_owned(), "coupon-slow".to_owned())].into(),
        instances: Vec::new(),
        percent: Some(crate::model::amount::Share(0.2)),
        max_concurrent: Some(20),
        window: None,
    };
    let effect = Effect::Delay {
        mean: Span::seconds(2),
        jitter: Span::millis(500),
    };
    let intent = intent(&stand.address, "order-0", 1);
    let rule = crate::drivers::point::Rule::new(
        &stage.scene.plan.run,
        &instance("order-0"),
        "coupon.query",
        &effect,
        &envelope,
        Span::seconds(60),
    );
    let base = stage.scene.drivers.point_base(&instance("order-0")).unwrap();
    stage
        .scene
        .drivers
        .point()
        .create(&base, &intent.id, &rule)
        .await
        .unwrap();
    let stored = injector
        .rules
        .lock()
        .await
        .get(intent.id.as_str())
        .cloned()
        .unwrap();
    insta::assert_snapshot!(stored, @r#"{"run":"7f3a","point":"coupon.query","fault":{"delay":{"mean_ms":2000,"jitter_ms":500}},"header":{"x-drill":"coupon-slow"},"instance":"order-0","percent":20.0,"max_concurrent":20,"ttl_ms":60000,"id":"7f3a-delay-order-0-1"}"#);
}

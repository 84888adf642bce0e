//! Rules on targets that hang, come back, or never answer.

use super::{
    faults::{asked, intent, is_cleared, one, unanswered, with_a_rule},
    stand::{Injector, Mood, silent},
    *,
};

#[tokio::test]
async fn an_instance_that_hung_gets_the_whole_wait_again_once_it_answers() {
    let injector = Injector::default();
    let (stand, environment) = one(&injector).await;
    let intent = intent(&stand.address, "order-0", 1);
    let patience = Patience {
        late: Span::millis(800),
        step: Span::seconds(20),
        ..SHORT
    };
    injector.latency.store(600_000, Relaxed);
    let stage = unanswered(environment, patience);
    let (hung, id, intents) = (injector.clone(), intent.id.to_string(), [intent]);
    let waking = async {
        // Two have run into their limit: that is longer than what a create may take to land.
        asked(&hung, 3).await;
        hung.latency.store(0, Relaxed);
        asked(&hung, 7).await;
        // What lay before it is carried out only now.
        hung.insert("7f3a", &id).await;
    };
    let (end, ()) = tokio::join!(super::super::faults(&stage.scene, &intents), waking);
    is_cleared(&end, &injector).await;
}

#[tokio::test]
async fn an_instance_that_comes_back_within_the_step_is_cleared() {
    let injector = Injector::default();
    let (stand, environment) = one(&injector).await;
    let intents = [intent(&stand.address, "order-0", 1)];
    injector.insert("7f3a", intents[0].id.as_str()).await;
    stand.turn(Mood::Broken);
    let stage = stage(environment, nothing_to_do());
    let well_again = async {
        while stand.requests.load(Relaxed) < 3 {
            tokio::task::yield_now().await;
        }
        stand.turn(Mood::Well);
    };
    let (end, ()) = tokio::join!(super::super::faults(&stage.scene, &intents), well_again);
    assert_eq!(end.state, StepState::Done, "{}", end.detail.en());
}

#[tokio::test]
async fn a_target_that_never_answers_lets_later_steps_begin_once_all_others_are_gone() {
    let injector = Injector::default();
    let (stand, _) = one(&injector).await;
    let hung = silent().await;
    let environment = environment(&[
        ("order", "order-0", &stand.address),
        ("order", "order-1", &hung.address),
    ]);
    let intents = [
        intent(&stand.address, "order-0", 1),
        intent(&hung.address, "order-1", 1),
    ];
    injector.insert("7f3a", intents[0].id.as_str()).await;
    let patience = Patience {
        step: Span::seconds(3),
        ..SHORT
    };
    let mut stage = staged(
        with_a_rule(environment, nothing_to_do()),
        |_| {},
        Secrets::none(),
        patience,
    );
    let begin = Instant::now();
    let scene = stage.scene.clone();
    let stopping = async { (super::super::faults(&scene, &intents).await, elapsed(begin)) };
    let going_on = async { (stage.went_on.recv().await.unwrap(), elapsed(begin)) };
    let ((end, took), ((step, so_far), went_on)) = tokio::join!(stopping, going_on);
    assert_eq!((step, so_far.state), (StepId::Faults, StepState::Waiting));
    assert_eq!(so_far.gone, [intents[0].id.clone()]);
    let left = &so_far.leftovers[..];
    assert!(
        left.len() == 1 && left[0].what.en().contains("order-1"),
        "{left:?}"
    );
    assert_eq!(left[0].certainty, Certainty::Unknown);
    assert!(
        so_far.detail.en().contains("no answer yet from order-1"),
        "{}",
        so_far.detail.en()
    );
    // It was tried on to the end of its time meanwhile.
    assert_eq!((end.state, end.gone.len()), (StepState::Failed, 1));
    assert!(went_on < took, "went on after {went_on}, over after {took}");
    assert!(
        went_on >= Span::millis(500) && went_on < Span::millis(2_500),
        "{went_on}"
    );
    assert_eq!(
        super::super::injector(&stage.scene).await.state,
        StepState::Failed
    );
    assert_eq!(stage.went_on.recv().await.unwrap().0, StepId::Injector);
}

#[tokio::test]
async fn a_target_that_answers_again_after_its_step_is_cleared_then() {
    let injector = Injector::default();
    let (stand, environment) = one(&injector).await;
    let intents = [intent(&stand.address, "order-0", 1)];
    injector.insert("7f3a", intents[0].id.as_str()).await;
    let stage = stage(environment, nothing_to_do());
    stand.turn(Mood::Slow);
    let end = super::super::faults(&stage.scene, &intents).await;
    assert_eq!(end.state, StepState::Failed);
    let silent = left_silent(&intents, &end);
    assert_eq!(silent, intents);
    let rounds = std::cell::RefCell::new(Vec::new());
    try_on(&stage.scene, silent, |end| {
        // After a first round in vain.
        stand.turn(Mood::Well);
        rounds.borrow_mut().push((end.state, end.gone.len()));
    })
    .await;
    assert_eq!(
        rounds.into_inner(),
        [(StepState::Failed, 0), (StepState::Done, 1)]
    );
    assert!(injector.ids().await.is_empty());
}

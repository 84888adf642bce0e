//! What the journal has of what remains, however much it is.

use super::*;

#[tokio::test]
async fn however_much_remains_its_list_is_in_the_journal() {
    let mut stage = stage(plan(environment(&[]), nothing_to_do()));
    let engine = &mut stage.engine;
    let left = |n: usize| Leftover {
        step: StepId::Flags,
        what: format!("flag degrade:{n}").as_str().into(),
        why: "refused".into(),
        by_hand: Some("x".repeat(2_000)),
        certainty: Certainty::Seen,
    };
    engine.may_remain(StepId::Flags, (0..3_000).map(left).collect());
    engine
        .ledger
        .emit_durably(Body::Warning("next".into()))
        .await
        .unwrap();
    let told = journal::facts(&journal::read(&stage.run).unwrap().events).may_remain;
    let last = told.last().expect("the list is there").what.en().to_owned();
    let more = last.strip_prefix("and ").and_then(|m| m.strip_suffix(" more"));
    let named = told.len() - usize::from(more.is_some());
    assert_eq!(named + more.map_or(0, |n| n.parse().unwrap()), 3_000, "{last}");
    assert!(named >= 2_000, "{named}");
}

#[tokio::test]
async fn a_record_that_is_too_long_is_told_even_while_everything_is_put_back() {
    let mut stage = stage(plan(environment(&[]), nothing_to_do()));
    let engine = &mut stage.engine;
    engine.take_over(Facts::default(), vec!["line 1".into()], lost());
    assert_eq!(engine.machine.phase(), Phase::Recovering);
    engine
        .ledger
        .emit(Body::Warning("x".repeat(MAX_LINE).as_str().into()));
    let next = || Body::Warning("next".into());
    engine.ledger.emit_durably(next()).await.unwrap();
    engine.tick();
    engine.ledger.emit_durably(next()).await.unwrap();
    let events = journal::read(&stage.run).unwrap().events;
    let told = |e: &&Event| matches!(&e.body, Body::Warning(text) if text.en().contains("more than the"));
    assert_eq!(events.iter().filter(told).count(), 1);
}

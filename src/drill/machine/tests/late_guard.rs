//! A guard that breaks when the last fault has ended and everything is being put back.

use super::*;
use crate::model::{
    drill::{Hypothesis as Steady, Limit},
    event::Doubt,
    ids::MetricId,
};

/// A machine whose only fault was read back as gone at 71 s, guarded over ten seconds by three samples a second apart.
fn finished(purpose: Purpose) -> Machine {
    let mut drill = drill(vec![step("a", 10, Start::InOrder, true)]);
    drill.guard.steady_state.push(Steady {
        metric: MetricId::new("success").unwrap(),
        scope: None,
        window: Span::seconds(10),
        limit: Limit::AtLeast(0.99),
    });
    let schedule = Schedule::of(&drill).unwrap();
    let mut m = Machine::new(drill, schedule, purpose, false);
    m.start();
    m.step(Input::DeadmanReady, at(0));
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    m.step(Input::Tick, at(60));
    fit(&mut m, 60);
    m.step(Input::FaultIntended(fault()), at(60));
    m.step(Input::Tick, at(70));
    m.step(Input::FaultGone(fault()), at(71));
    assert_eq!(m.cause(), Some(&Cause::Finished));
    m
}

/// What the run comes to, with every row as expected and nothing left.
fn outcome(m: &mut Machine) -> Outcome {
    m.step(Input::RowsFinal(vec![Verdict::AsExpected]), at(90));
    to_verifying(m, 90);
    let quiet = || Input::Settling {
        missing: vec![],
        users_ok: true,
    };
    m.step(quiet(), at(91));
    m.step(quiet(), at(94));
    let clean = Input::FinalRead {
        found: vec![],
        repaired: false,
    };
    closed(&m.step(clean, at(94))).cloned().expect("closed")
}

#[test]
fn a_guard_that_breaks_on_samples_of_the_last_fault_keeps_the_run_from_holding() {
    let mut m = finished(Purpose::Drill);
    let effects = m.step(guard(Health::Broken), at(84));
    let told = effects.iter().filter(|e| {
        matches!(
            e,
            Effect::Emit(Body::Doubted(Doubt::GuardBroke { what })) if what.en().starts_with("order-0")
        )
    });
    assert_eq!(told.count(), 1, "{effects:?}");
    assert_eq!(
        effects.len(),
        2,
        "its state and the doubt; recovery goes on as it was: {effects:?}"
    );
    assert_eq!(m.step(guard(Health::Broken), at(84)).len(), 1, "told once");
    assert_eq!(
        (m.phase(), m.cause()),
        (Phase::Recovering, Some(&Cause::Finished))
    );
    let outcome = outcome(&mut m);
    assert_eq!(outcome.hypothesis, Some(Hypothesis::Undecided));
    assert_eq!(outcome.cause, Some(Cause::Finished));
    assert_eq!(outcome.exit, Exit::Undecided);
}

#[test]
fn a_guard_that_breaks_later_broke_on_what_recovery_does() {
    let mut m = finished(Purpose::Drill);
    assert_eq!(m.step(guard(Health::Broken), at(85)).len(), 1);
    assert_eq!(outcome(&mut m).hypothesis, Some(Hypothesis::Held));
}

#[test]
fn a_guard_that_only_wavers_or_goes_blind_after_the_last_fault_broke_nothing() {
    for health in [Health::Bad, Health::Blind, Health::BlindTooLong] {
        let mut m = finished(Purpose::Drill);
        assert_eq!(m.step(guard(health), at(72)).len(), 1, "{health:?}");
        assert_eq!(outcome(&mut m).hypothesis, Some(Hypothesis::Held), "{health:?}");
    }
}

//! Nothing is broken, and nothing stays broken for long, while nobody would stop it if the keeper died.

use super::*;

/// The first step has just begun, at 60 s; each breaks something and lasts so long.
fn breaking(seconds: &[u64]) -> Machine {
    let steps = ["a", "b"].iter().zip(seconds);
    let drill = drill(
        steps
            .map(|(name, s)| step(name, *s, Start::InOrder, true))
            .collect(),
    );
    let schedule = Schedule::of(&drill).unwrap();
    let mut m = Machine::new(drill, schedule, Purpose::Drill, false);
    m.start();
    m.step(Input::DeadmanReady, at(0));
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    m.step(Input::Tick, at(60));
    assert!(fit(&mut m, 60).contains(&Effect::Inject { step: 0 }));
    m
}

#[test]
fn a_deadman_that_is_followed_by_another_ends_nothing() {
    let mut m = breaking(&[10, 60]);
    m.step(Input::DeadmanLost, at(61));
    m.step(Input::DeadmanReady, at(62));
    assert!(m.step(Input::Tick, at(70)).contains(&Effect::Inject { step: 1 }));
    m.step(Input::Tick, at(100));
    assert_eq!(m.phase(), Phase::Running);
}

#[test]
fn no_step_breaks_anything_while_there_is_no_deadman() {
    let mut m = breaking(&[10, 10]);
    m.step(Input::DeadmanLost, at(69));
    let effects = m.step(Input::Tick, at(70));
    assert!(
        !effects.iter().any(|e| matches!(e, Effect::Inject { .. })),
        "{effects:?}"
    );
    assert_eq!(m.cause(), Some(&Cause::DeadmanLost { ms: 1_000 }));
}

#[test]
fn a_run_that_gets_no_deadman_any_more_is_put_back() {
    let mut m = breaking(&[60]);
    m.step(Input::DeadmanLost, at(62));
    m.step(Input::Tick, at(76));
    assert_eq!(m.phase(), Phase::Running);
    let effects = m.step(Input::Tick, at(77));
    assert_eq!(m.phase(), Phase::Recovering);
    assert!(matches!(
        effects[0],
        Effect::Recover {
            step: StepId::Faults,
            ..
        }
    ));
}

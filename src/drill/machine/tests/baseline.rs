//! From the baseline to the first fault: what is fit, and what was read again.

use super::*;

#[test]
fn a_run_is_not_armed_before_the_deadman_stands_by() {
    let mut m = machine(false);
    m.start();
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    m.step(Input::Tick, at(60));
    fit(&mut m, 60);
    assert_eq!(m.phase(), Phase::Armed);
    assert_eq!(m.step(Input::Tick, at(70)), []);
    assert!(
        m.step(Input::DeadmanReady, at(71))
            .contains(&Effect::Inject { step: 0 })
    );
}

#[test]
fn the_key_before_any_fault_undoes_nothing() {
    let mut m = machine(true);
    m.start();
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    let effects = m.step(asked(), at(5));
    assert!(!effects.iter().any(|e| matches!(e, Effect::Recover { .. })));
    assert_eq!(
        closed(&effects).map(|o| (o.hypothesis, o.exit)),
        Some((None, Exit::Interrupted))
    );
}

#[test]
fn an_unfit_baseline_refuses_unless_a_commander_can_extend_it() {
    for attended in [false, true] {
        let mut m = machine(attended);
        m.start();
        m.step(Input::PreflightDone { refused: vec![] }, at(0));
        m.step(Input::Tick, at(60));
        let effects = m.step(
            Input::BaselineJudged {
                blockers: vec!["too thin".into()],
            },
            at(60),
        );
        assert_eq!(
            closed(&effects).map(|o| o.exit),
            (!attended).then_some(Exit::Refused)
        );
        if attended {
            m.step(Input::Extend(Span::seconds(30)), at(65));
            assert_eq!(m.step(Input::Tick, at(94)), []);
            assert_eq!(m.step(Input::Tick, at(95)), [Effect::JudgeBaseline]);
        }
    }
}

#[test]
fn what_changed_during_the_baseline_is_known_before_anything_is_armed() {
    for attended in [false, true] {
        let mut m = machine(attended);
        m.start();
        m.step(Input::DeadmanReady, at(0));
        m.step(Input::PreflightDone { refused: vec![] }, at(0));
        m.step(Input::Tick, at(60));
        let judged = m.step(Input::BaselineJudged { blockers: vec![] }, at(60));
        assert_eq!(judged, [Effect::ReadAgain { look: 1 }]);
        assert_eq!(
            m.step(Input::Tick, at(70)),
            [],
            "nothing is armed on the old snapshot"
        );
        let blockers = vec!["order-0 at lb changes still".into()];
        let effects = m.step(Input::ReadAgain { look: 1, blockers }, at(71));
        assert_eq!(
            closed(&effects).map(|o| o.exit),
            (!attended).then_some(Exit::Refused)
        );
        if attended {
            assert!(matches!(effects[..], [Effect::Emit(Body::CannotArm { .. })]));
            let blockers = vec![];
            let twice = m.step(Input::ReadAgain { look: 1, blockers }, at(72));
            assert_eq!(twice, [], "what that look has found stands");
            m.step(Input::Extend(Span::seconds(30)), at(75));
            assert_eq!(m.step(Input::Tick, at(105)), [Effect::JudgeBaseline]);
            assert!(fit(&mut m, 105).contains(&Effect::Inject { step: 0 }));
        }
    }
}

#[test]
fn a_baseline_whose_second_read_never_ends_does_not_hold_the_environment_for_ever() {
    let mut m = machine(true);
    m.start();
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    m.step(Input::Tick, at(60));
    m.step(Input::BaselineJudged { blockers: vec![] }, at(60));
    let half_an_hour = 30 * 60;
    assert_eq!(m.step(Input::Tick, at(59 + half_an_hour)), []);
    let effects = m.step(Input::Tick, at(60 + half_an_hour));
    assert_eq!(closed(&effects).map(|o| o.exit), Some(Exit::Refused));
}

#[test]
fn a_look_from_before_an_extension_arms_nothing() {
    let mut m = machine(true);
    m.start();
    m.step(Input::DeadmanReady, at(0));
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    m.step(Input::Tick, at(60));
    m.step(Input::BaselineJudged { blockers: vec![] }, at(60));
    m.step(Input::Extend(Span::seconds(30)), at(61));
    let late = || Input::ReadAgain {
        look: 1,
        blockers: vec![],
    };
    assert_eq!(m.step(late(), at(62)), []);
    m.step(Input::Tick, at(91));
    let judged = m.step(Input::BaselineJudged { blockers: vec![] }, at(91));
    assert_eq!(judged, [Effect::ReadAgain { look: 2 }]);
    assert_eq!(m.step(late(), at(92)), []);
    assert_eq!(m.phase(), Phase::Baseline);
}

#[test]
fn a_steady_state_that_breaks_by_itself_refuses_the_run() {
    let mut m = machine(true);
    m.start();
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    assert_eq!(
        closed(&m.step(guard(Health::Broken), at(20))).map(|o| o.exit),
        Some(Exit::Refused)
    );
}

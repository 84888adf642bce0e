//! Rehearsals and restores: the same machine without a fault.

use super::*;

fn quiet() -> Input {
    Input::Settling {
        missing: vec![],
        users_ok: true,
    }
}

/// From recovering to closed, with every step done and nothing left.
fn to_the_end(m: &mut Machine, now: u64) -> Outcome {
    m.step(Input::RowsFinal(vec![]), at(now));
    for id in StepId::ALL {
        m.step(over(id), at(now));
    }
    assert_eq!(m.phase(), Phase::Verifying);
    m.step(quiet(), at(now));
    let effects = m.step(quiet(), at(now + 60));
    assert!(effects.contains(&Effect::ReadEverything), "{effects:?}");
    let read = Input::FinalRead {
        found: vec![],
        repaired: false,
    };
    closed(&m.step(read, at(now + 60))).cloned().expect("closed")
}

#[test]
fn a_rehearsal_ends_no_fault_and_carries_the_whole_playbook_out() {
    let mut m = machine_for(Purpose::Rehearsal, false);
    m.start();
    m.step(Input::DeadmanReady, at(0));
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    m.step(Input::Tick, at(60));
    fit(&mut m, 60);
    let ended = m.step(Input::Tick, at(70));
    assert!(!ended.contains(&Effect::StopStep { step: 0 }), "{ended:?}");
    m.step(Input::Tick, at(75));
    assert_eq!(m.cause(), Some(&Cause::Finished));
    m.step(over(StepId::Faults), at(75));
    let next = m.step(over(StepId::Injector), at(75));
    let drain = Effect::Recover {
        step: StepId::Drain,
        needed: true,
    };
    assert_eq!(next, [drain], "what a healthy system does not need is rehearsed");
    let outcome = to_the_end(&mut m, 76);
    assert_eq!(
        (outcome.hypothesis, outcome.exit),
        (None, Exit::Held),
        "nothing was tested"
    );
}

#[test]
fn a_rehearsal_that_the_guard_ends_puts_back_only_what_differs() {
    let mut m = machine_for(Purpose::Rehearsal, false);
    m.start();
    m.step(Input::DeadmanReady, at(0));
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    m.step(Input::Tick, at(60));
    fit(&mut m, 60);
    m.step(guard(Health::Broken), at(65));
    m.step(over(StepId::Faults), at(65));
    assert_eq!(m.step(over(StepId::Injector), at(65)), [Effect::Assess]);
}

#[test]
fn a_restore_goes_from_preflight_to_the_playbook_and_claims_nothing_else() {
    let mut m = machine_for(Purpose::Restore, false);
    m.start();
    let effects = m.step(Input::PreflightDone { refused: vec![] }, at(0));
    let faults = Effect::Recover {
        step: StepId::Faults,
        needed: true,
    };
    assert_eq!(
        effects[0], faults,
        "without a baseline, and without waiting for a deadman"
    );
    assert_eq!(m.cause(), Some(&Cause::Restore));
    let outcome = to_the_end(&mut m, 1);
    assert_eq!((outcome.hypothesis, outcome.exit), (None, Exit::Held));
    assert_eq!(outcome.recovered, Recovered::Recovered);
}

#[test]
fn a_restore_that_leaves_something_says_so() {
    let mut m = machine_for(Purpose::Restore, false);
    m.start();
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    m.step(Input::RowsFinal(vec![]), at(1));
    for id in StepId::ALL {
        m.step(over(id), at(1));
    }
    m.step(quiet(), at(1));
    m.step(quiet(), at(61));
    let left = Leftover {
        step: StepId::Traffic,
        what: "gateway backend order at lb".into(),
        why: "unreachable".into(),
        by_hand: None,
        certainty: Certainty::Unknown,
    };
    let read = Input::FinalRead {
        found: vec![left],
        repaired: false,
    };
    let mut effects = m.step(read.clone(), at(61));
    // It is looked at again until the time to verify is over.
    for now in 62..2_000 {
        if closed(&effects).is_some() {
            break;
        }
        effects = m.step(quiet(), at(now));
        if effects.contains(&Effect::ReadEverything) {
            effects = m.step(read.clone(), at(now));
        }
    }
    let outcome = closed(&effects).expect("closed");
    assert_eq!(
        (outcome.recovered, outcome.exit),
        (Recovered::Unknown, Exit::Remains)
    );
}

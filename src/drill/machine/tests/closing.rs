//! The way to ALL CLEAR, and what stands in it.

use super::*;
use crate::model::{
    ids::CommandName,
    playbook::{Command, How},
};

#[test]
fn all_clear_needs_the_hold_time_and_a_clean_last_read() {
    let mut m = running();
    m.step(asked(), at(65));
    m.step(Input::RowsFinal(vec![Verdict::AsExpected]), at(65));
    to_verifying(&mut m, 66);
    let quiet = |users_ok| Input::Settling {
        missing: vec![],
        users_ok,
    };
    assert!(!m.step(quiet(true), at(70)).contains(&Effect::ReadEverything));
    m.step(
        Input::Settling {
            missing: vec![Missing::outside("order_p99 high".into())],
            users_ok: true,
        },
        at(72),
    );
    assert!(
        !m.step(quiet(true), at(74)).contains(&Effect::ReadEverything),
        "the hold time begins again"
    );
    assert!(m.step(quiet(true), at(77)).contains(&Effect::ReadEverything));
    let left = Leftover {
        step: StepId::Breakers,
        what: "breaker".into(),
        why: "open".into(),
        by_hand: None,
        certainty: Certainty::Seen,
    };
    let effects = m.step(
        Input::FinalRead {
            found: vec![left],
            repaired: true,
        },
        at(77),
    );
    assert_eq!(closed(&effects), None, "what may come right is looked at again");
    assert!(
        !m.step(quiet(true), at(80)).contains(&Effect::ReadEverything),
        "what was put back has to hold"
    );
    assert!(m.step(quiet(true), at(83)).contains(&Effect::ReadEverything));
    let effects = m.step(
        Input::FinalRead {
            found: vec![],
            repaired: false,
        },
        at(83),
    );
    let outcome = closed(&effects).expect("over");
    assert!(outcome.all_clear());
    assert!(effects.iter().any(|e| matches!(
        e,
        Effect::Emit(Body::Reached {
            milestone: Milestone::AllClear,
            ..
        })
    )));
}

#[test]
fn a_time_in_which_the_machine_slept_is_none_in_which_everything_held() {
    let quiet = || Input::Settling {
        missing: vec![],
        users_ok: true,
    };
    for slept in [false, true] {
        let mut m = running();
        m.step(asked(), at(65));
        m.step(Input::RowsFinal(vec![Verdict::NoData]), at(66));
        to_verifying(&mut m, 66);
        m.step(quiet(), at(70));
        if slept {
            m.step(Input::Slept, at(76));
        }
        let effects = m.step(quiet(), at(76));
        assert_eq!(effects.contains(&Effect::ReadEverything), !slept);
    }
}

/// The outcome of a run whose time to verify is over, with this still missing and a last read that finds nothing.
#[test]
fn while_the_last_read_is_on_its_step_says_so_and_no_longer_afterwards() {
    let mut m = running();
    m.step(asked(), at(65));
    m.step(Input::RowsFinal(vec![Verdict::AsExpected]), at(65));
    to_verifying(&mut m, 66);
    let quiet = || Input::Settling {
        missing: vec![],
        users_ok: true,
    };
    let says = |effects: &[Effect]| {
        effects.iter().rev().find_map(|effect| match effect {
            Effect::Emit(Body::Recovery(report)) if report.step == StepId::Verify => {
                Some(report.detail.en().contains("last read"))
            }
            _ => None,
        })
    };
    assert_eq!(says(&m.step(quiet(), at(67))), Some(false));
    assert!(m.step(quiet(), at(72)).contains(&Effect::ReadEverything));
    assert_eq!(says(&m.step(quiet(), at(73))), Some(true));
    let clean = Input::FinalRead {
        found: vec![],
        repaired: false,
    };
    assert_eq!(says(&m.step(clean, at(130))), Some(false));
}

#[test]
fn the_last_read_is_made_only_when_all_rows_are_final() {
    let settling = |missing: Vec<Missing>| Input::Settling {
        users_ok: missing.is_empty(),
        missing,
    };
    let clean = || Input::FinalRead {
        found: vec![],
        repaired: false,
    };
    let mut m = running();
    m.step(asked(), at(65));
    to_verifying(&mut m, 66);
    m.step(settling(vec![]), at(66));
    assert_eq!(m.step(Input::Tick, at(70)), []);
    let says = m.step(settling(vec![]), at(70));
    assert!(
        matches!(&says[..], [Effect::Emit(Body::Recovery(report))] if report.detail.en()
            == "held 3s; last read of everything once all rows are final"),
        "{says:?}"
    );
    // What breaks while rows are awaited is seen: it has to hold again.
    m.step(settling(vec![Missing::outside("order_p99 high".into())]), at(80));
    assert_eq!(m.step(Input::RowsFinal(vec![Verdict::NoData]), at(81)), []);
    assert_eq!(closed(&m.step(clean(), at(81))), None, "nobody asked for it");
    m.step(settling(vec![]), at(82));
    assert_eq!(m.step(Input::Tick, at(85)), [Effect::ReadEverything]);
    assert!(closed(&m.step(clean(), at(85))).is_some());
}

#[test]
fn the_last_row_calls_for_the_last_read() {
    let mut m = running();
    m.step(asked(), at(65));
    to_verifying(&mut m, 66);
    let well = Input::Settling {
        missing: vec![],
        users_ok: true,
    };
    m.step(well, at(66));
    let effects = m.step(Input::RowsFinal(vec![Verdict::NoData]), at(71));
    assert_eq!(effects, [Effect::ReadEverything]);
}

#[test]
fn a_silent_target_holds_up_no_later_step_but_the_words_faults_gone() {
    let mut m = running();
    m.step(guard(Health::Broken), at(65));
    let effects = m.step(Input::GoOn(StepId::Faults), at(66));
    let next = Effect::Recover {
        step: StepId::Injector,
        needed: true,
    };
    assert_eq!(effects, [next]);
    let effects = m.step(Input::GoOn(StepId::Injector), at(67));
    assert_eq!(effects, [Effect::Assess]);
    let effects = m.step(Input::Assessed { needed: true }, at(67));
    assert!(!faults_gone(&effects) && m.fault_may_be_live());
    // Its time is up: people are told, once.
    let effects = m.step(over(StepId::Faults), at(85));
    assert!(!faults_gone(&effects));
    assert!(effects.iter().any(|e| matches!(e, Effect::Notify { .. })));
    // At last it answers.
    m.step(Input::FaultGone(fault()), at(90));
    let effects = m.step(over(StepId::Faults), at(90));
    assert!(faults_gone(&effects));
    assert!(!effects.iter().any(|e| matches!(e, Effect::Notify { .. })));
}

#[test]
fn a_silent_target_that_answers_while_verifying_is_gone_then() {
    let mut m = running();
    m.step(asked(), at(65));
    m.step(Input::GoOn(StepId::Faults), at(66));
    m.step(over(StepId::Injector), at(66));
    m.step(Input::Assessed { needed: false }, at(66));
    for id in [
        StepId::Drain,
        StepId::Breakers,
        StepId::Flags,
        StepId::Retry,
        StepId::Pools,
        StepId::Traffic,
        StepId::Release,
    ] {
        m.step(over(id), at(66));
    }
    assert_eq!(m.phase(), Phase::Verifying);
    m.step(Input::FaultGone(fault()), at(70));
    assert!(faults_gone(&m.step(over(StepId::Faults), at(70))));
}

fn left(what: &str) -> Leftover {
    Leftover {
        step: StepId::Flags,
        what: what.into(),
        why: "there".into(),
        by_hand: None,
        certainty: Certainty::Seen,
    }
}

#[test]
fn a_last_read_tells_what_is_new_and_what_has_come_right_and_nothing_twice() {
    let mut m = running();
    m.step(asked(), at(65));
    m.step(Input::RowsFinal(vec![Verdict::NoData]), at(66));
    to_verifying(&mut m, 66);
    let mut now = 66;
    let mut told = |found: Vec<Leftover>| {
        let well = || Input::Settling {
            missing: vec![],
            users_ok: true,
        };
        m.step(well(), at(now + 1));
        now += 4;
        assert!(m.step(well(), at(now)).contains(&Effect::ReadEverything));
        let read = Input::FinalRead {
            found,
            repaired: true,
        };
        let effects = m.step(read, at(now));
        assert_eq!(closed(&effects), None);
        effects.into_iter().find_map(|e| match e {
            Effect::Emit(Body::MayRemain(left)) => Some(left),
            _ => None,
        })
    };
    assert_eq!(told(vec![left("a")]), Some(vec![left("a")]));
    assert_eq!(told(vec![left("a")]), None, "no news");
    assert_eq!(told(vec![left("b")]), Some(vec![left("b")]), "another one");
    assert_eq!(told(vec![]), Some(vec![]), "it has come right");
    assert_eq!(told(vec![]), None);
}

#[test]
fn a_command_that_failed_stands_against_all_clear_though_the_last_read_finds_nothing() {
    for (left_by_it, recovered) in [
        (vec![], Recovered::Recovered),
        (vec![left("command warm")], Recovered::Leftover),
    ] {
        let mut drill = drill(vec![step("a", 10, Start::InOrder, true)]);
        drill.recovery.commands.push(Command {
            name: CommandName::new("warm").unwrap(),
            after: StepId::Release,
            how: How::Run {
                run: vec!["false".into()],
                check: None,
            },
            timeout: Span::seconds(1),
        });
        let schedule = Schedule::of(&drill).unwrap();
        let cause = Cause::KeeperLost { what: "EOF".into() };
        let (mut m, _) = Machine::resume(drill, schedule, Purpose::Drill, [fault()], true, cause, at(65));
        m.step(Input::RowsFinal(vec![Verdict::AsExpected]), at(65));
        m.step(Input::FaultGone(fault()), at(65));
        let before_verify = StepId::ALL.into_iter().filter(|step| *step != StepId::Verify);
        for id in before_verify {
            m.step(over(id), at(66));
            m.step(Input::Assessed { needed: true }, at(66));
        }
        assert_eq!(m.phase(), Phase::Recovering, "the command runs");
        m.step(Input::CommandOver(0, left_by_it), at(66));
        assert_eq!(m.phase(), Phase::Verifying);
        let well = || Input::Settling {
            missing: vec![],
            users_ok: true,
        };
        m.step(well(), at(67));
        assert!(m.step(well(), at(70)).contains(&Effect::ReadEverything));
        let read = Input::FinalRead {
            found: vec![],
            repaired: false,
        };
        let effects = m.step(read, at(70));
        assert_eq!(closed(&effects).map(|o| o.recovered), Some(recovered));
    }
}

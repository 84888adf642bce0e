//! Behaviours of the machine, and what no order of inputs may ever make it do.

use proptest::prelude::*;

use super::{
    Effect, Input, Machine, Missing, StepResult,
    schedule::{
        Schedule,
        tests::{drill, step},
    },
};
use crate::model::{
    amount::Level,
    drill::Start,
    event::{Body, GuardState, Health, Outcome},
    ids::{FaultId, InstanceName, RunId, StepName},
    phase::{Cause, Phase},
    recovery::{Certainty, Leftover, Milestone, Recovered, StepId, StepState},
    sample::Reading,
    sheet::{Hypothesis, Verdict},
    time::{Moment, Span},
};

fn machine(attended: bool) -> Machine {
    let drill = drill(vec![
        step("a", 10, Start::InOrder, true),
        step("after", 5, Start::InOrder, false),
    ]);
    let schedule = Schedule::of(&drill).unwrap();
    Machine::new(drill, schedule, attended)
}

fn fault() -> FaultId {
    FaultId::new(
        &RunId::new("7f3a9c").unwrap(),
        &StepName::new("a").unwrap(),
        &InstanceName::new("order-0").unwrap(),
        0,
    )
}

fn at(seconds: u64) -> Moment {
    Moment(seconds * 1000)
}

fn guard(health: Health) -> Input {
    let reading = Reading {
        value: Ok(Level(41.0)),
        age: Span::ZERO,
        sampled: 1,
        partial: false,
    };
    Input::Guard(
        GuardState {
            index: 0,
            reading,
            room: None,
            bad: 3,
            health,
        },
        "order-0 threads 41 > 40, 3 of 3".into(),
    )
}

fn over(step: StepId) -> Input {
    Input::StepOver(StepResult {
        step,
        state: StepState::Done,
        leftovers: vec![],
    })
}

fn asked() -> Input {
    Input::Recover(Cause::Asked { by: "someone".into() })
}

/// A machine in mid-fault at 70 s.
fn running() -> Machine {
    let mut m = machine(false);
    m.start();
    m.step(Input::DeadmanReady, at(0));
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    assert_eq!(m.step(Input::Tick, at(60)), [Effect::JudgeBaseline]);
    let effects = m.step(Input::BaselineJudged { blockers: vec![] }, at(60));
    assert!(effects.contains(&Effect::Inject { step: 0 }), "{effects:?}");
    m.step(Input::FaultIntended(fault()), at(60));
    assert_eq!(m.phase(), Phase::Running);
    m
}

/// Drives a recovering machine to verifying, with every step done.
fn to_verifying(m: &mut Machine, now: u64) {
    m.step(Input::FaultGone(fault()), at(now));
    m.step(over(StepId::Faults), at(now));
    m.step(over(StepId::Injector), at(now));
    m.step(Input::Assessed { needed: true }, at(now));
    for id in [
        StepId::Drain,
        StepId::Breakers,
        StepId::Flags,
        StepId::Retry,
        StepId::Pools,
        StepId::Traffic,
        StepId::Release,
    ] {
        m.step(over(id), at(now));
    }
    assert_eq!(m.phase(), Phase::Verifying);
}

fn closed(effects: &[Effect]) -> Option<&Outcome> {
    effects.iter().find_map(|e| {
        if let Effect::Close(outcome) = e {
            Some(outcome)
        } else {
            None
        }
    })
}

#[test]
fn a_run_is_not_armed_before_the_deadman_stands_by() {
    let mut m = machine(false);
    m.start();
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    m.step(Input::Tick, at(60));
    m.step(Input::BaselineJudged { blockers: vec![] }, at(60));
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
        Some((None, 130))
    );
}

#[test]
fn a_broken_guard_stops_the_faults_before_anything_else() {
    let mut m = running();
    let effects = m.step(guard(Health::Broken), at(65));
    let stop = effects.iter().position(|e| {
        matches!(
            e,
            Effect::Recover {
                step: StepId::Faults,
                ..
            }
        )
    });
    let words = effects
        .iter()
        .position(|e| matches!(e, Effect::Emit(Body::Recovering { .. })));
    assert!(stop.unwrap() < words.unwrap(), "{effects:?}");
}

#[test]
fn people_are_told_only_after_the_faults_are_gone() {
    let mut m = running();
    assert!(
        !m.step(guard(Health::Broken), at(65))
            .iter()
            .any(|e| matches!(e, Effect::Notify { .. }))
    );
    m.step(Input::FaultGone(fault()), at(65));
    let effects = m.step(over(StepId::Faults), at(66));
    let gone = effects.iter().position(|e| {
        matches!(
            e,
            Effect::Emit(Body::Reached {
                milestone: Milestone::FaultsGone,
                ..
            })
        )
    });
    let told = effects.iter().position(|e| matches!(e, Effect::Notify { .. }));
    assert!(gone.unwrap() < told.unwrap(), "{effects:?}");
}

#[test]
fn a_second_key_while_recovering_changes_nothing() {
    let mut m = running();
    m.step(asked(), at(65));
    assert_eq!(m.step(asked(), at(66)), []);
}

#[test]
fn steps_end_before_the_next_ones_begin_and_the_last_end_recovers() {
    let mut m = running();
    let effects = m.step(Input::Tick, at(70));
    assert_eq!(effects[0], Effect::StopStep { step: 0 });
    assert_eq!(effects[2], Effect::Inject { step: 1 });
    let effects = m.step(Input::Tick, at(75));
    assert!(
        effects.contains(&Effect::Recover {
            step: StepId::Faults,
            needed: true
        }),
        "{effects:?}"
    );
}

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
            missing: vec![Missing::outside("order_p99 high")],
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
fn out_of_time_the_run_says_what_remains_and_exits_4() {
    let mut m = running();
    m.step(guard(Health::Broken), at(65));
    m.step(Input::RowsFinal(vec![Verdict::NoData]), at(65));
    to_verifying(&mut m, 66);
    m.step(
        Input::Settling {
            missing: vec![Missing::outside("order_p99 high")],
            users_ok: false,
        },
        at(70),
    );
    assert!(m.step(Input::Tick, at(126)).contains(&Effect::ReadEverything));
    let effects = m.step(
        Input::FinalRead {
            found: vec![],
            repaired: false,
        },
        at(126),
    );
    let outcome = closed(&effects).expect("over");
    assert_eq!((outcome.recovered, outcome.exit), (Recovered::Leftover, 4));
    assert_eq!(outcome.hypothesis, Some(Hypothesis::Falsified));
}

#[test]
fn what_cannot_be_read_to_the_end_is_unknown_and_never_recovered() {
    let mut m = running();
    m.step(guard(Health::BlindTooLong), at(65));
    m.step(Input::RowsFinal(vec![Verdict::NoData]), at(65));
    to_verifying(&mut m, 66);
    m.step(
        Input::Settling {
            missing: vec![Missing::unread("order_p99: no server")],
            users_ok: false,
        },
        at(70),
    );
    assert!(m.step(Input::Tick, at(126)).contains(&Effect::ReadEverything));
    let effects = m.step(
        Input::FinalRead {
            found: vec![],
            repaired: false,
        },
        at(126),
    );
    let outcome = closed(&effects).expect("over");
    assert_eq!((outcome.recovered, outcome.exit), (Recovered::Unknown, 4));
}

#[test]
fn the_run_waits_for_its_rows_before_it_closes() {
    let mut m = running();
    m.step(asked(), at(65));
    to_verifying(&mut m, 66);
    m.step(
        Input::Settling {
            missing: vec![],
            users_ok: true,
        },
        at(66),
    );
    m.step(Input::Tick, at(70));
    assert_eq!(
        closed(&m.step(
            Input::FinalRead {
                found: vec![],
                repaired: false
            },
            at(70)
        )),
        None
    );
    assert!(closed(&m.step(Input::RowsFinal(vec![Verdict::NoData]), at(71))).is_some());
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
        assert_eq!(closed(&effects).map(|o| o.exit), (!attended).then_some(5));
        if attended {
            m.step(Input::Extend(Span::seconds(30)), at(65));
            assert_eq!(m.step(Input::Tick, at(94)), []);
            assert_eq!(m.step(Input::Tick, at(95)), [Effect::JudgeBaseline]);
        }
    }
}

#[test]
fn a_steady_state_that_breaks_by_itself_refuses_the_run() {
    let mut m = machine(true);
    m.start();
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    assert_eq!(
        closed(&m.step(guard(Health::Broken), at(20))).map(|o| o.exit),
        Some(5)
    );
}

#[test]
fn a_keeper_that_takes_over_recovers_at_once() {
    let drill = drill(vec![step("a", 10, Start::InOrder, true)]);
    let schedule = Schedule::of(&drill).unwrap();
    let cause = Cause::KeeperLost { what: "EOF".into() };
    let (m, effects) = Machine::resume(drill, schedule, [fault()], true, cause, at(9));
    assert!(matches!(
        effects[0],
        Effect::Recover {
            step: StepId::Faults,
            ..
        }
    ));
    assert!(m.fault_may_be_live());
}

fn any_input() -> impl Strategy<Value = Input> {
    let leftover = Leftover {
        step: StepId::Faults,
        what: "rule".into(),
        why: "there".into(),
        by_hand: None,
        certainty: Certainty::Unknown,
    };
    let steps = prop::sample::select(StepId::ALL.to_vec());
    prop_oneof![
        5 => Just(Input::Tick),
        1 => Just(Input::DeadmanReady),
        1 => Just(Input::DeadmanLost),
        2 => Just(Input::PreflightDone { refused: vec![] }),
        2 => Just(Input::BaselineJudged { blockers: vec![] }),
        2 => Just(Input::FaultIntended(fault())),
        2 => Just(Input::FaultGone(fault())),
        1 => Just(Input::FaultFailed(fault(), "no".into())),
        1 => Just(guard(Health::Broken)),
        1 => Just(guard(Health::BlindTooLong)),
        1 => Just(asked()),
        6 => steps.prop_map(over),
        2 => any::<bool>().prop_map(|needed| Input::Assessed { needed }),
        4 => (any::<bool>(), any::<bool>()).prop_map(|(bad, users_ok)| Input::Settling {
            missing: bad.then(|| Missing::outside("x")).into_iter().collect(),
            users_ok
        }),
        3 => any::<bool>().prop_map(move |bad| Input::FinalRead { found: bad.then(|| leftover.clone()).into_iter().collect(), repaired: bad }),
        1 => Just(Input::RowsFinal(vec![Verdict::AsExpected])),
    ]
}

proptest! {
    #[test]
    fn no_order_of_inputs_says_all_clear_over_a_fault_or_injects_after_the_key(
        inputs in prop::collection::vec((any_input(), 0u64..20), 1..120)
    ) {
        let mut m = machine(false);
        let mut now = 0;
        let mut stopping = 0;
        let (mut injected, mut reading, mut over, mut gone_said) = (false, false, false, false);
        let mut all = m.start();
        for (input, wait) in inputs {
            now += wait;
            let clean = input == Input::FinalRead { found: vec![], repaired: false };
            all.clear();
            all.extend(m.step(input, at(now)));
            for effect in &all {
                prop_assert!(!over, "nothing comes after the end: {effect:?}");
                match effect {
                    Effect::Inject { step } => {
                        prop_assert_eq!(stopping, 0, "no step begins once recovery has");
                        injected |= *step == 0;
                    }
                    Effect::Recover { step: StepId::Faults, .. } => stopping += 1,
                    Effect::ReadEverything => reading = true,
                    Effect::Emit(Body::Reached { milestone, .. }) => {
                        prop_assert!(*milestone != Milestone::FaultsGone || !m.fault_may_be_live());
                        prop_assert!(*milestone == Milestone::FaultsGone || gone_said || *milestone == Milestone::AllClear);
                        gone_said |= *milestone == Milestone::FaultsGone;
                    }
                    Effect::Close(outcome) => {
                        over = true;
                        if outcome.all_clear() && injected {
                            prop_assert!(reading && !m.fault_may_be_live(), "{outcome:?}");
                            prop_assert!(stopping == 1);
                        }
                    }
                    _ => {}
                }
            }
            if over && injected {
                // The end comes from a last read or, after one, from the rows.
                prop_assert!(clean || m.phase() == Phase::Closed);
            }
            prop_assert!(stopping <= 1);
        }
    }
}

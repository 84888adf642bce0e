//! Behaviours of the machine.

mod any_order;
mod baseline;
mod closing;
mod deadman;
mod late_guard;
mod out_of_time;
mod purposes;

use super::{Effect, Input, Machine};
use crate::drill::{
    Missing,
    schedule::{
        Schedule,
        tests::{drill, step},
    },
};
use crate::model::{
    amount::Level,
    drill::Start,
    event::{Body, GuardState, Health, Outcome},
    exit::Exit,
    ids::{FaultId, InstanceName, RunId, StepName},
    phase::{Cause, Phase},
    plan::Purpose,
    recovery::{Certainty, Leftover, Milestone, Recovered, StepId},
    sample::Reading,
    sheet::{Hypothesis, Verdict},
    time::{Moment, Span},
};

fn machine(attended: bool) -> Machine {
    machine_for(Purpose::Drill, attended)
}

fn machine_for(purpose: Purpose, attended: bool) -> Machine {
    let drill = drill(vec![
        step("a", 10, Start::InOrder, true),
        step("after", 5, Start::InOrder, false),
    ]);
    let schedule = Schedule::of(&drill).unwrap();
    Machine::new(drill, schedule, purpose, attended)
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
    Input::StepOver(step)
}

fn asked() -> Input {
    Input::Recover(Cause::Asked { by: "someone".into() })
}

fn faults_gone(effects: &[Effect]) -> bool {
    effects.iter().any(|e| {
        matches!(
            e,
            Effect::Emit(Body::Reached {
                milestone: Milestone::FaultsGone,
                ..
            })
        )
    })
}

/// The baseline is fit, and what recovery may change was read again.
fn fit(m: &mut Machine, now: u64) -> Vec<Effect> {
    let judged = m.step(Input::BaselineJudged { blockers: vec![] }, at(now));
    let [Effect::ReadAgain { look }] = judged[..] else {
        panic!("{judged:?}");
    };
    let blockers = vec![];
    m.step(Input::ReadAgain { look, blockers }, at(now))
}

/// A machine in mid-fault at 70 s.
fn running() -> Machine {
    let mut m = machine(false);
    m.start();
    m.step(Input::DeadmanReady, at(0));
    m.step(Input::PreflightDone { refused: vec![] }, at(0));
    assert_eq!(m.step(Input::Tick, at(60)), [Effect::JudgeBaseline]);
    let effects = fit(&mut m, 60);
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
fn a_keeper_that_takes_over_recovers_at_once() {
    let drill = drill(vec![step("a", 10, Start::InOrder, true)]);
    let schedule = Schedule::of(&drill).unwrap();
    let cause = Cause::KeeperLost { what: "EOF".into() };
    let (m, effects) = Machine::resume(drill, schedule, Purpose::Drill, [fault()], true, cause, at(9));
    assert!(matches!(
        effects[0],
        Effect::Recover {
            step: StepId::Faults,
            ..
        }
    ));
    assert!(m.fault_may_be_live());
}

#[test]
fn a_keeper_after_many_deaths_stops_the_faults_first_and_pauses_then() {
    let drill = drill(vec![step("a", 10, Start::InOrder, true)]);
    let schedule = Schedule::of(&drill).unwrap();
    let cause = Cause::KeeperLost { what: "EOF".into() };
    let (mut m, effects) = Machine::resume(drill, schedule, Purpose::Drill, [fault()], true, cause, at(9));
    m.pause_after_faults(at(14));
    let stop = |e: &Effect| {
        matches!(
            e,
            Effect::Recover {
                step: StepId::Faults,
                ..
            }
        )
    };
    assert!(effects.iter().any(stop), "{effects:?}");
    m.step(Input::FaultGone(fault()), at(9));
    let effects = m.step(over(StepId::Faults), at(10));
    assert!(
        faults_gone(&effects),
        "the word comes before the pause: {effects:?}"
    );
    let begins = |e: &Effect| {
        matches!(
            e,
            Effect::Recover { .. } | Effect::Assess | Effect::RunCommand { .. }
        )
    };
    assert!(!effects.iter().any(begins), "{effects:?}");
    assert_eq!(m.step(Input::Tick, at(13)), []);
    let effects = m.step(Input::Tick, at(14));
    assert!(
        effects.iter().any(|e| matches!(
            e,
            Effect::Recover {
                step: StepId::Injector,
                ..
            }
        )),
        "{effects:?}"
    );
}

#[test]
fn a_surprise_among_the_targets_aborts_and_puts_everything_back() {
    let mut m = running();
    let what = "order-9 has joined job `order`".into();
    let effects = m.step(Input::Recover(Cause::Targets { what }), at(65));
    let stop = Effect::Recover {
        step: StepId::Faults,
        needed: true,
    };
    assert_eq!(effects[0], stop);
    m.step(Input::RowsFinal(vec![Verdict::AsExpected]), at(65));
    to_verifying(&mut m, 66);
    let quiet = || Input::Settling {
        missing: vec![],
        users_ok: true,
    };
    m.step(quiet(), at(67));
    m.step(quiet(), at(70));
    let clean = Input::FinalRead {
        found: vec![],
        repaired: false,
    };
    let effects = m.step(clean, at(70));
    assert_eq!(closed(&effects).map(|o| o.exit), Some(Exit::Aborted));
}

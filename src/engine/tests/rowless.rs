//! Steps that break something and expect nothing.

use super::*;
use crate::model::{
    amount::{Basis, Bounds},
    drill::{Change, Expectation, Start},
    event::Doubt,
    exit::Exit,
    sheet::{Hypothesis, RowId, RowState, Verdict},
    testing::step,
};

/// A row that came as it was declared.
fn as_expected(step: usize) -> RowState {
    RowState {
        row: RowId { step, row: 0 },
        verdict: Verdict::AsExpected,
        reason: "".into(),
        before: None,
        now: None,
        low: None,
        high: None,
        windows: 9,
        last: true,
        age: Span::ZERO,
        partial: false,
    }
}

/// A run of a step without rows and one with a row, at whose end the first fault had hit so much.
fn ended(hits: Option<Hits>) -> (Stage, Outcome) {
    let mut plan = plan(environment(&[("order", "order-0", "h0:1")]), nothing_to_do());
    plan.drill.baseline = Span::ZERO;
    plan.drill.recovery.hold = Span::ZERO;
    let mut second = step("second", 0, Start::InOrder, true);
    second.expect.push(Expectation {
        metric: MetricId::new("m").unwrap(),
        scope: None,
        change: Change::Stays(Bounds {
            at_least: None,
            at_most: Some(1.0),
            basis: Basis::Absolute,
        }),
        otherwise: None,
    });
    plan.drill.steps = vec![step("first", 0, Start::InOrder, true), second];
    let mut stage = stage(plan);
    let engine = &mut stage.engine;
    engine.machine.start();
    engine.feed(Input::DeadmanReady);
    engine.feed(Input::PreflightDone { refused: vec![] });
    engine.feed(Input::Tick);
    engine.feed(Input::BaselineJudged { blockers: vec![] });
    engine.feed(Input::ReadAgain {
        look: 1,
        blockers: vec![],
    });
    for (index, hits) in [hits, Some(counted(7))].into_iter().enumerate() {
        let step = engine.plan.drill.steps[index].name.clone();
        let instance = InstanceName::new("order-0").unwrap();
        let intent = FaultIntent {
            id: FaultId::new(&engine.plan.run, &step, &instance, 0),
            step,
            instance,
            ..journal::story::intent()
        };
        let fact = FaultFact {
            intent: intent.clone(),
            intended_at: Moment::default(),
            state: FaultState::Gone,
            hits: Hits::default(),
        };
        let track = Track {
            hits,
            ..Track::inherited(&fact)
        };
        engine.faults.insert(intent.id, track);
        engine.groups.began(index, index, Moment::default());
    }
    while engine.machine.phase() == Phase::Running {
        engine.feed(Input::Tick);
    }
    assert_eq!(engine.machine.cause(), Some(&Cause::Finished));
    engine.final_row(as_expected(1));
    for group in engine.groups.all.values_mut() {
        group.last = true;
    }
    engine.report_rows();
    let outcome = close(engine);
    (stage, outcome)
}

fn counted(hits: u64) -> Hits {
    Hits {
        hits,
        ..Hits::default()
    }
}

/// From recovering to the end, with nothing left.
fn close(engine: &mut Engine) -> Outcome {
    for step in StepId::ALL {
        engine.feed(Input::StepOver(step));
        engine.feed(Input::Assessed { needed: true });
    }
    engine.feed(Input::Settling {
        missing: vec![],
        users_ok: true,
    });
    engine.feed(Input::FinalRead {
        found: vec![],
        repaired: false,
    });
    let closes = |effect: &Effect| match effect {
        Effect::Close(outcome) => Some(outcome.clone()),
        _ => None,
    };
    engine.effects.iter().find_map(closes).expect("closed")
}

#[tokio::test]
async fn a_fault_that_hit_nothing_and_stands_on_no_row_keeps_the_run_from_holding() {
    for (hits, held) in [(Some(counted(0)), false), (None, false), (Some(counted(3)), true)] {
        let (stage, outcome) = ended(hits);
        let told = (outcome.hypothesis, outcome.exit);
        let doubts = stage.engine.effects.iter().filter_map(|e| match e {
            Effect::Emit(Body::Doubted(Doubt::NotExercised { step })) => Some(step.as_str()),
            _ => None,
        });
        let doubts: Vec<&str> = doubts.collect();
        if held {
            assert_eq!(told, (Some(Hypothesis::Held), Exit::Held));
            assert!(doubts.is_empty());
        } else {
            assert_eq!(told, (Some(Hypothesis::Undecided), Exit::Undecided), "{hits:?}");
            assert_eq!(doubts, ["first"]);
        }
    }
}

#[tokio::test]
async fn what_a_dead_keeper_had_in_doubt_is_in_doubt_for_the_next() {
    let facts = Facts {
        doubts: vec![Doubt::GuardBroke { what: "x".into() }],
        snapshot: Some(Snapshot::default()),
        baseline: Some(BaselineLevels::default()),
        recovering: Some((Cause::Finished, Moment::default())),
        rows: [(RowId { step: 0, row: 0 }, as_expected(0))].into(),
        faults: vec![FaultFact {
            intent: journal::story::intent(),
            intended_at: Moment::default(),
            state: FaultState::Gone,
            hits: Hits::default(),
        }],
        ..Facts::default()
    };
    let mut plan = plan(environment(&[]), nothing_to_do());
    plan.drill.recovery.hold = Span::ZERO;
    let mut engine = stage(plan).engine;
    engine.take_over(facts, Vec::new(), lost());
    engine.report_rows();
    assert_eq!(close(&mut engine).hypothesis, Some(Hypothesis::Undecided));
}

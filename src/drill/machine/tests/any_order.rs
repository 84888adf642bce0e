//! What no order of inputs may ever make the machine do.

use proptest::prelude::*;

use super::*;

fn any_input() -> impl Strategy<Value = Input> {
    let leftover = Leftover {
        step: StepId::Faults,
        what: "rule".into(),
        why: "there".into(),
        by_hand: None,
        certainty: Certainty::Unknown,
    };
    let steps = prop::sample::select(StepId::ALL.to_vec());
    let beside = prop::sample::select(vec![StepId::Faults, StepId::Injector]);
    prop_oneof![
        5 => Just(Input::Tick),
        1 => Just(Input::Slept),
        1 => Just(Input::DeadmanReady),
        1 => Just(Input::DeadmanLost),
        2 => Just(Input::PreflightDone { refused: vec![] }),
        2 => Just(Input::BaselineJudged { blockers: vec![] }),
        2 => (1u32..3).prop_map(|look| Input::ReadAgain { look, blockers: vec![] }),
        2 => Just(Input::FaultIntended(fault())),
        2 => Just(Input::FaultGone(fault())),
        1 => Just(Input::FaultFailed(fault(), "no".into())),
        1 => Just(guard(Health::Broken)),
        1 => Just(guard(Health::BlindTooLong)),
        1 => Just(asked()),
        6 => steps.prop_map(over),
        1 => beside.prop_map(Input::GoOn),
        2 => any::<bool>().prop_map(|needed| Input::Assessed { needed }),
        4 => (any::<bool>(), any::<bool>()).prop_map(|(bad, users_ok)| Input::Settling {
            missing: bad.then(|| Missing::outside("x".into())).into_iter().collect(),
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
                            prop_assert!(clean && reading && !m.fault_may_be_live(), "{outcome:?}");
                            prop_assert!(stopping == 1);
                        }
                    }
                    _ => {}
                }
            }
            prop_assert!(stopping <= 1);
        }
    }
}

#[test]
fn neither_an_unasked_last_read_nor_a_foreign_word_of_verify_makes_all_clear() {
    let mut m = running();
    m.step(asked(), at(65));
    m.step(Input::RowsFinal(vec![]), at(65));
    m.step(over(StepId::Verify), at(65));
    assert_eq!(m.phase(), Phase::Recovering, "its steps have not even begun");
    to_verifying(&mut m, 66);
    let clean = Input::FinalRead {
        found: vec![],
        repaired: false,
    };
    assert_eq!(m.step(clean, at(200)), [], "nobody had read anything");
    assert_eq!(m.phase(), Phase::Verifying);
}

//! How a run ends: two axes, and the exit code that stands for both.

use crate::model::{
    event::{Doubt, Outcome},
    exit::Exit,
    phase::Cause,
    plan::Purpose,
    recovery::{Certainty, Leftover, Recovered},
    sheet::{Hypothesis, Verdict},
};

/// What a list of leftovers amounts to.
pub fn recovered(leftovers: &[Leftover]) -> Recovered {
    if leftovers.is_empty() {
        Recovered::Recovered
    } else if leftovers.iter().any(|l| l.certainty == Certainty::Seen) {
        Recovered::Leftover
    } else {
        Recovered::Unknown
    }
}

/// Whether the hypothesis held, from the final rows, what stands on none of them, and the reason the run ended. `None` if no
/// fault was ever made.
pub fn hypothesis(
    verdicts: &[Verdict],
    doubts: &[Doubt],
    cause: Option<&Cause>,
    touched: bool,
) -> Option<Hypothesis> {
    if !touched {
        return None;
    }
    let guard = matches!(cause, Some(Cause::Guard { .. }));
    if guard || verdicts.contains(&Verdict::Unexpected) {
        return Some(Hypothesis::Falsified);
    }
    let finished = matches!(cause, Some(Cause::Finished));
    let all_expected = !verdicts.is_empty() && verdicts.iter().all(|v| *v == Verdict::AsExpected);
    Some(if finished && all_expected && doubts.is_empty() {
        Hypothesis::Held
    } else {
        Hypothesis::Undecided
    })
}

/// The outcome of a run that was not refused. The worst that is true of it is its exit code.
pub fn outcome(
    purpose: Purpose,
    verdicts: &[Verdict],
    doubts: &[Doubt],
    cause: Option<Cause>,
    touched: bool,
    recovered: Recovered,
) -> Outcome {
    // Where nothing was broken nothing was tested.
    let hypothesis = hypothesis(verdicts, doubts, cause.as_ref(), touched && purpose.injects());
    let exit = match (&cause, hypothesis) {
        _ if recovered != Recovered::Recovered => Exit::Remains,
        (Some(cause), _) if cause.is_abort() => Exit::Aborted,
        (Some(Cause::Asked { .. } | Cause::Interrupted { .. }), _) => Exit::Interrupted,
        (Some(Cause::Finished | Cause::Restore), None) if !purpose.injects() => Exit::Held,
        (_, Some(Hypothesis::Falsified)) => Exit::Findings,
        (_, Some(Hypothesis::Held)) => Exit::Held,
        _ => Exit::Undecided,
    };
    Outcome {
        hypothesis,
        recovered,
        cause,
        refused: false,
        exit,
    }
}

/// The outcome of a run that was refused.
pub fn refused() -> Outcome {
    Outcome {
        hypothesis: None,
        recovered: Recovered::Recovered,
        cause: None,
        refused: true,
        exit: Exit::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Option<Cause> {
        Some(Cause::Guard { what: "x".into() })
    }

    #[test]
    fn the_worst_wins() {
        let finished = || Some(Cause::Finished);
        let asked = Some(Cause::Asked { by: "me".into() });
        let ok = Recovered::Recovered;
        let cases = [
            (
                vec![Verdict::Unexpected],
                guard(),
                Recovered::Unknown,
                Exit::Remains,
            ),
            (vec![Verdict::Unexpected], guard(), ok, Exit::Aborted),
            (vec![Verdict::Unexpected], asked, ok, Exit::Interrupted),
            (
                vec![Verdict::AsExpected, Verdict::Unexpected, Verdict::NoData],
                finished(),
                ok,
                Exit::Findings,
            ),
            (
                vec![Verdict::AsExpected, Verdict::NotExercised],
                finished(),
                ok,
                Exit::Undecided,
            ),
            (vec![Verdict::AsExpected], finished(), ok, Exit::Held),
            (vec![], finished(), ok, Exit::Undecided),
        ];
        for (verdicts, cause, recovered, code) in cases {
            assert_eq!(
                outcome(Purpose::Drill, &verdicts, &[], cause, true, recovered).exit,
                code,
                "{verdicts:?}"
            );
        }
    }

    #[test]
    fn a_run_that_was_cut_short_never_holds() {
        let asked = Cause::Asked { by: "me".into() };
        assert_eq!(
            hypothesis(&[Verdict::AsExpected], &[], Some(&asked), true),
            Some(Hypothesis::Undecided)
        );
        assert_eq!(
            hypothesis(&[Verdict::AsExpected], &[], guard().as_ref(), true),
            Some(Hypothesis::Falsified)
        );
    }

    #[test]
    fn what_stands_on_no_row_keeps_a_run_from_holding_and_falsifies_nothing() {
        let doubts = [Doubt::GuardBroke { what: "x".into() }];
        let of = |verdict| hypothesis(&[verdict], &doubts, Some(&Cause::Finished), true);
        assert_eq!(of(Verdict::AsExpected), Some(Hypothesis::Undecided));
        assert_eq!(of(Verdict::Unexpected), Some(Hypothesis::Falsified));
    }

    #[test]
    fn something_not_seen_to_be_gone_is_unknown_and_never_recovered() {
        let left = |certainty| Leftover {
            step: crate::model::recovery::StepId::Breakers,
            what: "b".into(),
            why: "w".into(),
            by_hand: None,
            certainty,
        };
        assert_eq!(recovered(&[left(Certainty::Unknown)]), Recovered::Unknown);
        assert_eq!(
            recovered(&[left(Certainty::Unknown), left(Certainty::Seen)]),
            Recovered::Leftover
        );
    }
}

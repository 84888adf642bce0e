//! How a run ends: two axes, and the exit code that stands for both.

use crate::model::{
    event::Outcome,
    phase::Cause,
    plan::Purpose,
    recovery::{Certainty, Leftover, Recovered},
    sheet::{Hypothesis, Verdict},
};

/// Exit codes of `run`, `smoke` and `recover`.
pub mod exit {
    /// Every row as expected, and all clear.
    pub const HELD: u8 = 0;
    /// A row is UNEXPECTED.
    pub const FINDINGS: u8 = 1;
    /// A wrong file or argument.
    pub const USAGE: u8 = 2;
    /// Aborted by the guard.
    pub const ABORTED: u8 = 3;
    /// Recovery is incomplete; something may remain.
    pub const REMAINS: u8 = 4;
    /// Refused before anything was touched.
    pub const REFUSED: u8 = 5;
    /// Not established: a row is undecided, without data, not exercised or confounded.
    pub const UNDECIDED: u8 = 6;
    /// Interrupted, and recovered.
    pub const INTERRUPTED: u8 = 130;

    /// The worst of several runs' codes: what may remain over an abort, an abort over an interrupt, and so on.
    pub fn worst(codes: &[u8]) -> u8 {
        [REMAINS, ABORTED, INTERRUPTED, USAGE, REFUSED, FINDINGS, UNDECIDED]
            .into_iter()
            .find(|code| codes.contains(code))
            .unwrap_or(HELD)
    }
}

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

/// Whether the hypothesis held, from the final rows and the reason the run ended. `None` if no fault was ever made.
pub fn hypothesis(verdicts: &[Verdict], cause: Option<&Cause>, touched: bool) -> Option<Hypothesis> {
    if !touched {
        return None;
    }
    let guard = matches!(cause, Some(Cause::Guard { .. }));
    if guard || verdicts.contains(&Verdict::Unexpected) {
        return Some(Hypothesis::Falsified);
    }
    let finished = matches!(cause, Some(Cause::Finished));
    let all_expected = !verdicts.is_empty() && verdicts.iter().all(|v| *v == Verdict::AsExpected);
    Some(if finished && all_expected {
        Hypothesis::Held
    } else {
        Hypothesis::Undecided
    })
}

/// The outcome of a run that was not refused. The worst wins: 4 > 3 > 130 > 1 > 6.
pub fn outcome(
    purpose: Purpose,
    verdicts: &[Verdict],
    cause: Option<Cause>,
    touched: bool,
    recovered: Recovered,
) -> Outcome {
    // Where nothing was broken nothing was tested.
    let hypothesis = hypothesis(verdicts, cause.as_ref(), touched && purpose.injects());
    let exit = match (&cause, hypothesis) {
        _ if recovered != Recovered::Recovered => exit::REMAINS,
        (Some(cause), _) if cause.is_abort() => exit::ABORTED,
        (Some(Cause::Asked { .. } | Cause::Interrupted { .. }), _) => exit::INTERRUPTED,
        (Some(Cause::Finished | Cause::Restore), None) if !purpose.injects() => exit::HELD,
        (_, Some(Hypothesis::Falsified)) => exit::FINDINGS,
        (_, Some(Hypothesis::Held)) => exit::HELD,
        _ => exit::UNDECIDED,
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
        exit: exit::REFUSED,
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
            (vec![Verdict::Unexpected], guard(), Recovered::Unknown, 4),
            (vec![Verdict::Unexpected], guard(), ok, 3),
            (vec![Verdict::Unexpected], asked, ok, 130),
            (
                vec![Verdict::AsExpected, Verdict::Unexpected, Verdict::NoData],
                finished(),
                ok,
                1,
            ),
            (
                vec![Verdict::AsExpected, Verdict::NotExercised],
                finished(),
                ok,
                6,
            ),
            (vec![Verdict::AsExpected], finished(), ok, 0),
            (vec![], finished(), ok, 6),
        ];
        for (verdicts, cause, recovered, code) in cases {
            assert_eq!(
                outcome(Purpose::Drill, &verdicts, cause, true, recovered).exit,
                code,
                "{verdicts:?}"
            );
        }
    }

    #[test]
    fn a_run_that_was_cut_short_never_holds() {
        let asked = Cause::Asked { by: "me".into() };
        assert_eq!(
            hypothesis(&[Verdict::AsExpected], Some(&asked), true),
            Some(Hypothesis::Undecided)
        );
        assert_eq!(
            hypothesis(&[Verdict::AsExpected], guard().as_ref(), true),
            Some(Hypothesis::Falsified)
        );
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

//! JUnit XML, for whatever shows test results: a suite for each drill, a case for each row, and one for the end.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::{
    model::{
        event::{Doubt, Health},
        said::Said,
        sheet::Verdict,
        text::{Lang, harmless},
    },
    view::{Ending, GuardView, RunView, row_label},
};

use super::sheet::{FullRow, phenomenon, rows};

const LONGEST: usize = 500;

/// The runs as JUnit XML. A row that was not established is an error, unless `allow_undecided` makes it a skipped one:
/// so the result agrees with the exit code.
pub fn junit<'a>(runs: impl IntoIterator<Item = &'a RunView>, allow_undecided: bool) -> String {
    let mut report = Report::new("allclear");
    for view in runs {
        report.add_test_suite(suite(view, allow_undecided));
    }
    report
        .to_string()
        .expect("a text takes whatever is written into it")
}

fn suite(view: &RunView, allow_undecided: bool) -> TestSuite {
    let (name, run) = match view.header.as_deref() {
        Some(header) => (header.drill.to_string(), header.run.to_string()),
        None => ("unknown".to_owned(), "unknown".to_owned()),
    };
    let mut suite = TestSuite::new(name.clone());
    suite.add_property(("run", run.as_str()));
    for row in rows(view) {
        let title = format!("{} / {}", row.step.name, row_label(row.header));
        suite.add_test_case(case(&name, title, row_status(&row, allow_undecided)));
    }
    suite.add_test_case(case(&name, "guard".to_owned(), guard_status(view)));
    suite.add_test_case(case(&name, "ALL CLEAR".to_owned(), end_status(view)));
    suite
}

fn case(drill: &str, title: String, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(title, status);
    case.set_classname(drill);
    case
}

fn row_status(row: &FullRow<'_>, allow_undecided: bool) -> TestCaseStatus {
    let text = phenomenon(row, Lang::En);
    match row.verdict() {
        Some(Verdict::AsExpected) => TestCaseStatus::success(),
        Some(Verdict::Unexpected) => not(NonSuccessKind::Failure, "UNEXPECTED", &text),
        Some(_) if allow_undecided => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message(harmless(&text, LONGEST));
            skipped
        }
        Some(verdict) => not(NonSuccessKind::Error, &verdict.to_string(), &text),
        None if row.state.is_some() => not(NonSuccessKind::Error, "NOT FINAL", &text),
        None => not(NonSuccessKind::Error, "NOT REACHED", "the step never began"),
    }
}

fn guard_status(view: &RunView) -> TestCaseStatus {
    let broke = view.doubts.iter().find(|d| matches!(d, Doubt::GuardBroke { .. }));
    match (view.recovering.as_ref().map(|r| &r.cause), broke) {
        (Some(cause), _) if cause.is_abort() => {
            not(NonSuccessKind::Failure, "ABORTED", &cause.describe(Lang::En))
        }
        (_, Some(broke)) => not(NonSuccessKind::Failure, "BROKEN", broke.said().en()),
        _ if view.outcome.as_ref().is_some_and(|o| o.refused) => refused_status(view),
        _ => TestCaseStatus::success(),
    }
}

/// A run that was refused was not guarded. If the guard itself is the reason, it has failed.
fn refused_status(view: &RunView) -> TestCaseStatus {
    let broken = |g: &GuardView| matches!(g.state.health, Health::Broken | Health::BlindTooLong);
    if view.guards.iter().flatten().any(broken) {
        let why = Said::sentences(&view.refused);
        not(NonSuccessKind::Failure, "BROKEN", why.en())
    } else {
        not(NonSuccessKind::Error, "NOT REACHED", "nothing was there to guard")
    }
}

fn end_status(view: &RunView) -> TestCaseStatus {
    let left: Vec<&str> = view.may_remain.iter().map(|l| l.what.en()).collect();
    match view.ending() {
        Some(Ending::AllClear) => TestCaseStatus::success(),
        Some(Ending::Untouched) => not(NonSuccessKind::Error, "STOPPED", "nothing was injected"),
        Some(Ending::Refused) => not(
            NonSuccessKind::Error,
            "REFUSED",
            Said::sentences(&view.refused).en(),
        ),
        Some(Ending::Leftover) => not(NonSuccessKind::Failure, "LEFTOVER", &left.join("; ")),
        Some(Ending::Unknown) => not(NonSuccessKind::Failure, "UNKNOWN", &left.join("; ")),
        Some(Ending::Contradicted { live }) => {
            let text = format!("{live} faults were never read back as gone");
            not(NonSuccessKind::Failure, "LEFTOVER", &text)
        }
        None => not(NonSuccessKind::Error, "NOT CLOSED", "the run has no end"),
    }
}

fn not(kind: NonSuccessKind, what: &str, text: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(what);
    status.set_message(harmless(text, LONGEST));
    status
}

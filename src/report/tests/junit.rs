//! What a pipeline reads.

use tempfile::TempDir;

use super::run_of;
use crate::{
    journal::story,
    model::{
        event::{Body, Doubt, Event, GuardState, Health},
        secret::Secrets,
        text::Lang,
    },
    report::*,
    view::RunView,
};

#[test]
fn junit_agrees_with_the_exit_code() {
    let aborted = RunView::of(&story::events());
    insta::assert_snapshot!("junit", junit([&aborted], false));

    let mut events = story::events();
    for event in &mut events {
        if let Body::Row(row) = &mut event.body {
            row.verdict = crate::model::sheet::Verdict::NotExercised;
        }
    }
    let undecided = RunView::of(&events);
    let count = |allow, what: &str| junit([&undecided], allow).matches(what).count();
    assert_eq!((count(false, "<error"), count(false, "<skipped")), (2, 0));
    assert_eq!((count(true, "<error"), count(true, "<skipped")), (0, 2));
}

#[test]
fn a_row_that_is_not_final_is_no_result() {
    let mut events = story::events();
    for event in &mut events {
        if let Body::Row(row) = &mut event.body {
            row.last = false;
        }
    }
    let view = RunView::of(&events);
    assert_eq!(junit([&view], true).matches("NOT FINAL").count(), 2);
    assert!(findings(&view, Lang::En).is_empty());
    let temp = TempDir::new().unwrap();
    let page = html::page(
        &Evidence::of(&run_of(&temp, &events, &Secrets::none())).unwrap(),
        Lang::En,
    );
    assert!(page.contains("NOT FINAL") && !page.contains("AS EXPECTED"));
}

#[test]
fn the_guard_of_a_run_that_it_did_not_end_in_time_is_no_success() {
    let mut view = RunView::of(&story::events());
    view.recovering = None;
    assert!(!junit([&view], false).contains("BROKEN"));
    view.doubts.push(Doubt::GuardBroke {
        what: "orders 98% (≥ 99%), 3 of 3".into(),
    });
    let xml = junit([&view], true);
    assert!(
        xml.contains("BROKEN") && xml.contains("orders 98% (≥ 99%), 3 of 3"),
        "{xml}"
    );
}

#[test]
fn the_guard_of_a_refused_run_is_no_success() {
    let refused = |health| {
        let mut events = story::events();
        let first_step = |e: &Event| matches!(e.body, Body::StepStarted { .. });
        let begun = events.iter().position(first_step).unwrap();
        let guard = events
            .iter()
            .find(|e| matches!(e.body, Body::Guard(_)))
            .unwrap()
            .clone();
        events.truncate(begun);
        let Body::Guard(state) = guard.body else {
            panic!("{guard:?}")
        };
        let why = "the steady state does not hold by itself".into();
        let end = [
            Body::Guard(GuardState { health, ..state }),
            Body::Refused { reasons: vec![why] },
            Body::Closed(crate::drill::outcome::refused()),
        ];
        let seq = events.last().unwrap().seq;
        for (seq, body) in (seq + 1..).zip(end) {
            events.push(story::at(seq, 605, body));
        }
        junit([&RunView::of(&events)], true)
    };
    let broken = refused(Health::Broken);
    assert!(
        broken.contains("BROKEN") && broken.contains("the steady state does not hold by itself"),
        "{broken}"
    );
    // Refused for another reason: nobody knows whether it would have held.
    let other = refused(Health::Holds);
    assert!(
        !other.contains("BROKEN") && other.contains("nothing was there to guard"),
        "{other}"
    );
}

#[test]
fn junit_of_an_unfinished_run_is_never_a_pass() {
    let xml = junit([&RunView::of(&story::events()[..12])], true);
    assert!(xml.contains("NOT CLOSED") && xml.contains("NOT REACHED"), "{xml}");
    assert!(junit([&RunView::default()], true).contains("NOT CLOSED"));
}

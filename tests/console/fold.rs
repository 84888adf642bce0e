//! The fold where people's safety hangs on it: what counts as live, as gone, as clear.

use allclear::{
    model::{
        amount::Level,
        event::{Body, GuardState, Health, Outcome},
        exit::Exit,
        phase::Phase,
        recovery::{Milestone, Recovered},
        said::Said,
        sample::{Gap, Reading},
        time::{Moment, Span},
    },
    view::{Ending, FaultState, MAX_LINES, RunView},
};

use crate::story::{Story, fault};

fn live(view: &RunView) -> usize {
    view.live_faults().count()
}

#[test]
fn a_fault_counts_as_live_from_its_intent_until_it_is_read_back() {
    let story = Story::closed_leftover();
    let at = |wanted: fn(&Body) -> bool| story.events.iter().position(|e| wanted(&e.body)).unwrap();
    let intent = at(|b| matches!(b, Body::FaultIntended(_)));
    let gone = at(|b| matches!(b, Body::FaultGone { .. }));
    for end in 0..story.events.len() {
        let view = RunView::of(&story.events[..=end]);
        assert_eq!(
            live(&view),
            usize::from((intent..gone).contains(&end)),
            "after event {end}"
        );
    }
}

/// A guard that is read well, and whose limit is not known.
fn read_without_a_limit() -> Body {
    Body::Guard(GuardState {
        index: 2,
        reading: Reading {
            value: Ok(Level(240.0)),
            age: Span::seconds(1),
            sampled: 0,
            partial: false,
        },
        room: None,
        bad: 0,
        health: Health::Blind,
    })
}

#[test]
fn a_limit_relative_to_the_baseline_is_no_blind_guard_while_the_baseline_is_watched() {
    let mut story = Story::baseline();
    story.say(read_without_a_limit());
    assert!(story.view().worst_guard().is_none());
    // Without another guard that is worse.
    let mut story = Story::preflight();
    story.say(Body::Phase {
        phase: Phase::Running,
        until: None,
    });
    story.say(read_without_a_limit());
    let view = story.view();
    assert!(
        view.worst_guard().is_some(),
        "a guard without its limit, once faults may be made"
    );
    let mut story = Story::baseline();
    let Body::Guard(mut unread) = read_without_a_limit() else {
        unreachable!()
    };
    unread.reading.value = Err(Gap::NoSample);
    story.say(Body::Guard(unread));
    assert!(story.view().worst_guard().is_some(), "it is not read at all");
}

#[test]
fn a_passed_expiry_does_not_make_a_fault_gone() {
    let mut story = Story::running();
    story.wait(3_600_000).say(Body::Watching { consoles: 1 });
    assert_eq!(live(&story.view()), 1);
}

#[test]
fn a_create_that_lands_after_its_undo_is_live_again() {
    let mut story = Story::recovering();
    assert_eq!(live(&story.view()), 0);
    story.say(Body::FaultLive {
        fault: fault(),
        expires: None,
    });
    let view = story.view();
    assert_eq!(live(&view), 1);
    assert_eq!(view.time_of(Milestone::FaultsGone), None);
}

#[test]
fn a_fault_that_may_not_have_been_made_is_settled_by_faults_gone() {
    let mut story = Story::baseline();
    story.say(Body::FaultFailed {
        fault: fault(),
        why: Said::as_it_is("timed out"),
    });
    assert!(matches!(
        story.view().faults[0].state,
        FaultState::Uncertain { .. }
    ));
    assert_eq!(live(&story.view()), 1);
    story.say(Body::Reached {
        milestone: Milestone::FaultsGone,
        after: Span::millis(900),
    });
    assert_eq!(live(&story.view()), 0);
}

#[test]
fn a_live_fault_is_not_settled_by_faults_gone_alone() {
    let mut story = Story::running();
    story.say(Body::Reached {
        milestone: Milestone::FaultsGone,
        after: Span::millis(900),
    });
    assert_eq!(live(&story.view()), 1);
}

#[test]
fn a_fault_that_nobody_announced_counts() {
    let mut story = Story::preflight();
    story.say(Body::FaultLive {
        fault: fault(),
        expires: Some(Moment(1)),
    });
    assert_eq!(live(&story.view()), 1);
}

#[test]
fn all_clear_needs_the_outcome_and_every_read_back_and_an_empty_list() {
    let outcome = |recovered| {
        Body::Closed(Outcome {
            hypothesis: None,
            recovered,
            cause: None,
            refused: false,
            exit: Exit::Held,
        })
    };
    let ends = |mut story: Story, recovered| {
        story.say(outcome(recovered));
        story.view().ending()
    };
    assert_eq!(Story::recovering().view().ending(), None);
    assert_eq!(
        ends(Story::running(), Recovered::Recovered),
        Some(Ending::Contradicted { live: 1 })
    );
    assert_eq!(
        ends(Story::recovering(), Recovered::Recovered),
        Some(Ending::Leftover)
    );
    assert_eq!(ends(Story::baseline(), Recovered::Unknown), Some(Ending::Unknown));
    assert_eq!(
        ends(Story::baseline(), Recovered::Leftover),
        Some(Ending::Leftover)
    );
    assert_eq!(
        ends(Story::baseline(), Recovered::Recovered),
        Some(Ending::Untouched)
    );
}

#[test]
fn a_final_row_is_not_taken_back_by_a_late_reading() {
    let mut story = Story::recovering();
    let before = story.view().rows;
    let early = Story::running()
        .events
        .into_iter()
        .filter(|e| matches!(e.body, Body::Row(_)));
    for event in early {
        story.say(event.body);
    }
    assert_eq!(story.view().rows, before);
}

#[test]
fn the_journal_is_bounded_and_keeps_the_newest() {
    let mut story = Story::running();
    for number in 0..2 * MAX_LINES {
        story.say(Body::Warning(Said::as_it_is(format!("number {number}"))));
    }
    let view = story.view();
    assert_eq!(view.journal.len(), MAX_LINES);
    assert!(
        view.journal
            .back()
            .unwrap()
            .en
            .ends_with(&format!("number {}", 2 * MAX_LINES - 1))
    );
}

#[test]
fn a_gap_stays_a_gap_and_is_never_a_zero() {
    let view = Story::running().view();
    let chart = view
        .charts
        .iter()
        .find(|c| c.query.metric.as_str() == "cart_db_pool")
        .unwrap();
    assert_eq!(chart.points.iter().filter(|p| p.value.is_none()).count(), 2);
    assert!(chart.points.iter().all(|p| p.value.is_none_or(|v| v.0 > 0.0)));
}

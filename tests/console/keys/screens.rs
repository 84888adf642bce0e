//! Screens: when they change, and what stays where it is.

use allclear::{
    console::{App, Ask, Effect, Incoming, Screen, buffer_text},
    model::{
        event::{Body, Event},
        said::Said,
    },
    view::RunView,
};
use crossterm::event::{KeyCode, KeyModifiers};

use super::{NOW, app, control, key, options, press, read_only, shown};
use crate::story::Story;

#[test]
fn q_leaves_and_the_footer_says_that_the_run_goes_on() {
    let mut app = app(&Story::running());
    assert!(shown(&mut app).contains("q leave (run goes on)"));
    assert_eq!(key(&mut app, 'q'), Some(Effect::Leave));
}

#[test]
fn a_console_that_only_looks_cannot_ask_for_anything_and_says_so() {
    let mut app = read_only(&Story::baseline());
    for c in ['r', 'R', 'n', 'e'] {
        assert_eq!(key(&mut app, c), None, "{c}");
        assert!(shown(&mut app).contains("this console only looks"), "{c}");
    }
    assert_eq!(control(&mut app, 'r'), None);
    assert_eq!(control(&mut app, 'c'), Some(Effect::Leave));
    let text = shown(&mut app);
    assert!(text.contains("READ ONLY") && !text.contains("STOP+RECOVER") && !text.contains(" r cancel"));
}

#[test]
fn the_sheet_gives_way_to_recovery_when_the_guard_ends_the_run() {
    let before = Story::running();
    let mut app = app(&before);
    for event in &Story::recovering().events[before.events.len()..] {
        app.receive(Incoming::Event(Box::new(event.clone())));
    }
    assert!(shown(&mut app).contains("1 stop faults   DONE"));
}

#[test]
fn another_screen_stays_when_the_guard_ends_the_run() {
    let before = Story::running();
    let mut app = app(&before);
    app.show(Screen::Map);
    for event in &Story::recovering().events[before.events.len()..] {
        app.receive(Incoming::Event(Box::new(event.clone())));
    }
    assert!(shown(&mut app).contains("BLAST RADIUS"));
}

#[test]
fn e_asks_for_a_longer_baseline_and_only_there() {
    let mut app = app(&Story::baseline());
    assert!(matches!(
        key(&mut app, 'e'),
        Some(Effect::Ask(Ask::Extend { .. }))
    ));
    let mut app = App::new(Story::running().view(), options());
    assert_eq!(key(&mut app, 'e'), None);
    assert!(shown(&mut app).contains("only the baseline can be extended"));
}

#[test]
fn details_of_a_picked_row_take_the_place_of_the_guard_and_move_no_row() {
    let mut app = app(&Story::running());
    for _ in 0..4 {
        press(&mut app, KeyCode::Down, KeyModifiers::NONE);
    }
    let before = shown(&mut app);
    press(&mut app, KeyCode::Enter, KeyModifiers::NONE);
    let after = shown(&mut app);
    let place = |text: &str| {
        text.lines()
            .position(|l| l.contains("order_success    marked  99.60%"))
    };
    assert_eq!(place(&before), place(&after));
    insta::assert_snapshot!(after);
}

#[test]
fn no_row_moves_when_a_verdict_turns() {
    let story = Story::running();
    let turned = story
        .events
        .iter()
        .position(|e| matches!(&e.body, Body::Row(_)))
        .unwrap();
    let before = RunView::of(&story.events[..turned]);
    let places = |view: RunView| -> Vec<Option<usize>> {
        let text = shown(&mut App::new(view, options()));
        [
            "coupon_p99",
            "degraded_rate",
            "order_p99        marked",
            "order_success    marked",
        ]
        .iter()
        .map(|name| text.lines().position(|l| l.contains(name)))
        .collect()
    };
    assert_eq!(places(before), places(story.view()));
}

#[test]
fn the_journal_stays_where_one_has_scrolled_to() {
    let story = Story::recovering();
    let cut = story.events.len() - 6;
    let mut app = App::new(RunView::of(&story.events[..cut]), options());
    app.show(Screen::Journal);
    shown(&mut app);
    press(&mut app, KeyCode::PageUp, KeyModifiers::NONE);
    let top = |text: String| text.lines().nth(3).map(str::to_owned);
    let before = top(shown(&mut app));
    for event in &story.events[cut..] {
        app.receive(Incoming::Event(Box::new(event.clone())));
    }
    assert_eq!(top(shown(&mut app)), before);
}

#[test]
fn escape_sequences_in_titles_notes_and_reasons_never_reach_a_frame() {
    let mut story = Story::closed_leftover();
    let evil = "x\u{1b}[2J\u{9b}31m\u{202e}\u{7}y";
    for event in &mut story.events {
        match &mut event.body {
            Body::Opened(header) => {
                header.title.en = evil.into();
                header.hypothesis.en = evil.into();
                header.metrics[0].title.en = evil.into();
                header.panels[0].0.en = evil.into();
                header.steps[0].rows[3].declared = evil.into();
            }
            Body::Row(row) => row.reason = Said::as_it_is(evil),
            Body::MayRemain(left) => left.iter_mut().for_each(|l| {
                l.what = Said::as_it_is(evil);
                l.by_hand = Some(evil.into());
            }),
            Body::Check(check) => check.found = Said::as_it_is(evil),
            _ => {}
        }
    }
    let seq = story.events.len() as u64 + 1;
    let mut last: Event = story.events[0].clone();
    last.seq = seq;
    last.body = Body::Note {
        by: evil.into(),
        text: evil.into(),
    };
    story.events.push(last);
    let mut app = app(&story);
    for screen in Screen::ALL {
        app.show(screen);
        let frame = app.frame(120, 40, NOW);
        for cell in frame.content() {
            let bad = |c: char| c.is_control() || c == '\u{202e}';
            assert!(!cell.symbol().contains(bad), "{screen:?}: {:?}", cell.symbol());
        }
    }
}

#[test]
fn all_clear_is_not_said_while_a_fault_was_never_read_back_as_gone() {
    let mut story = Story::closed_held();
    story.events.retain(|e| !matches!(e.body, Body::FaultGone { .. }));
    let mut app = app(&story);
    for (width, height) in [(80, 24), (20, 5)] {
        let now = app.view().at;
        let text = buffer_text(&app.frame(width, height, now));
        assert!(text.contains("NOT CLEAR"), "{text}");
    }
    let text = shown(&mut app);
    assert!(text.contains("ALL CLEAR --"), "{text}");
    assert!(
        text.contains("7f3a21-coupon-delay-order-0-0 LIVE, never read back as gone"),
        "{text}"
    );
}

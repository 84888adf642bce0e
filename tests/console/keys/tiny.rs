//! Keys on a terminal that is too small for a screen: what they did is seen there as well.

use allclear::{
    console::{App, Ask, Effect, Incoming, buffer_text},
    model::{said::Said, text::Lang, time::Moment},
};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};

use super::{app, control, key, options, press};
use crate::story::Story;

fn small(app: &mut App, later: u64) -> String {
    let now = Moment(app.view().at.0 + later);
    buffer_text(&app.frame(20, 5, now))
}

#[test]
fn a_note_that_is_written_is_seen_and_how_to_recover_from_there() {
    for (lang, field, how) in [
        (Lang::En, "note> order", "Ctrl-R RECOVER  Esc"),
        (Lang::Zh, "备注> order", "Ctrl-R 恢复  Esc"),
    ] {
        let options = allclear::console::Options { lang, ..options() };
        let mut app = App::new(Story::running().view(), options);
        key(&mut app, 'n');
        for c in "order".chars() {
            assert_eq!(key(&mut app, c), None);
        }
        let text = small(&mut app, 0);
        assert!(text.contains(field) && text.contains(how), "{text}");
        assert!(!text.contains("r STOP") && !text.contains("r 停止"), "{text}");
        assert_eq!(control(&mut app, 'r'), Some(Effect::Ask(Ask::Recover)));
        press(&mut app, KeyCode::Esc, KeyModifiers::NONE);
        let text = small(&mut app, 0);
        assert!(!text.contains(field) && !text.contains("Esc"), "{text}");
    }
}

#[test]
fn the_only_line_there_is_says_that_r_is_a_letter_now() {
    let mut app = app(&Story::running());
    key(&mut app, 'n');
    let now = app.view().at;
    let text = buffer_text(&app.frame(20, 1, now));
    assert!(text.contains("Ctrl-R RECOVER"), "{text}");
}

#[test]
fn a_keeper_that_is_gone_is_seen_and_no_guard_is_claimed_to_hold() {
    let mut app = app(&Story::running());
    app.receive(Incoming::Lost(Said::as_it_is(
        "looking for the next one; it died",
    )));
    let text = small(&mut app, 0);
    assert!(text.contains("NO KEEPER: looking"), "{text}");
    assert!(!text.contains("guard"), "{text}");
}

#[test]
fn what_becomes_of_a_recovery_that_was_asked_for_is_seen() {
    let mut app = app(&Story::running());
    let asked = app.view().at;
    let pressed = Input::Key(KeyEvent::new(KeyCode::Char('r'), KeyModifiers::NONE));
    app.input(&pressed, asked);
    let text = small(&mut app, 0);
    assert!(text.contains("RECOVER SENT"), "{text}");
    insta::assert_snapshot!(small(&mut app, 3_000), @r"
    NO ANSWER from the
    keeper; type
    elsewhere: allclear
    recover 7f3a21
    r STOP+RECOVER
    ");
}

#[test]
fn what_could_not_be_sent_is_seen_and_the_phase_stays_above_what_is_less() {
    let mut app = app(&Story::running());
    app.not_sent(&Said::as_it_is("no keeper is connected"));
    let text = small(&mut app, 0);
    assert!(
        text.contains("NOT SENT:") && text.contains("r STOP+RECOVER"),
        "{text}"
    );

    let mut app = App::new(Story::recovering().view(), options());
    app.input(&Input::Paste("r".into()), app.view().at);
    let text = small(&mut app, 0);
    assert!(
        text.starts_with("RECOVERING") && text.contains("paste ignored"),
        "{text}"
    );
}

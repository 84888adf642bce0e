//! Keys that are not what they look like: pastes, releases, letters in a note.

use allclear::console::{Ask, Effect};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{NOW, app, key, press, shown};
use crate::story::Story;

#[test]
fn a_paste_never_presses_a_key() {
    for story in [Story::running(), Story::baseline()] {
        let mut app = app(&story);
        assert_eq!(app.input(&Input::Paste("r\nR\u{12}\u{3}q".into()), NOW), None);
        assert!(shown(&mut app).contains("paste ignored"));
    }
}

#[test]
fn a_paste_into_a_note_stays_text_without_control_characters() {
    let mut app = app(&Story::running());
    key(&mut app, 'n');
    assert_eq!(app.input(&Input::Paste("r\u{1b}[2J\u{12}q".into()), NOW), None);
    let sent = press(&mut app, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(sent, Some(Effect::Ask(Ask::Note("r[2Jq".into()))));
}

#[test]
fn a_released_key_does_nothing() {
    let mut app = app(&Story::running());
    let mut released = KeyEvent::new(KeyCode::Char('r'), KeyModifiers::NONE);
    released.kind = KeyEventKind::Release;
    assert_eq!(app.input(&Input::Key(released), NOW), None);
}

#[test]
fn an_alt_key_is_not_its_letter() {
    let mut app = app(&Story::running());
    assert_eq!(press(&mut app, KeyCode::Char('r'), KeyModifiers::ALT), None);
    assert_eq!(
        press(
            &mut app,
            KeyCode::Char('r'),
            KeyModifiers::ALT | KeyModifiers::CONTROL
        ),
        None
    );
}

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
    let mut app = app(&Story::baseline());
    for c in ['q', 'e', 'n', 'l', '4'] {
        assert_eq!(press(&mut app, KeyCode::Char(c), KeyModifiers::ALT), None, "{c}");
    }
    assert!(shown(&mut app).contains("BASELINE") && !shown(&mut app).contains("note>"));
}

/// A terminal sends Alt as an Esc before the key: an Esc and an `r` that are typed in a hurry, or carried by a slow line, come as
/// one. Whoever means to recover must not be taken for somebody who holds Alt.
#[test]
fn esc_and_a_key_that_recovers_in_one_packet_are_that_key_after_an_esc() {
    let alt = KeyModifiers::ALT;
    for (c, modifiers) in [
        ('r', alt),
        ('R', alt | KeyModifiers::SHIFT),
        ('r', alt | KeyModifiers::CONTROL),
        ('c', alt | KeyModifiers::CONTROL),
    ] {
        for writes in [false, true] {
            let mut app = app(&Story::running());
            if writes {
                key(&mut app, 'n');
            }
            let effect = press(&mut app, KeyCode::Char(c), modifiers);
            assert_eq!(effect, Some(Effect::Ask(Ask::Recover)), "{c} {modifiers:?}");
            assert!(!shown(&mut app).contains("note>"), "the Esc has closed the note");
        }
    }
    let mut app = app(&Story::running());
    assert_eq!(
        press(&mut app, KeyCode::Char('c'), alt),
        None,
        "a letter with Alt"
    );
}

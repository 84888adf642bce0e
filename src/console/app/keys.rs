//! What a key means, and what it does to what is shown.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{App, EXTENSION, Effect, Message};
use crate::{
    console::{
        Ask,
        action::{self, Action},
        screen::Screen,
    },
    model::{
        phase::Phase,
        text::{Lang, harmless},
        time::Moment,
    },
    view::MAX_TEXT,
};

impl App {
    pub(super) fn key(&mut self, key: &KeyEvent, now: Moment) -> Option<Effect> {
        if let Some(behind) = action::after_esc(key) {
            // An Esc asks for nothing.
            self.key(&KeyCode::Esc.into(), now);
            return self.key(&behind, now);
        }
        if !matches!(action::anywhere(key), Some(Action::Interrupt)) {
            self.ui.interrupted = false;
        }
        if self.ui.note.is_some() && action::anywhere(key).is_none() {
            return self.write(key);
        }
        let action = action::meant(key)?;
        self.ui.message = None;
        self.act(action, now)
    }

    fn act(&mut self, action: Action, now: Moment) -> Option<Effect> {
        match action {
            Action::Recover => return self.recover(now),
            Action::Interrupt => return self.interrupt(now),
            Action::Leave => return Some(Effect::Leave),
            Action::Show(screen) => self.show(screen),
            Action::Note | Action::Extend if self.options.read_only => {
                self.ui.message = Some(Message::ReadOnly)
            }
            Action::Note | Action::Extend if self.view.outcome.is_some() => {
                self.ui.message = Some(Message::Over)
            }
            Action::Note => self.ui.note = Some(String::new()),
            Action::Extend => return self.extend(),
            Action::Up => self.by(-1),
            Action::Down => self.by(1),
            Action::PageUp => self.by(-self.page()),
            Action::PageDown => self.by(self.page()),
            Action::Home => self.by(isize::MIN / 2),
            Action::End => self.by(isize::MAX / 2),
            Action::Details => self.details(),
            Action::Back if self.ui.details => self.ui.details = false,
            Action::Back if self.ui.picked.is_some() => self.ui.picked = None,
            Action::Back => self.show(Screen::Sheet),
            Action::Language => {
                self.options.lang = match self.options.lang {
                    Lang::En => Lang::Zh,
                    Lang::Zh => Lang::En,
                }
            }
        }
        None
    }

    fn recover(&mut self, now: Moment) -> Option<Effect> {
        if self.options.read_only {
            self.ui.message = Some(Message::ReadOnly);
            return None;
        }
        if self.view.outcome.is_some() {
            self.ui.message = Some(Message::Over);
            return None;
        }
        if self.view.recovering.is_some() {
            self.ui.message = Some(Message::AlreadyRecovering);
        } else {
            self.ui.asked = self.ui.asked.or(Some(now));
        }
        if self.ui.screen == Screen::Sheet {
            self.show(Screen::Recovery);
        }
        Some(Effect::Ask(Ask::Recover))
    }

    fn interrupt(&mut self, now: Moment) -> Option<Effect> {
        if self.ui.interrupted || self.options.read_only || self.view.outcome.is_some() {
            return Some(Effect::Leave);
        }
        self.ui.interrupted = true;
        self.recover(now)
    }

    fn extend(&mut self) -> Option<Effect> {
        if !matches!(self.view.phase.phase, Phase::Preflight | Phase::Baseline) {
            self.ui.message = Some(Message::NotInBaseline);
            return None;
        }
        self.ui.message = Some(Message::ExtensionAsked);
        Some(Effect::Ask(Ask::Extend { by: EXTENSION }))
    }

    /// A key inside the note's text field.
    fn write(&mut self, key: &KeyEvent) -> Option<Effect> {
        let note = self.ui.note.as_mut()?;
        match key.code {
            KeyCode::Enter => {
                let text = note.trim().to_owned();
                self.ui.note = None;
                if !text.is_empty() {
                    self.ui.message = Some(Message::NoteSent);
                    return Some(Effect::Ask(Ask::Note(text)));
                }
            }
            KeyCode::Esc => self.ui.note = None,
            KeyCode::Backspace => {
                note.pop();
            }
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => note.clear(),
            KeyCode::Char(c)
                if !key
                    .modifiers
                    .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
            {
                append(note, c.encode_utf8(&mut [0; 4]))
            }
            _ => {}
        }
        None
    }

    /// A paste goes into the text field and nowhere else: it never presses a key.
    pub(super) fn paste(&mut self, text: &str) {
        match &mut self.ui.note {
            Some(note) => append(note, text),
            None => self.ui.message = Some(Message::PasteIgnored),
        }
    }

    fn page(&self) -> isize {
        isize::try_from(self.ui.page.saturating_sub(1).max(1)).unwrap_or(1)
    }

    fn by(&mut self, lines: isize) {
        if self.ui.screen == Screen::Sheet && !self.view.rows.is_empty() {
            let last = self.view.rows.len() - 1;
            let next = match self.ui.picked {
                Some(picked) => picked.saturating_add_signed(lines).min(last),
                None if lines > 1 => last,
                None => 0,
            };
            self.ui.picked = Some(next);
            return;
        }
        let lines = if self.ui.screen == Screen::Journal {
            -lines
        } else {
            lines
        };
        self.ui.scroll = self.ui.scroll.saturating_add_signed(lines).min(self.ui.reach);
    }

    fn details(&mut self) {
        if self.ui.screen == Screen::Sheet && !self.view.rows.is_empty() {
            self.ui.picked = self.ui.picked.or(Some(0));
            self.ui.details = !self.ui.details;
        }
    }
}

/// Adds to a note what is harmless in it, up to the longest text that is kept.
fn append(note: &mut String, text: &str) {
    let room = MAX_TEXT.saturating_sub(note.chars().count());
    let text = harmless(text, MAX_TEXT);
    note.extend(text.chars().take(room));
}

//! The console's own state: what is shown, what is picked, what was asked. Pure: keys and messages in, effects out.

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    Ask, Incoming, Options,
    action::{self, Action},
    scene::Scene,
    screen::{self, Screen},
};
use crate::{
    model::{
        event::Body,
        phase::{Cause, Phase},
        text::{Lang, harmless},
        time::{Moment, Span},
    },
    view::{MAX_TEXT, RunView},
};

/// How much longer `e` watches the baseline.
pub(crate) const EXTENSION: Span = Span::seconds(300);
/// After that long without an answer to a recovery, the screen says what to type instead.
pub(crate) const ANSWER: Span = Span::seconds(3);

/// What is to be done after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Ask the keeper.
    Ask(Ask),
    /// Leave the console.
    Leave,
}

/// What is shown and picked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ui {
    pub(crate) screen: Screen,
    /// The picked row of the sheet, counted over all rows.
    pub(crate) picked: Option<usize>,
    pub(crate) details: bool,
    /// Lines scrolled: from the top, on the journal from the end.
    pub(crate) scroll: usize,
    /// How far one may scroll, as the last frame found it.
    pub(crate) reach: usize,
    /// How high the last frame's body was.
    pub(crate) page: usize,
    /// The note being written.
    pub(crate) note: Option<String>,
    pub(crate) message: Option<Message>,
    /// When recovery was asked for.
    pub(crate) asked: Option<Moment>,
    /// Ctrl-C was pressed: the next one leaves.
    interrupted: bool,
    /// The keeper cannot be reached, and why.
    pub(crate) lost: Option<String>,
}

/// Something to tell the person at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    AlreadyRecovering,
    Over,
    ReadOnly,
    PasteIgnored,
    NoteSent,
    ExtensionAsked,
    NotInBaseline,
    NotSent(String),
}

/// The console of one run.
#[derive(Debug, Clone)]
pub struct App {
    view: RunView,
    ui: Ui,
    options: Options,
}

impl App {
    /// A console of a run as it is known so far.
    pub fn new(view: RunView, options: Options) -> Self {
        Self {
            view,
            ui: Ui::default(),
            options,
        }
    }

    /// The run as it is shown.
    pub fn view(&self) -> &RunView {
        &self.view
    }

    /// How it looks.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Why the keeper cannot be reached, if it cannot.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.ui.lost.as_deref()
    }

    /// Shows a screen from its beginning.
    pub fn show(&mut self, screen: Screen) {
        self.ui.screen = screen;
        self.ui.scroll = 0;
        self.ui.details = false;
    }

    /// Takes in what came from the keeper.
    pub fn receive(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::State(view) => {
                self.view = *view;
                self.ui.lost = None;
                self.turn_to_recovery();
            }
            Incoming::Event(event) => {
                let lines = self.view.lines;
                self.view.apply(&event);
                if self.ui.screen == Screen::Journal && self.ui.scroll > 0 {
                    let new = usize::try_from(self.view.lines - lines).unwrap_or(0);
                    self.ui.scroll += new;
                }
                match event.body {
                    Body::Recovering { .. } => self.turn_to_recovery(),
                    Body::Closed(_) if self.ui.screen == Screen::Recovery => self.show(Screen::Sheet),
                    _ => {}
                }
            }
            // The run is over: a keeper that goes away then is not missed.
            Incoming::Lost(_) if self.view.outcome.is_some() => {}
            Incoming::Lost(why) => self.ui.lost = Some(harmless(&why, MAX_TEXT)),
        }
    }

    /// Who looks at the sheet when something goes wrong is shown what is done about it; who looks elsewhere stays.
    fn turn_to_recovery(&mut self) {
        let on = matches!(self.view.phase.phase, Phase::Running | Phase::Recovering);
        let finished = |c: &Cause| matches!(c, Cause::Finished);
        let wanted = self.view.recovering.as_ref().is_some_and(|r| !finished(&r.cause));
        if on && wanted && self.ui.screen == Screen::Sheet {
            self.show(Screen::Recovery);
        }
    }

    /// Takes in a key or a paste. `None` if nothing is to be done.
    pub fn input(&mut self, input: &Input, now: Moment) -> Option<Effect> {
        match input {
            Input::Key(key) if key.kind != KeyEventKind::Release => self.key(key, now),
            Input::Paste(text) => {
                self.paste(text);
                None
            }
            _ => None,
        }
    }

    /// Takes in that something could not be sent.
    pub fn not_sent(&mut self, why: &str) {
        self.ui.message = Some(Message::NotSent(harmless(why, MAX_TEXT)));
    }

    fn key(&mut self, key: &KeyEvent, now: Moment) -> Option<Effect> {
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
    fn paste(&mut self, text: &str) {
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

    /// Draws the whole frame as of `now`.
    pub fn draw(&mut self, buffer: &mut Buffer, now: Moment) {
        let scene = Scene {
            view: &self.view,
            ui: &self.ui,
            options: &self.options,
            now,
        };
        let drawn = screen::draw(&scene, buffer);
        self.ui.reach = drawn.reach;
        self.ui.page = drawn.page;
        self.ui.scroll = self.ui.scroll.min(drawn.reach);
    }

    /// Draws into a new buffer of that size.
    pub fn frame(&mut self, width: u16, height: u16, now: Moment) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        self.draw(&mut buffer, now);
        buffer
    }
}

/// Adds to a note what is harmless in it, up to the longest text that is kept.
fn append(note: &mut String, text: &str) {
    let room = MAX_TEXT.saturating_sub(note.chars().count());
    let text = harmless(text, MAX_TEXT);
    note.extend(text.chars().take(room));
}

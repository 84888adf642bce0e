//! The console's own state: what is shown, what is picked, what was asked. Pure: keys and messages in, effects out.

mod keys;

use crossterm::event::{Event as Input, KeyEventKind};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    Ask, Incoming, Options,
    scene::Scene,
    screen::{self, Screen},
};
use crate::{
    model::{
        event::Body,
        phase::{Cause, Phase},
        said::Said,
        text::harmless,
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
    pub(crate) lost: Option<Said>,
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
    NotSent(Said),
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
    pub(crate) fn lost(&self) -> Option<&Said> {
        self.ui.lost.as_ref()
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
            Incoming::Lost(why) => self.ui.lost = Some(shown(&why)),
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
    pub fn not_sent(&mut self, why: &Said) {
        self.ui.message = Some(Message::NotSent(shown(why)));
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

/// What comes from outside, as it may stand on a screen.
fn shown(why: &Said) -> Said {
    why.map(|text| harmless(text, MAX_TEXT))
}

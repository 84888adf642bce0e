//! The TUI and the plain reporter. They only look at a run and ask its keeper for things; they know the view and the
//! model, and reach the keeper through a [`Link`].

mod action;
mod app;
mod cells;
mod coach;
pub mod plain;
mod scene;
mod screen;
mod terminal;
mod theme;
mod tui;

use std::future::Future;

use jiff::tz::TimeZone;
use ratatui::{buffer::Buffer, layout::Rect};

pub use action::{Action, BINDINGS, Binding};
pub use app::{App, Effect};
pub use plain::{Plain, PlainEnd, PlainOptions};
pub use screen::Screen;
pub use tui::{drive, run};

use crate::{
    model::{
        event::{Event, Outcome},
        said::Said,
        text::Lang,
        time::{Moment, Span},
    },
    view::RunView,
};

/// The way to a run's keeper. The command line adapts the wire to it; tests script it.
pub trait Link: Send {
    /// The next message, or `None` once there will be no more. Dropping the future loses no message.
    fn next(&mut self) -> impl Future<Output = Option<Incoming>> + Send;

    /// Asks the keeper for something.
    ///
    /// # Errors
    /// Why it could not be sent. Nothing is known then about whether the keeper heard it.
    fn send(&mut self, ask: Ask) -> impl Future<Output = Result<(), Said>> + Send;
}

/// What comes from the keeper.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// The run as it stands; replaces what was known.
    State(Box<RunView>),
    /// What has just happened.
    Event(Box<Event>),
    /// The keeper cannot be reached, and why: the first clause is all that a screen has room for. Another may come: a new state
    /// follows then.
    Lost(Said),
}

/// What a console may ask of the keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// Recover, now. The same as often as it is asked.
    Recover,
    /// Recover, because the console that owns the run got this signal.
    Interrupt {
        /// The signal's name.
        signal: &'static str,
    },
    /// Watch the silent baseline for this much longer.
    Extend {
        /// How much longer.
        by: Span,
    },
    /// Keep this note in the journal.
    Note(String),
}

/// Which colours are used. State is always in a word or a sign too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// The terminal's own 16 colours.
    #[default]
    Ansi16,
    /// None: `NO_COLOR` or `--mono`.
    None,
}

/// How the TUI looks and what it may ask.
#[derive(Debug, Clone)]
pub struct Options {
    /// The language.
    pub lang: Lang,
    /// Colours.
    pub colour: Colour,
    /// It only looks: no recovery, no note, no extension.
    pub read_only: bool,
    /// One more line says what is happening and which key to try.
    pub coach: bool,
    /// The clock that counts suspend, the keeper's own.
    pub now: fn() -> Moment,
    /// The time zone of wall times.
    pub zone: TimeZone,
}

/// How looking at a run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The person has left by a key; the run goes on.
    Left,
    /// Nobody meant to leave: a signal, or a terminal that is gone. The run goes on.
    TornAway,
    /// The run is over.
    Ended(Outcome),
    /// The keeper went away for good without an outcome, and why.
    Lost(Said),
}

/// A screen of the run as plain text, `height` lines of at most `width` cells, without colours: for documents and tests.
pub fn render_text(view: &RunView, screen: Screen, width: u16, height: u16, lang: Lang) -> String {
    let options = Options {
        lang,
        colour: Colour::None,
        read_only: false,
        coach: false,
        now: Moment::default,
        zone: TimeZone::UTC,
    };
    let mut app = App::new(view.clone(), options);
    app.show(screen);
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    app.draw(&mut buffer, view.at);
    buffer_text(&buffer)
}

/// The text of a buffer, without the blanks at the ends of lines.
pub fn buffer_text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in buffer.area.top()..buffer.area.bottom() {
        let mut line = String::new();
        let mut x = buffer.area.left();
        while x < buffer.area.right() {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(cells::width(symbol)).unwrap_or(1).max(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

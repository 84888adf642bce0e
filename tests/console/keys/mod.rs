//! Keys, pastes and messages, as they come from a terminal and a keeper.

mod recovering;
mod screens;
mod tiny;
mod typing;

use allclear::{
    console::{App, Colour, Effect, Options, buffer_text},
    model::{text::Lang, time::Moment},
};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};

use crate::story::Story;

const NOW: Moment = Moment(100_000_000);

pub fn options() -> Options {
    Options {
        lang: Lang::En,
        colour: Colour::None,
        read_only: false,
        coach: false,
        now: || NOW,
        zone: jiff::tz::TimeZone::UTC,
    }
}

fn app(story: &Story) -> App {
    App::new(story.view(), options())
}

fn read_only(story: &Story) -> App {
    let options = Options {
        read_only: true,
        ..options()
    };
    App::new(story.view(), options)
}

fn press(app: &mut App, code: KeyCode, modifiers: KeyModifiers) -> Option<Effect> {
    app.input(&Input::Key(KeyEvent::new(code, modifiers)), NOW)
}

fn key(app: &mut App, c: char) -> Option<Effect> {
    press(app, KeyCode::Char(c), KeyModifiers::NONE)
}

fn control(app: &mut App, c: char) -> Option<Effect> {
    press(app, KeyCode::Char(c), KeyModifiers::CONTROL)
}

fn shown(app: &mut App) -> String {
    let now = app.view().at;
    buffer_text(&app.frame(80, 24, now))
}

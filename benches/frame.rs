//! How long a frame of 200×60 takes, for each screen, from the view to the cells. The bound is 2 ms in a release build.
#![allow(missing_docs, clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(
    clippy::disallowed_types,
    reason = "a bench measures the time that the processor takes, not what passes while the machine sleeps"
)]

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use allclear::{
    console::{App, Colour, Options, Screen},
    model::{event::Body, text::Lang, time::Moment},
    view::MAX_LINES,
};
use ratatui::{buffer::Buffer, layout::Rect};
use story::Story;

#[path = "stand/bound.rs"]
mod bound;
#[path = "../tests/console/story/mod.rs"]
mod story;

const BOUND: Duration = Duration::from_millis(2);
const FRAMES: usize = 400;

fn main() -> ExitCode {
    let mut story = Story::recovering();
    for number in 0..MAX_LINES {
        let text = format!(
            "note {number}: a journal that is full, with lines as long as those that a keeper writes"
        );
        story.say(Body::Note {
            by: "chen".into(),
            text,
        });
    }
    let options = Options {
        lang: Lang::Zh,
        colour: Colour::Ansi16,
        read_only: false,
        coach: true,
        now: || Moment(0),
        zone: jiff::tz::TimeZone::UTC,
    };
    let mut app = App::new(story.view(), options);
    let mut buffer = Buffer::empty(Rect::new(0, 0, 200, 60));
    let mut slowest = Duration::ZERO;
    for screen in Screen::ALL {
        app.show(screen);
        let mut times: Vec<Duration> = (0..FRAMES)
            .map(|_| {
                buffer.reset();
                let begin = Instant::now();
                app.draw(&mut buffer, story.now());
                begin.elapsed()
            })
            .collect();
        times.sort();
        let (median, late) = (times[FRAMES / 2], times[FRAMES * 99 / 100]);
        println!("frame 200x60 {screen:?}: median {median:?}, 99% {late:?}");
        slowest = slowest.max(median);
    }
    if cfg!(not(debug_assertions)) {
        println!(
            "slowest {slowest:?} (bound {BOUND:?}: {})",
            bound::word(slowest <= BOUND)
        );
    }
    bound::code()
}

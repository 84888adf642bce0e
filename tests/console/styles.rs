//! Colours: by role, 16 of them, or none.

use allclear::console::{App, Colour, Options, Screen};
use ratatui::{buffer::Buffer, style::Color};

use crate::{keys::options, story::Story};

fn frame(story: &Story, screen: Screen, colour: Colour) -> Buffer {
    let mut app = App::new(story.view(), Options { colour, ..options() });
    app.show(screen);
    app.frame(80, 24, story.now())
}

/// Pieces of each line that have a style of their own, with it.
fn styles(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut run = String::new();
        let mut style = None;
        let mut flush = |run: &mut String, style: Option<ratatui::style::Style>| {
            let text = run.trim();
            if let Some(style) = style.filter(|_| !text.is_empty()) {
                let fg = style.fg.map_or("-".into(), |c| format!("{c:?}"));
                out.push_str(&format!("{y:2} {fg:7} {:?} | {text}\n", style.add_modifier));
            }
            run.clear();
        };
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let now = Some(cell.style());
            if style != now {
                flush(&mut run, style);
                style = now;
            }
            run.push_str(cell.symbol());
        }
        flush(&mut run, style);
    }
    out
}

#[test]
fn a_frame_in_16_colours_and_in_none() {
    insta::assert_snapshot!(
        "colour",
        styles(&frame(&Story::running(), Screen::Sheet, Colour::Ansi16))
    );
    insta::assert_snapshot!(
        "mono",
        styles(&frame(&Story::running(), Screen::Sheet, Colour::None))
    );
}

#[test]
fn without_colours_no_cell_has_one() {
    for (stage, story) in Story::stages() {
        for screen in Screen::ALL {
            let frame = frame(&story, screen, Colour::None);
            let coloured = frame
                .content()
                .iter()
                .find(|c| c.fg != Color::Reset || c.bg != Color::Reset);
            assert_eq!(coloured, None, "{stage} {screen:?}");
        }
    }
}

#[test]
fn nothing_is_red_before_a_fault_and_after_all_clear() {
    for story in [
        Story::preflight(),
        Story::baseline(),
        Story::closed_held(),
        Story::refused(),
    ] {
        for screen in Screen::ALL
            .into_iter()
            .filter(|s| !matches!(s, Screen::Help | Screen::Journal))
        {
            let frame = frame(&story, screen, Colour::Ansi16);
            let red: String = frame
                .content()
                .iter()
                .filter(|c| c.fg == Color::Red)
                .map(|c| c.symbol())
                .collect();
            assert_eq!(red, "", "{screen:?}");
        }
    }
}

#[test]
fn a_live_fault_and_a_leftover_are_red_on_every_screen() {
    for story in [Story::running(), Story::closed_leftover()] {
        for screen in Screen::ALL {
            let frame = frame(&story, screen, Colour::Ansi16);
            let second_line = (0..80).map(|x| &frame[(x, 1)]);
            let red: String = second_line
                .filter(|c| c.fg == Color::Red)
                .map(|c| c.symbol())
                .collect();
            assert!(
                red.contains("LIVE") || red.contains("LEFTOVER"),
                "{screen:?} {red:?}"
            );
        }
    }
}

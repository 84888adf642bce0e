//! The screens in README.md and docs/screens.md are rendered, not typed. With `UPDATE_SCREENS=1` this test writes them.

use std::{fs, path::PathBuf};

use allclear::{
    console::{Screen, render_text},
    model::text::Lang,
    view::RunView,
};

use crate::story::Story;

/// The first size: a terminal over ssh.
const SIZE: (u16, u16) = (80, 24);

fn screens() -> Vec<(&'static str, RunView, Screen, Lang)> {
    let running = || Story::running().view();
    vec![
        ("baseline", Story::baseline().view(), Screen::Sheet, Lang::En),
        ("sheet", running(), Screen::Sheet, Lang::En),
        ("sheet-zh", running(), Screen::Sheet, Lang::Zh),
        ("charts", running(), Screen::Charts, Lang::En),
        ("recovery", Story::recovering().view(), Screen::Recovery, Lang::En),
        ("journal", running(), Screen::Journal, Lang::En),
        ("map", running(), Screen::Map, Lang::En),
        (
            "findings",
            Story::closed_leftover().view(),
            Screen::Findings,
            Lang::En,
        ),
        ("help", running(), Screen::Help, Lang::En),
        ("closed", Story::closed_held().view(), Screen::Sheet, Lang::En),
        (
            "leftover",
            Story::closed_leftover().view(),
            Screen::Sheet,
            Lang::En,
        ),
    ]
}

/// Replaces what stands between `<!-- screen: NAME -->` and the next `<!-- end -->`.
fn with_screens(text: &str) -> (String, usize) {
    let mut out = String::new();
    let mut rest = text;
    let mut filled = 0;
    while let Some(at) = rest.find("<!-- screen: ") {
        let head = rest[at..]
            .find("-->")
            .map(|n| at + n + 3)
            .expect("a mark that is closed");
        let end = head + rest[head..].find("<!-- end -->").expect("an end mark");
        let name = rest[at + "<!-- screen: ".len()..head - 3].trim();
        let (_, view, screen, lang) = screens()
            .into_iter()
            .find(|(known, ..)| *known == name)
            .unwrap_or_else(|| panic!("no screen {name}"));
        let frame = render_text(&view, screen, SIZE.0, SIZE.1, lang);
        let lines: Vec<&str> = frame.lines().map(str::trim_end).collect();
        out.push_str(&rest[..head]);
        out.push_str("\n```text\n");
        out.push_str(lines.join("\n").trim_end());
        out.push_str("\n```\n");
        rest = &rest[end..];
        filled += 1;
    }
    out.push_str(rest);
    (out, filled)
}

#[test]
fn the_screens_in_the_documents_are_those_that_are_drawn() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for (name, at_least) in [("README.md", 3), ("docs/screens.md", 8)] {
        let path = root.join(name);
        let text = fs::read_to_string(&path).expect("the document");
        let (drawn, filled) = with_screens(&text);
        assert!(filled >= at_least, "{name} shows {filled} screens");
        if std::env::var_os("UPDATE_SCREENS").is_some() {
            fs::write(&path, &drawn).expect("the document can be written");
        }
        assert!(
            text == drawn || std::env::var_os("UPDATE_SCREENS").is_some(),
            "{name}: run UPDATE_SCREENS=1 cargo test --test console documents"
        );
    }
}

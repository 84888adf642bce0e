//! Text measured in terminal cells. Chinese characters take two, so nothing here counts characters. Every text passes
//! [`harmless`] on its way to a line, wherever it came from.

use ratatui::{buffer::Buffer, style::Style, text::Span as Text};
use unicode_width::UnicodeWidthStr;

use super::theme::{Role, Theme};
use crate::{
    model::text::{harmless, pieces},
    view::MAX_TEXT,
};

/// The longest text that is wrapped: a command to type must never be cut.
const MAX_WRAPPED: usize = 4_000;

/// How many cells a text takes.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// The text cut to at most `cells`, with a sign if something was cut.
pub(crate) fn cut(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in Text::raw(text).styled_graphemes(Style::default()) {
        let wide = width(grapheme.symbol);
        if used + wide >= cells {
            break;
        }
        out.push_str(grapheme.symbol);
        used += wide;
    }
    if cells > 0 {
        out.push('…');
    }
    out
}

/// The text in lines of at most `cells`, broken at blanks and between Chinese characters, where there are any.
pub(crate) fn wrap(text: &str, cells: usize) -> Vec<String> {
    let text = harmless(text, MAX_WRAPPED);
    let cells = cells.max(2);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in pieces(&text) {
        if used > 0 && used + width(word.trim_end()) > cells {
            lines.push(String::new());
            used = 0;
        }
        if used + width(word) <= cells {
            used += width(word);
            if let Some(line) = lines.last_mut() {
                line.push_str(word);
            }
            continue;
        }
        for grapheme in Text::raw(word).styled_graphemes(Style::default()) {
            let wide = width(grapheme.symbol);
            if used + wide > cells {
                if grapheme.symbol == " " {
                    continue;
                }
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                line.push_str(grapheme.symbol);
            }
            used += wide;
        }
    }
    lines
}

/// One line of the screen, made of pieces with a role each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Strip {
    pieces: Vec<(Role, String)>,
    used: usize,
}

impl Strip {
    /// A line of one piece.
    pub(crate) fn of(role: Role, text: impl AsRef<str>) -> Self {
        Self::default().text(role, text)
    }

    /// How many cells it takes.
    pub(crate) fn width(&self) -> usize {
        self.used
    }

    /// Adds a piece as wide as it is.
    pub(crate) fn text(mut self, role: Role, text: impl AsRef<str>) -> Self {
        let text = harmless(text.as_ref(), MAX_TEXT);
        self.used += width(&text);
        self.pieces.push((role, text));
        self
    }

    /// Adds a column of `cells`: the text cut so that a blank is left before the next one, and filled up.
    pub(crate) fn col(self, role: Role, text: impl AsRef<str>, cells: usize) -> Self {
        let text = cut(&harmless(text.as_ref(), MAX_TEXT), cells.saturating_sub(1));
        let fill = cells - width(&text).min(cells);
        self.text(role, text).gap(fill)
    }

    /// Adds `cells` blanks.
    pub(crate) fn gap(mut self, cells: usize) -> Self {
        if cells > 0 {
            self.used += cells;
            self.pieces.push((Role::Plain, " ".repeat(cells)));
        }
        self
    }

    /// Adds what the console itself has drawn: it is not from outside and may be longer than a text.
    pub(crate) fn drawn(mut self, role: Role, text: String) -> Self {
        self.used += width(&text);
        self.pieces.push((role, text));
        self
    }

    /// Fills up to `cells` with blanks, or cuts to them.
    pub(crate) fn filled(self, cells: usize) -> Self {
        let strip = self.cut_to(cells);
        let fill = cells - strip.used.min(cells);
        strip.gap(fill)
    }

    /// Adds another line's pieces.
    pub(crate) fn join(mut self, other: Strip) -> Self {
        self.used += other.used;
        self.pieces.extend(other.pieces);
        self
    }

    /// This line, and `right` at the end of `total` cells. What is at the right stays whole; the left gives way.
    pub(crate) fn ending_in(self, right: Strip, total: usize) -> Self {
        let room = total.saturating_sub(right.used);
        let left = self.cut_to(room.saturating_sub(1));
        let fill = room - left.used.min(room);
        left.gap(fill).join(right)
    }

    /// This line cut to `cells`.
    pub(crate) fn cut_to(self, cells: usize) -> Self {
        if self.used <= cells {
            return self;
        }
        let mut out = Strip::default();
        for (role, text) in self.pieces {
            let left = cells - out.used;
            let whole = width(&text) <= left;
            let text = cut(&text, left);
            out.used += width(&text);
            out.pieces.push((role, text));
            if !whole {
                break;
            }
        }
        out
    }

    /// This line with every piece in one role.
    pub(crate) fn all(mut self, role: Role) -> Self {
        for piece in &mut self.pieces {
            piece.0 = role;
        }
        self
    }

    /// Puts it at the beginning of line `y`, cut to the buffer's width.
    pub(crate) fn draw(&self, buffer: &mut Buffer, y: u16, theme: Theme) {
        let area = buffer.area;
        if y >= area.bottom() {
            return;
        }
        let mut x = area.left();
        for (role, text) in &self.pieces {
            if x >= area.right() {
                return;
            }
            let room = usize::from(area.right() - x);
            x = buffer.set_stringn(x, y, text, room, theme.style(*role)).0;
        }
    }
}

/// A line across the screen.
pub(crate) fn rule(cells: usize) -> Strip {
    Strip::default().drawn(Role::Dim, "─".repeat(cells))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_character_that_does_not_fit_in_half_is_cut_before() {
        assert_eq!(cut("故障已清", 6), "故障…");
        assert_eq!(cut("故障已清", 8), "故障已清");
        assert_eq!(width(&cut("故障已清", 1)), 1);
        assert_eq!(cut("故障", 0), "");
    }

    #[test]
    fn a_column_is_exactly_as_wide_as_asked() {
        for text in [
            "",
            "abc",
            "故障已清故障已清",
            "a故b障",
            "e\u{301}e\u{301}e\u{301}",
        ] {
            for cells in 0..12 {
                assert_eq!(
                    Strip::default().col(Role::Plain, text, cells).width(),
                    cells,
                    "{text:?} {cells}"
                );
            }
        }
    }

    #[test]
    fn the_right_end_stays_whole_when_the_left_is_too_long() {
        let strip =
            Strip::of(Role::Plain, "a very long left side").ending_in(Strip::of(Role::Plain, "END"), 10);
        let text: String = strip.pieces.iter().map(|(_, t)| t.as_str()).collect();
        assert_eq!((text.as_str(), strip.width()), ("a ver… END", 10));
    }

    #[test]
    fn wrapping_keeps_words_and_breaks_what_has_no_blanks() {
        assert_eq!(wrap("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrap("一二三四五", 4), ["一二", "三四", "五"]);
    }

    #[test]
    fn an_escape_sequence_never_gets_into_a_line() {
        let strip = Strip::of(Role::Plain, "a\u{1b}[2Jb\u{9b}31m");
        assert_eq!(strip.pieces[0].1, "a[2Jb31m");
    }
}

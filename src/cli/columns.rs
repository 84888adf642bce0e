//! Columns on a terminal: a Chinese character takes two cells.

use unicode_width::UnicodeWidthStr;

use crate::model::text::pieces;

/// The text, filled up with blanks to so many cells. A longer one stays whole.
pub fn left(text: &str, cells: usize) -> String {
    format!("{text}{}", blanks(text, cells))
}

/// The text, to the right end of so many cells.
pub fn right(text: &str, cells: usize) -> String {
    format!("{}{text}", blanks(text, cells))
}

/// The text in lines of so many cells, all but the first behind an indent. Words stay whole, so that a long one may
/// stand out on the right.
pub fn wrapped(text: &str, cells: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in pieces(text) {
        if !line.is_empty() && line.width() + word.trim_end().width() > cells {
            let full = std::mem::replace(&mut line, " ".repeat(indent) + word);
            lines.push(full.trim_end().to_owned());
            continue;
        }
        line.push_str(word);
    }
    lines.push(line.trim_end().to_owned());
    lines
}

fn blanks(text: &str, cells: usize) -> String {
    " ".repeat(cells.saturating_sub(text.width()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice_and_nothing_is_cut() {
        assert_eq!(left("验证", 6), "验证  ");
        assert_eq!(right("ab", 4), "  ab");
        assert_eq!(left("longer", 2), "longer");
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(wrapped("验证 通过 了", 9, 0), ["验证 通过", "了"]);
        assert_eq!(wrapped("已清一项，已回读", 9, 1), ["已清一", " 项，已回", " 读"]);
        assert_eq!(wrapped("much-too-long it", 4, 1), ["much-too-long", " it"]);
    }
}

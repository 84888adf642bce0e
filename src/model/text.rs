//! Display texts in two languages. The words are those of the design's word list; ids and verdicts in files and JSON
//! stay English whatever the language, so that tools can rely on them.

use serde::{Deserialize, Serialize};

/// The language of screens and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Simplified Chinese.
    Zh,
}

impl Lang {
    /// Picks the text of this language.
    pub fn pick<'a>(self, en: &'a str, zh: &'a str) -> &'a str {
        match self {
            Lang::En => en,
            Lang::Zh => zh,
        }
    }
}

/// A text that a file gives in one or two languages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Localized {
    /// The English text, or the only one.
    pub en: String,
    /// The Chinese text, if the file has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zh: Option<String>,
}

impl Localized {
    /// A text in one language only.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            en: text.into(),
            zh: None,
        }
    }

    /// The text for `lang`, or the only one there is.
    pub fn get(&self, lang: Lang) -> &str {
        match (lang, &self.zh) {
            (Lang::Zh, Some(zh)) => zh,
            _ => &self.en,
        }
    }
}

/// Something that has a word in both languages.
pub trait Word {
    /// The word in `lang`.
    fn word(&self, lang: Lang) -> &'static str;
}

/// Takes every control character out of a text from outside (escape sequences included) and cuts it to `max`
/// characters, so that it can be printed to a terminal or a log.
pub fn harmless(text: &str, max: usize) -> String {
    let mut out: String = text
        .chars()
        .map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c })
        .filter(|c| !c.is_control() && !is_invisible_direction(*c))
        .take(max)
        .collect();
    if text.chars().count() > max {
        out.push('…');
    }
    out
}

/// Marks that reorder or hide text; a metric title could use them to show something other than it says.
fn is_invisible_direction(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The pieces of a text between which a line may be broken: after a blank, and around Chinese characters, which have none.
/// A closing mark stays with what is before it, an opening one with what follows.
pub fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut before: Option<char> = None;
        let end = rest.char_indices().find_map(|(at, c)| {
            let breaks = before.replace(c).is_some_and(|before| is_break(before, c));
            breaks.then_some(at)
        });
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn is_break(before: char, after: char) -> bool {
    let is_wide =
        |c| matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}');
    let sticks = matches!(before, '（' | '《' | '「' | '“' | '‘')
        || matches!(
            after,
            ' ' | '，' | '。' | '；' | '：' | '、' | '！' | '？' | '）' | '》' | '」' | '”' | '’'
        );
    before == ' ' || ((is_wide(before) || is_wide(after)) && !sticks)
}

/// The nearest of `names` to what was written, whatever its case, if one is near enough to be meant: a slip of the finger
/// (one edit), or a third of the longer text at most. By the distance of Damerau (1964) and Levenshtein (1966).
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    let (distance, name) = names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&written, &name.to_lowercase()), name))
        .min_by_key(|(distance, _)| *distance)?;
    let longest = written.chars().count().max(name.chars().count());
    (distance <= 1 || distance * 3 <= longest).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_direction_marks_do_not_survive() {
        assert_eq!(harmless("a\u{1b}[31mb\u{202e}c\nd", 20), "a[31mbc d");
    }

    #[test]
    fn a_long_text_is_cut_with_a_sign() {
        assert_eq!(harmless("abcdef", 3), "abc…");
    }

    #[test]
    fn a_line_is_broken_at_blanks_and_between_chinese_characters_but_not_before_a_mark() {
        let of = |text| pieces(text).collect::<Vec<_>>();
        assert_eq!(of("1 of 2  gone"), ["1 ", "of ", "2 ", " ", "gone"]);
        assert_eq!(
            of("已清 1 项，（order-0）已回读"),
            ["已", "清 ", "1 ", "项，", "（order-0）", "已", "回", "读"]
        );
        assert_eq!(of(""), Vec::<&str>::new());
    }

    #[test]
    fn the_nearest_name_is_offered_only_when_it_is_near() {
        assert_eq!(nearest("duraton", ["duration", "expect"]), Some("duration"));
        assert_eq!(
            nearest("order_sucess", ["order_p99", "order_success"]),
            Some("order_success")
        );
        assert_eq!(nearest("zebra", ["duration", "expect"]), None);
    }
}

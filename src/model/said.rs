//! Sentences of the program's own, in both languages. The journal keeps both, so that whatever shows it later picks its own;
//! in JSON the English text stands under its own key, as it always has, and the Chinese one beside it with `_zh`.
//!
//! A sentence is written by [`said!`], which asks for both languages. What comes from outside (names, numbers, answers of other
//! systems) stands inside the sentence as it is.

use super::text::Lang;

/// A sentence in both languages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    en: String,
    /// None in journals of versions that had English alone.
    zh: Option<String>,
}

impl Said {
    /// The same sentence in English and in Chinese.
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Self {
        Self {
            en: en.into(),
            zh: Some(zh.into()),
        }
    }

    /// What comes from outside, the same in every language: a name, the text of an error.
    pub fn as_it_is(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(text.clone(), text)
    }

    /// As a record has it: English, and Chinese unless the record is old.
    pub(in crate::model) fn recorded(en: String, zh: Option<String>) -> Self {
        Self { en, zh }
    }

    /// Both texts, as a record has them.
    pub(in crate::model) fn into_recorded(self) -> (String, Option<String>) {
        (self.en, self.zh)
    }

    /// The text in `lang`, or the only one there is.
    pub fn get(&self, lang: Lang) -> &str {
        match (lang, &self.zh) {
            (Lang::Zh, Some(zh)) => zh,
            _ => &self.en,
        }
    }

    /// The English text: for tools, whatever language people read.
    pub fn en(&self) -> &str {
        &self.en
    }

    /// The Chinese text, unless the record that it comes from is old.
    pub(in crate::model) fn zh(&self) -> Option<&str> {
        self.zh.as_deref()
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.en.is_empty()
    }

    /// Both texts, changed in the same way: cut, masked.
    pub fn map(&self, change: impl Fn(&str) -> String) -> Self {
        Self {
            en: change(&self.en),
            zh: self.zh.as_deref().map(change),
        }
    }

    /// Two sentences in one line.
    pub fn and(&self, next: &Said) -> Self {
        Self::sentences([self, next])
    }

    /// Several sentences in one line.
    pub fn sentences<'a>(parts: impl IntoIterator<Item = &'a Said>) -> Self {
        Self::joined(parts, "; ", "；")
    }

    /// Things listed inside a sentence.
    pub fn list<'a>(parts: impl IntoIterator<Item = &'a Said>) -> Self {
        Self::joined(parts, ", ", "，")
    }

    fn joined<'a>(parts: impl IntoIterator<Item = &'a Said>, en: &str, zh: &str) -> Self {
        let parts: Vec<&Said> = parts.into_iter().collect();
        let all = |lang, between| {
            let texts: Vec<&str> = parts.iter().map(|part| part.get(lang)).collect();
            texts.join(between)
        };
        Self::new(all(Lang::En, en), all(Lang::Zh, zh))
    }
}

/// A sentence in English alone, as tests may write it.
#[cfg(test)]
impl From<&str> for Said {
    fn from(en: &str) -> Self {
        Self {
            en: en.to_owned(),
            zh: None,
        }
    }
}

/// A sentence in English and in Chinese, with the same arguments inside both: `said!("{n} gone", "已清 {n} 项")`. Parts that are
/// sentences themselves are named first, and each language has its own text of them:
/// `said!(what = left.what, why; "{what}: {why}", "{what}：{why}")`.
macro_rules! said {
    ($en:literal, $zh:literal $(,)?) => {
        $crate::model::said::Said::new(
            ::std::fmt::format(format_args!($en)),
            ::std::fmt::format(format_args!($zh)),
        )
    };
    ($($part:ident $(= $value:expr)?),+ ; $en:literal, $zh:literal $(,)?) => {{
        $($(let $part = &$value;)?)+
        $crate::model::said::Said::new(
            {
                $(let $part = $part.get($crate::model::text::Lang::En);)+
                ::std::fmt::format(format_args!($en))
            },
            {
                $(let $part = $part.get($crate::model::text::Lang::Zh);)+
                ::std::fmt::format(format_args!($zh))
            },
        )
    }};
}

pub(crate) use said;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_have_the_same_arguments_and_parts() {
        let (n, what) = (3, said!("breaker coupon on order-5", "order-5 上的熔断器 coupon"));
        let left = said!(what, why = said!("still open", "仍断开"); "{n} left: {what}: {why}", "残留 {n} 项：{what}：{why}");
        assert_eq!(left.en(), "3 left: breaker coupon on order-5: still open");
        assert_eq!(left.get(Lang::Zh), "残留 3 项：order-5 上的熔断器 coupon：仍断开");
    }

    #[test]
    fn sentences_and_lists_are_joined_as_each_language_joins_them() {
        let (one, two) = (said!("1 gone", "已清 1 项"), Said::as_it_is("order-0"));
        assert_eq!(one.and(&two).get(Lang::Zh), "已清 1 项；order-0");
        assert_eq!(Said::list([&one, &two]).get(Lang::En), "1 gone, order-0");
        assert_eq!(Said::list([]), Said::new("", ""));
    }

    #[test]
    fn a_sentence_in_english_alone_is_shown_in_english() {
        let old = Said::recorded("1 gone".to_owned(), None);
        assert_eq!(old.get(Lang::Zh), "1 gone");
        assert_eq!(old.map(str::to_uppercase).get(Lang::Zh), "1 GONE");
    }
}

//! Texts to single values: names, durations, rates, shares, sizes, addresses. The unit is never guessed.

mod addresses;
mod numbers;
mod texts;

pub(super) use addresses::{address, socket, url};
pub(super) use numbers::{
    bytes, duration, flag, number, number_and_unit, rate, seconds, share, some_time, whole,
};
pub(super) use texts::{prose, token};

/// Why a text is not the value that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bad {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Where in the text, in bytes, if a part of it is at fault.
    pub at: Option<usize>,
    /// Whether the text holds a secret and may not be shown.
    pub is_secret: bool,
}

impl Bad {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
            at: None,
            is_secret: false,
        }
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    pub fn at(mut self, at: usize) -> Self {
        self.at = Some(at);
        self
    }
}

/// A text cut and cleaned for a message.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", crate::model::text::harmless(text, 60))
}

/// A message on one line, free of control characters.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    crate::model::text::harmless(&words.join(" "), 300)
}

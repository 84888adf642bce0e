//! What is wrong with a file, where, and what to write instead.

use std::{fmt, ops::Range, sync::Arc};

use miette::{LabeledSpan, NamedSource, SourceCode, SourceSpan};
use serde_json::json;

/// Whether a file may be used all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used; what is said is likely to disappoint.
    Warning,
}

impl Severity {
    /// `error` or `warning`, whatever the language.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// The kind of problem. Its code is stable, for tools that read `--json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// Not YAML, or YAML that these files do not use.
    Syntax,
    /// Too large, too deep, too many values.
    TooMuch,
    /// A key that has no meaning there.
    UnknownKey,
    /// A key given twice.
    DuplicateKey,
    /// A key that must be there.
    MissingKey,
    /// Keys that exclude each other.
    Conflict,
    /// A list where a map is meant, and the like.
    WrongType,
    /// A text that cannot be read as what is meant, such as a duration without a unit.
    BadValue,
    /// A name that nothing has.
    UnknownName,
    /// A name that two things have.
    DuplicateName,
    /// The drill could do harm, or could not tell.
    Unsafe,
    /// A row that will probably not be established.
    Weak,
    /// A secret written into the file.
    LiteralSecret,
}

impl Problem {
    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Problem::Syntax => "syntax",
            Problem::TooMuch => "too-much",
            Problem::UnknownKey => "unknown-key",
            Problem::DuplicateKey => "duplicate-key",
            Problem::MissingKey => "missing-key",
            Problem::Conflict => "conflict",
            Problem::WrongType => "wrong-type",
            Problem::BadValue => "bad-value",
            Problem::UnknownName => "unknown-name",
            Problem::DuplicateName => "duplicate-name",
            Problem::Unsafe => "unsafe",
            Problem::Weak => "weak",
            Problem::LiteralSecret => "literal-secret",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Problem::Syntax => "cannot be read from here on",
            Problem::TooMuch => "here",
            Problem::UnknownKey => "not a key here",
            Problem::DuplicateKey => "again",
            Problem::MissingKey => "not in here",
            Problem::Conflict => "one too many or too few",
            Problem::WrongType => "of another type",
            Problem::BadValue => "not understood",
            Problem::UnknownName => "nothing has this name",
            Problem::DuplicateName => "again",
            Problem::Unsafe => "refused",
            Problem::Weak => "look here",
            Problem::LiteralSecret => "hidden",
        }
    }
}

/// One problem of one file.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    /// Whether the file may be used all the same.
    pub severity: Severity,
    /// The kind of problem.
    pub problem: Problem,
    /// What is wrong, in one line.
    pub message: String,
    /// What to write instead, if that is known.
    pub help: Option<String>,
    /// Where, in bytes of the file. `None` if only the key path is known; see [`Diagnostic::located`].
    pub span: Option<Range<usize>>,
    /// Where, as keys and list positions from the top: `steps.0.fault`. Empty if the span says it.
    pub keys: String,
    /// The file's path as shown.
    pub path: String,
    pub(super) source: Option<Arc<NamedSource<String>>>,
}

impl Diagnostic {
    /// Line and column, both from 1; the column counts characters.
    pub fn position(&self) -> Option<(usize, usize)> {
        let (span, source) = (self.span.as_ref()?, self.source.as_ref()?);
        let before = source.inner().get(..span.start)?;
        let line = before.matches('\n').count() + 1;
        let start_of_line = before.rfind('\n').map_or(0, |at| at + 1);
        Some((line, before[start_of_line..].chars().count() + 1))
    }

    /// `{path, line, column, severity, code, message, help}` for `--json`.
    pub fn to_json(&self) -> serde_json::Value {
        let position = self.position();
        json!({
            "path": self.path,
            "line": position.map(|p| p.0),
            "column": position.map(|p| p.1),
            "severity": self.severity.as_str(),
            "code": self.problem.code(),
            "message": self.message,
            "help": self.help,
        })
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl miette::Diagnostic for Diagnostic {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.problem.code()))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_deref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.span.clone()?;
        let label = LabeledSpan::new_with_span(Some(self.problem.label().to_owned()), SourceSpan::from(span));
        Some(Box::new(std::iter::once(label)))
    }
}

/// All errors of one file, at least one, with its warnings; in the file's order.
#[derive(Debug, Clone)]
pub struct Diagnostics {
    /// The path of the file, as shown.
    pub path: String,
    /// The problems.
    pub all: Vec<Diagnostic>,
}

impl Diagnostics {
    /// How many of them are errors.
    pub fn errors(&self) -> usize {
        self.all.iter().filter(|d| d.severity == Severity::Error).count()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors() {
            1 => write!(f, "{}: 1 error", self.path),
            n => write!(f, "{}: {n} errors", self.path),
        }
    }
}

impl std::error::Error for Diagnostics {}

impl miette::Diagnostic for Diagnostics {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.all.iter().map(|d| d as &dyn miette::Diagnostic)))
    }
}

/// The text of a file made fit for a terminal, every byte offset kept: control characters and marks that reorder
/// text are replaced by harmless ones of the same length, and the `hidden` ranges by stars.
pub(super) fn shown(text: &str, hidden: &[Range<usize>]) -> String {
    let mut is_hidden = vec![false; text.len()];
    for range in hidden {
        is_hidden[range.clone()].fill(true);
    }
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            c if is_hidden[at] && !matches!(c, '\n' | '\r') => {
                out.extend(std::iter::repeat_n('*', c.len_utf8()))
            }
            '\n' | '\t' => out.push(c),
            '\r' if text[at + 1..].starts_with('\n') => out.push(c),
            c if c.is_control() && c.len_utf8() == 1 => out.push('?'),
            c if c.is_control() => out.push('·'),
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_no_escapes_and_the_same_offsets() {
        let text = "a\u{1b}[31m \u{202e}b\u{85}\r\nc: hunter2ü";
        let secret = text.find("hunter").unwrap();
        let shown = shown(text, std::slice::from_ref(&(secret..text.len())));
        assert_eq!(shown, "a?[31m \u{fffd}b·\r\nc: *********");
        assert_eq!(shown.len(), text.len());
    }
}

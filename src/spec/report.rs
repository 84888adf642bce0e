//! Collects what is wrong with one file while it is read to its end.

use std::{cell::RefCell, collections::BTreeSet, ops::Range, sync::Arc};

use miette::NamedSource;

use super::{
    Read, Source,
    diagnostic::{Diagnostic, Diagnostics, Problem, Severity, shown},
    tree::{self, Node, Value},
    values::Bad,
};

/// More than this are not shown: the first ones explain the rest.
const MAX_SHOWN: usize = 100;

/// The problems of one file found so far.
pub(super) struct Report<'a> {
    source: &'a Source,
    found: RefCell<Vec<Diagnostic>>,
    hidden: RefCell<Vec<Range<usize>>>,
    may_hold_secrets: bool,
}

impl<'a> Report<'a> {
    /// For a drill or a dashboard.
    pub fn new(source: &'a Source) -> Self {
        Self {
            source,
            found: RefCell::default(),
            hidden: RefCell::default(),
            may_hold_secrets: false,
        }
    }

    /// For a file where a secret may stand that should not.
    pub fn with_secrets(source: &'a Source) -> Self {
        Self {
            may_hold_secrets: true,
            ..Self::new(source)
        }
    }

    /// Reads the file into a tree, or notes why it is none.
    pub fn tree(&self) -> Option<Node> {
        match tree::parse(&self.source.text) {
            Ok(node) => Some(node),
            Err(not) => {
                let problem = if not.too_much {
                    Problem::TooMuch
                } else {
                    Problem::Syntax
                };
                self.note(Severity::Error, problem, Some(not.at), String::new(), not.bad);
                None
            }
        }
    }

    pub fn error(&self, span: &Range<usize>, problem: Problem, bad: Bad) {
        self.note(Severity::Error, problem, Some(span.clone()), String::new(), bad);
    }

    pub fn warn(&self, span: &Range<usize>, problem: Problem, bad: Bad) {
        self.note(Severity::Warning, problem, Some(span.clone()), String::new(), bad);
    }

    /// A text that cannot be read, or exactly the place in it that is at fault.
    pub fn bad_text(&self, node: &Node, text: &str, bad: Bad) {
        let problem = if bad.is_secret || (self.may_hold_secrets && text.contains("-----BEGIN")) {
            self.hide_all(node);
            Problem::LiteralSecret
        } else {
            Problem::BadValue
        };
        let span = match bad.at {
            Some(at) => self.part(node, text, at),
            None => node.span.clone(),
        };
        self.error(&span, problem, bad);
    }

    /// Never shows these bytes of the file.
    pub fn hide(&self, span: &Range<usize>) {
        self.hidden.borrow_mut().push(span.clone());
    }

    /// Hides a value that was not read, in a file that may hold secrets: its key may be a misspelt `password`.
    pub fn hide_unread(&self, node: &Node) {
        if self.may_hold_secrets {
            self.hide_all(node);
        }
    }

    /// Never shows any value below this node.
    pub fn hide_all(&self, node: &Node) {
        match &node.value {
            Value::Null => {}
            Value::Text { .. } => self.hide(&node.span),
            Value::List(items) => items.iter().for_each(|item| self.hide_all(item)),
            Value::Map(entries) => entries.iter().for_each(|entry| self.hide_all(&entry.value)),
        }
    }

    /// The line of a place, from 1.
    pub fn line(&self, span: &Range<usize>) -> usize {
        self.source.text[..span.start].matches('\n').count() + 1
    }

    pub fn has_errors(&self) -> bool {
        self.found.borrow().iter().any(|d| d.severity == Severity::Error)
    }

    /// The value with its warnings, or every problem if one is an error.
    pub fn finish<T>(self, value: Option<T>) -> Result<Read<T>, Diagnostics> {
        let hidden = self.hidden.into_inner();
        let text = shown(&self.source.text, &hidden);
        let source = Arc::new(NamedSource::new(&self.source.path, text));
        let mut all = self.found.into_inner();
        for diagnostic in &mut all {
            diagnostic.source = Some(Arc::clone(&source));
        }
        all.sort_by_key(|d| (d.span.as_ref().map(|s| s.start), d.severity));
        let mut seen = BTreeSet::new();
        all.retain(|d| seen.insert((d.span.as_ref().map(|s| (s.start, s.end)), d.message.clone())));
        all.truncate(MAX_SHOWN);
        let has_errors = all.iter().any(|d| d.severity == Severity::Error);
        match value {
            Some(value) if !has_errors => Ok(Read { value, warnings: all }),
            _ => Err(Diagnostics {
                path: self.source.path.clone(),
                all,
            }),
        }
    }

    fn note(&self, severity: Severity, problem: Problem, span: Option<Range<usize>>, keys: String, bad: Bad) {
        self.found.borrow_mut().push(Diagnostic {
            severity,
            problem,
            message: bad.message,
            help: bad.help,
            span,
            keys,
            path: self.source.path.clone(),
            source: None,
        });
    }

    /// The byte of the file where byte `at` of a scalar's text stands, if the text stands there as it is.
    fn part(&self, node: &Node, text: &str, at: usize) -> Range<usize> {
        let raw = &self.source.text[node.span.clone()];
        let skip = match raw.strip_prefix(['\'', '"']) {
            _ if raw == text => 0,
            Some(rest) if rest.starts_with(text) => 1,
            _ => return node.span.clone(),
        };
        let start = (node.span.start + skip + at).min(node.span.end);
        let width = text[at.min(text.len())..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        start..start + width
    }
}

/// Gives a diagnostic that knows only its keys the place where they stand, or where the nearest key above them does.
pub(super) fn locate(mut diagnostic: Diagnostic, source: &Source) -> Diagnostic {
    let Ok(tree) = tree::parse(&source.text) else {
        return diagnostic;
    };
    let mut node = &tree;
    let mut keys = diagnostic.keys.split('.');
    while let Some(key) = keys.next() {
        // One fault stands under `fault`, several under `faults`.
        let single = (key == "faults" && node.get(key).is_none())
            .then(|| node.get("fault"))
            .flatten();
        let next = match single {
            Some(fault) => {
                keys.next();
                Some(fault)
            }
            None => node.get(key),
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    let first_line = source.text[node.span.clone()].lines().next().map_or(0, str::len);
    diagnostic.span = Some(node.span.start..node.span.start + first_line);
    diagnostic.path = source.path.clone();
    diagnostic.source = Some(Arc::new(NamedSource::new(&source.path, shown(&source.text, &[]))));
    diagnostic
}

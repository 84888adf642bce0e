//! Reads one node of a tree as one thing: a single value, a list, a map of names, a word.

use std::collections::BTreeMap;

use super::{
    diagnostic::Problem,
    names::meant,
    report::Report,
    shape::{Form, Shape},
    tree::{Entry, Node, Value},
    values::{Bad, quoted},
};
use crate::model::ids::NotAName;

/// The table of a form that is a map.
pub(super) fn map_shape(form: &Form) -> Option<&'static Shape> {
    match form {
        Form::Map(shape) => Some(shape),
        Form::Either(forms) => forms.iter().find_map(map_shape),
        _ => None,
    }
}

/// A single value of a form.
pub(super) fn one<T>(
    report: &Report,
    node: &Node,
    form: &Form,
    read: impl Fn(&str) -> Result<T, Bad>,
) -> Option<T> {
    match &node.value {
        Value::Text { text, .. } => read(text).map_err(|bad| report.bad_text(node, text, bad)).ok(),
        other => {
            report.error(&node.span, Problem::WrongType, expected(form, other));
            None
        }
    }
}

/// The items of a list.
pub(super) fn items<'a>(report: &Report, node: &'a Node) -> Vec<&'a Node> {
    match &node.value {
        Value::List(items) => items.iter().collect(),
        other => {
            report.error(
                &node.span,
                Problem::WrongType,
                Bad::new(format!("a list is expected, not {}", called(other)))
                    .help("write `[a, b]`, or `- a` on a line of its own"),
            );
            Vec::new()
        }
    }
}

/// The entries of a map of names, each name once.
pub(super) fn named<'a>(report: &Report, node: &'a Node) -> Vec<&'a Entry> {
    entries(report, node, "a map of names").map_or_else(Vec::new, |entries| first_ones(report, entries))
}

/// A checked name.
pub(super) fn name<T>(text: &str, new: impl Fn(&str) -> Result<T, NotAName>) -> Result<T, Bad> {
    new(text).map_err(|error| {
        let said = error.to_string();
        match said.split_once(": ") {
            Some((what, how)) => Bad::new(what).help(how),
            None => Bad::new(said),
        }
    })
}

/// One of the words of a form.
pub(super) fn word(form: &Form, text: &str) -> Result<String, Bad> {
    let words = words(form);
    if words.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(Bad::new(format!("{} is not one of the words here", quoted(text)))
            .help(meant(text, "words", words)))
    }
}

fn words(form: &Form) -> Vec<&'static str> {
    match form {
        Form::Word(words) => words.iter().map(|(word, _)| *word).collect(),
        Form::Either(forms) => forms.iter().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn entries<'a>(report: &Report, node: &'a Node, name: &str) -> Option<&'a [Entry]> {
    match &node.value {
        Value::Map(entries) => Some(entries),
        other => {
            report.hide_unread(node);
            report.error(
                &node.span,
                Problem::WrongType,
                Bad::new(format!("{name} is a map, not {}", called(other))).help("write `key: value`"),
            );
            None
        }
    }
}

/// The first entry of each key; repeated ones are noted.
pub(super) fn first_ones<'a>(report: &Report, entries: &'a [Entry]) -> Vec<&'a Entry> {
    let mut seen: BTreeMap<&str, &Entry> = BTreeMap::new();
    let mut firsts = Vec::new();
    for entry in entries {
        if let Some(first) = seen.get(entry.key.as_str()) {
            report.hide_unread(&entry.value);
            report.error(
                &entry.key_span,
                Problem::DuplicateKey,
                Bad::new(format!(
                    "{} is given twice; first in line {}",
                    quoted(&entry.key),
                    report.line(&first.key_span)
                )),
            );
        } else {
            seen.insert(&entry.key, entry);
            firsts.push(entry);
        }
    }
    firsts
}

fn called(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Text { .. } => "a single value",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
    }
}

fn expected(form: &Form, found: &Value) -> Bad {
    let bad = Bad::new(format!("{} is expected, not {}", form.expected(), called(found)));
    match form {
        Form::One(scalar) => bad.help(format!("such as `{}`", scalar.example())),
        _ => bad,
    }
}

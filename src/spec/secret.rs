//! Secrets: only the place of one may stand in a file. What looks like the secret itself is refused and never shown.

use super::{
    diagnostic::Problem,
    fields::Fields,
    report::Report,
    shapes::config::SECRET_FILE,
    tree::{Node, Value},
    values::{self, Bad, quoted},
};
use crate::model::environment::SecretRef;

/// The place of a secret: `${NAME}` or `{file: PATH}`.
pub(super) fn read(fields: &Fields, key: &str) -> Option<SecretRef> {
    let node = fields.node(key)?;
    match &node.value {
        Value::Text { text, .. } => match variable(text) {
            Some(name) => Some(SecretRef::Env(name.to_owned())),
            None => {
                literal(fields.report, node, key);
                None
            }
        },
        Value::Map(_) => {
            let file = Fields::open(fields.report, node, &SECRET_FILE)?.one("file", values::token)?;
            Some(SecretRef::File(file))
        }
        Value::List(_) | Value::Null => {
            fields.report.hide_all(node);
            let bad = Bad::new(format!("`{key}` is `${{NAME}}` or `{{file: PATH}}`"));
            fields.report.error(&node.span, Problem::WrongType, bad);
            None
        }
    }
}

/// Notes a secret that stands in the file itself, and hides it.
fn literal(report: &Report, node: &Node, key: &str) {
    report.hide_all(node);
    let bad = Bad::new(format!("`{key}` holds a secret itself")).help(
        "write `\"${NAME}\"` and set that environment variable, or `{file: PATH}`; then change the secret: it has been in a file",
    );
    report.error(&node.span, Problem::LiteralSecret, bad);
}

/// The name in `${NAME}`.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    let fits = name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    fits.then_some(name)
}

/// Notes headers that carry a secret by their nature, and hides them.
pub(super) fn no_secret_headers(fields: &Fields, key: &str, help: &str) {
    for entry in fields
        .named(key)
        .into_iter()
        .filter(|entry| is_secret_header(&entry.key))
    {
        fields.report.hide_all(&entry.value);
        let bad = Bad::new(format!("header {} holds a secret", quoted(&entry.key))).help(help);
        fields
            .report
            .error(&entry.value.span, Problem::LiteralSecret, bad);
    }
}

/// Whether a header carries a secret by its nature.
pub(super) fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "authorization",
        "cookie",
        "token",
        "api-key",
        "apikey",
        "secret",
        "password",
    ]
    .iter()
    .any(|word| name.contains(word))
}

/// Hides what stands after a key that sounds like a secret's, and the deeper lines below it: for a file that cannot be
/// read at all.
pub(super) fn hide_by_line(report: &Report, text: &str) {
    const WORDS: [&str; 7] = [
        "password",
        "passwd",
        "token",
        "bearer",
        "secret",
        "authorization",
        "-----begin",
    ];
    let mut start = 0;
    let mut hidden_below: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let lower = line.to_ascii_lowercase();
        let depth = line.len() - line.trim_start().len();
        let from = WORDS
            .iter()
            .filter_map(|word| Some(lower.find(word)? + word.len()))
            .min();
        if hidden_below.is_some_and(|above| depth > above || line.trim().is_empty()) {
            report.hide(&(start..start + line.len()));
        } else {
            hidden_below = from.map(|_| depth);
        }
        if let Some(from) = from {
            report.hide(&(start + from..start + line.len()));
        }
        if let Some(at) = line.rfind('@') {
            report.hide(&(start..start + at));
        }
        start += line.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_variable_is_the_place_of_a_secret() {
        assert_eq!(variable("${PROM_TOKEN}"), Some("PROM_TOKEN"));
        for text in [
            "hunter2",
            "$TOKEN",
            "x${TOKEN}",
            "${TOKEN}x",
            "${}",
            "${a b}",
            "${1A}",
            "${A:-x}",
        ] {
            assert_eq!(variable(text), None, "{text}");
        }
    }
}

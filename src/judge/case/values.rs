//! Single values of a case, and what is said about a wrong one.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::CaseError;

/// A text without control characters: names are shown on terminals.
pub(super) fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// The line with `NaN` and `Infinity` outside of strings put into quotes.
pub(super) fn quoted(line: &str) -> Cow<'_, str> {
    if !line.contains("NaN") && !line.contains("Infinity") {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len() + 16);
    let (mut rest, mut is_string) = (line, false);
    while let Some(c) = rest.chars().next() {
        let token = ["-Infinity", "Infinity", "NaN"]
            .into_iter()
            .find(|token| rest.starts_with(token));
        match (token, is_string) {
            (Some(token), false) => {
                out.push_str(&format!("\"{token}\""));
                rest = &rest[token.len()..];
                continue;
            }
            _ if c == '"' => is_string = !is_string,
            _ if c == '\\' && is_string => {
                out.push(c);
                rest = &rest[1..];
            }
            _ => {}
        }
        if let Some(c) = rest.chars().next() {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Cow::Owned(out)
}

/// A key's value, `null` being none.
pub(super) fn given<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

pub(super) fn needed<'a>(
    map: &'a Map<String, Value>,
    key: &'static str,
    wanted: &'static str,
) -> Result<&'a Value, CaseError> {
    map.get(key).ok_or_else(|| CaseError::Missing {
        at: key.into(),
        wanted,
    })
}

pub(super) fn wrong(at: impl Into<String>, found: &Value, wanted: &'static str) -> CaseError {
    CaseError::Wrong {
        at: at.into(),
        found: shown(&found.to_string()),
        wanted,
    }
}

/// Foreign text, cleaned and shortened for an error.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 40;
    let text = clean(text);
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// A number, or the text of a number that JSON cannot write.
pub(super) fn extended(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "nan" => Some(f64::NAN),
            "inf" | "+inf" | "infinity" | "+infinity" => Some(f64::INFINITY),
            "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn count(case: &Map<String, Value>, key: &'static str) -> Result<Option<usize>, CaseError> {
    given(case, key)
        .map(|value| {
            value
                .as_u64()
                .and_then(|count| usize::try_from(count).ok())
                .ok_or_else(|| wrong(key, value, "a whole number of windows"))
        })
        .transpose()
}

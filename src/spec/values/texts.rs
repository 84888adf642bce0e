//! Texts: prose, and words without white space.

use super::Bad;

/// A text for people: one paragraph, no control characters.
pub(in crate::spec) fn prose(text: &str) -> Result<String, Bad> {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if joined.is_empty() {
        return Err(Bad::new("the text is empty"));
    }
    if joined.chars().count() > 2000 {
        return Err(Bad::new("the text is longer than 2,000 characters"));
    }
    Ok(crate::model::text::harmless(&joined, 2000))
}

/// A text for machines: no control characters, not empty, at most 4,096 bytes.
pub(in crate::spec) fn token(text: &str) -> Result<String, Bad> {
    match text {
        "" => Err(Bad::new("the text is empty")),
        _ if text.len() > 4096 => Err(Bad::new("the text is longer than 4,096 bytes")),
        _ => match text.find(char::is_control) {
            Some(at) => Err(Bad::new("a control character").at(at)),
            None => Ok(text.to_owned()),
        },
    }
}

//! What a rule needs to see of a call: its headers by name.

use std::collections::{BTreeMap, HashMap};

use axum::http::HeaderName;

/// Looks up a header of a call. Names are given in lower case.
pub trait Headers {
    /// The value of the header, if the call carries it and it is text.
    fn header(&self, name: &str) -> Option<&str>;

    /// Whether the call carries this mark.
    fn carries(&self, mark: &Mark) -> bool {
        self.header(&mark.name) == Some(mark.value.as_str())
    }
}

/// A header that a rule's calls must carry, looked at as seldom as possible while a call waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    name: String,
    /// `None` if it can be no name of an HTTP header.
    parsed: Option<HeaderName>,
    value: String,
}

impl Mark {
    /// A header of this name with exactly this value.
    pub fn new(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            parsed: HeaderName::from_bytes(name.as_bytes()).ok(),
            value: value.to_owned(),
        }
    }
}

impl Headers for axum::http::HeaderMap {
    fn header(&self, name: &str) -> Option<&str> {
        self.get(name)?.to_str().ok()
    }

    /// The name is not parsed again for each call, and a value need not be text to be compared.
    fn carries(&self, mark: &Mark) -> bool {
        mark.parsed
            .as_ref()
            .and_then(|name| self.get(name))
            .is_some_and(|value| value.as_bytes() == mark.value.as_bytes())
    }
}

impl Headers for [(&str, &str)] {
    fn header(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }
}

impl<const N: usize> Headers for [(&str, &str); N] {
    fn header(&self, name: &str) -> Option<&str> {
        self.as_slice().header(name)
    }
}

impl Headers for HashMap<String, String> {
    fn header(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

impl Headers for BTreeMap<String, String> {
    fn header(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

/// A call without headers.
impl Headers for () {
    fn header(&self, _name: &str) -> Option<&str> {
        None
    }
}

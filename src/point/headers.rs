//! What a rule needs to see of a call: its headers by name.

use std::collections::{BTreeMap, HashMap};

/// Looks up a header of a call. Names are given in lower case.
pub trait Headers {
    /// The value of the header, if the call carries it and it is text.
    fn header(&self, name: &str) -> Option<&str>;
}

impl Headers for axum::http::HeaderMap {
    fn header(&self, name: &str) -> Option<&str> {
        self.get(name)?.to_str().ok()
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

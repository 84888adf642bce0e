//! Requests that a step sends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::time::Span;

/// Requests that a step sends by itself, at a steady rate whatever the answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Where to. `{service}` names an address of the environment.
    pub url: String,
    /// The HTTP method.
    pub method: LoadMethod,
    /// Headers of each request.
    pub headers: BTreeMap<String, String>,
    /// Requests a second.
    pub rate: f64,
    /// Requests in flight at most; more are dropped and counted.
    pub max_concurrent: u32,
    /// Each request's time limit.
    pub timeout: Span,
}

/// How a request of a load is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LoadMethod {
    /// It reads.
    Get,
    /// It writes.
    Post,
}

impl Load {
    /// What a person calls it: `load 200/s`.
    pub fn describe(&self) -> String {
        format!("load {}/s", self.rate)
    }
}

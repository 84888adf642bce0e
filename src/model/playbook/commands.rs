//! Commands of the user's own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{ids::CommandName, recovery::StepId, time::Span};

/// A step of the user's own: a program or a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Its name.
    pub name: CommandName,
    /// The step it follows.
    pub after: StepId,
    /// What is done, and how it is proved.
    pub how: How,
    /// A program's process group is killed after that; a request is asked again until then.
    pub timeout: Span,
}

impl Command {
    /// Whether something proves that it worked.
    pub fn has_check(&self) -> bool {
        match &self.how {
            How::Run { check, .. } => check.is_some(),
            How::Http { check, .. } => check.is_some(),
        }
    }
}

/// What a step of the user's own does. `{instance}`, `{host}` or `{target}` in it: once for each target instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A program.
    Run {
        /// The program and its arguments; no shell. Relative paths start at the drill file's folder.
        run: Vec<String>,
        /// Exit code 0 proves that it worked.
        check: Option<Vec<String>>,
    },
    /// A request.
    Http {
        /// PUT, POST or DELETE.
        method: Method,
        /// Where.
        url: String,
        /// The body: a text is sent as it is, anything else as JSON.
        body: Option<Value>,
        /// What proves that it worked.
        check: Option<HttpCheck>,
    },
}

/// A method that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Put.
    Put,
    /// Post.
    Post,
    /// Delete.
    Delete,
}

impl Method {
    /// As it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Put => "PUT",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}

/// What a `GET` must answer to prove that a request worked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpCheck {
    /// Where.
    pub url: String,
    /// The status.
    pub status: u16,
    /// What stands in the JSON answer, by JSON pointer (RFC 6901).
    pub json: BTreeMap<String, Value>,
}

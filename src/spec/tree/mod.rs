//! A YAML text as a tree of nodes that know where they stand. Only what the three files need: one document, text
//! keys, no tags, no merge keys, aliases within the limits.

mod builder;

pub(super) use builder::parse;

use std::ops::Range;

use super::values::Bad;

/// The largest file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting of maps and lists.
pub const MAX_DEPTH: usize = 32;

/// The most values in a file, those behind aliases counted each time.
pub const MAX_NODES: usize = 10_000;

/// A value and where it stands, in bytes.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub span: Range<usize>,
    pub value: Value,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    /// Nothing after the colon, `~` or `null`.
    Null,
    /// A text; `plain` if it was written without quotes.
    Text { text: String, plain: bool },
    /// A list.
    List(Vec<Node>),
    /// A map, in the file's order, repeated keys included.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub key: String,
    pub key_span: Range<usize>,
    pub value: Node,
}

/// Why a text is not such a tree, and where.
#[derive(Debug)]
pub(super) struct NotATree {
    pub at: Range<usize>,
    pub too_much: bool,
    pub bad: Bad,
}

impl Node {
    fn count(&self) -> usize {
        1 + match &self.value {
            Value::Null | Value::Text { .. } => 0,
            Value::List(items) => items.iter().map(Node::count).sum(),
            Value::Map(entries) => entries.iter().map(|e| e.value.count()).sum(),
        }
    }

    fn depth(&self) -> usize {
        match &self.value {
            Value::Null | Value::Text { .. } => 0,
            Value::List(items) => 1 + items.iter().map(Node::depth).max().unwrap_or(0),
            Value::Map(entries) => 1 + entries.iter().map(|e| e.value.depth()).max().unwrap_or(0),
        }
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.value),
            Value::List(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// As JSON, by YAML's core schema.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Text { text, plain: true } => match text.as_str() {
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                number if is_json_number(number) => {
                    serde_json::from_str(number).unwrap_or_else(|_| Json::String(text.clone()))
                }
                _ => Json::String(text.clone()),
            },
            Value::Text { text, .. } => Json::String(text.clone()),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Map(entries) => entries
                .iter()
                .map(|e| (e.key.clone(), e.value.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
}

fn is_json_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}

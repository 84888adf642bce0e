//! From the parser's events to a tree.

use std::{collections::BTreeMap, ops::Range};

use serde_saphyr::granit_parser::{self as granit, Event, Parser, ScalarStyle};

use super::{Entry, MAX_BYTES, MAX_DEPTH, MAX_NODES, Node, NotATree, Value};
use crate::spec::values::{Bad, one_line};

/// A map or list whose end has not come yet.
struct Open {
    node: Node,
    anchor: usize,
    /// A key that waits for its value.
    key: Option<(String, Range<usize>)>,
}

struct Builder<'a> {
    text: &'a str,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
}

/// Reads a text into a tree.
pub(in crate::spec) fn parse(text: &str) -> Result<Node, NotATree> {
    if text.len() > MAX_BYTES {
        return Err(too_much(
            0..0,
            format!("the file has {} bytes; at most {MAX_BYTES} are read", text.len()),
        ));
    }
    let mut builder = Builder {
        text,
        open: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
        root: None,
    };
    for step in Parser::new_from_str(text) {
        let (event, span) = step.map_err(|error| syntax(text, &error))?;
        let span = builder.within(&span);
        builder.take(event, span)?;
    }
    builder
        .root
        .ok_or_else(|| refuse(0..0, "the file is empty", None))
}

impl Builder<'_> {
    /// The bytes of a span, cut to the text and to whole characters, without the line breaks at its end.
    fn within(&self, span: &granit::Span) -> Range<usize> {
        let start = floor(self.text, span.start.byte_offset().unwrap_or(0));
        let end = floor(self.text, span.end.byte_offset().unwrap_or(start)).max(start);
        start..start + self.text[start..end].trim_end().len()
    }

    fn take(&mut self, event: Event<'_>, span: Range<usize>) -> Result<(), NotATree> {
        let tagged = event.tag().is_some();
        if tagged {
            return Err(refuse(span, "tags (`!name`) are not used in these files", None));
        }
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                let value = match text.as_ref() {
                    "" | "~" | "null" | "Null" | "NULL" if plain => Value::Null,
                    _ => Value::Text {
                        text: text.into_owned(),
                        plain,
                    },
                };
                self.place(Node { span, value }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.start(span, Value::List(Vec::new()), anchor),
            Event::MappingStart(_, anchor, _) => self.start(span, Value::Map(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(mut open) => {
                    open.node.span.end = open.node.span.end.max(span.end);
                    let node = trimmed(self.text, open.node);
                    self.place(node, open.anchor)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(node) => {
                    let (count, depth) = (node.count(), node.depth());
                    self.nodes += count - 1;
                    if self.nodes > MAX_NODES || self.open.len() + depth > MAX_DEPTH {
                        return Err(too_much(
                            span,
                            format!(
                                "with this alias the file has over {MAX_NODES} values or is over {MAX_DEPTH} levels deep"
                            ),
                        ));
                    }
                    let node = node.clone();
                    self.place(node, 0)
                }
                None => Err(refuse(span, "an alias inside the value that it stands for", None)),
            },
            Event::DocumentStart(..) if self.root.is_some() => Err(refuse(
                span,
                "a second document: one file holds one document",
                None,
            )),
            _ => Ok(()),
        }
    }

    fn start(&mut self, span: Range<usize>, value: Value, anchor: usize) -> Result<(), NotATree> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_much(span, format!("over {MAX_DEPTH} levels deep")));
        }
        if self.waits_for_key() {
            return Err(refuse(span, "a key must be a text, not a map or a list", None));
        }
        self.open.push(Open {
            node: Node { span, value },
            anchor,
            key: None,
        });
        Ok(())
    }

    fn waits_for_key(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| open.key.is_none() && matches!(open.node.value, Value::Map(_)))
    }

    fn place(&mut self, node: Node, anchor: usize) -> Result<(), NotATree> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(too_much(node.span, format!("over {MAX_NODES} values")));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.node.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(entries), Some((key, key_span))) => {
                entries.push(Entry {
                    key,
                    key_span,
                    value: node,
                });
            }
            (Value::Map(_), None) => match node.value {
                Value::Text { text, plain } if plain && text == "<<" => {
                    return Err(refuse(
                        node.span,
                        "merge keys (`<<`) are not used in these files",
                        None,
                    ));
                }
                Value::Text { text, .. } => open.key = Some((text, node.span)),
                _ => return Err(refuse(node.span, "a key must be a text", None)),
            },
            _ => {}
        }
        Ok(())
    }
}

/// A block map or list ends where its last value ends, not where the next line begins.
fn trimmed(text: &str, mut node: Node) -> Node {
    let last = match &node.value {
        Value::Map(entries) => entries.last().map(|e| e.value.span.end.max(e.key_span.end)),
        Value::List(items) => items.last().map(|n| n.span.end),
        _ => None,
    };
    if let Some(last) = last {
        let rest = &text[last.min(node.span.end)..node.span.end];
        if !rest.ends_with(['}', ']']) {
            node.span.end = last.max(node.span.start);
        }
    }
    node
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

pub(super) fn too_much(at: Range<usize>, message: String) -> NotATree {
    NotATree {
        at,
        too_much: true,
        bad: Bad::new(message),
    }
}

fn refuse(at: Range<usize>, message: &str, help: Option<&str>) -> NotATree {
    let mut bad = Bad::new(message);
    bad.help = help.map(str::to_owned);
    NotATree {
        at,
        too_much: false,
        bad,
    }
}

fn syntax(text: &str, error: &granit::ScanError) -> NotATree {
    let at = floor(text, error.marker().byte_offset().unwrap_or(text.len()));
    let end = at
        + text[at..]
            .chars()
            .next()
            .filter(|c| !c.is_whitespace())
            .map_or(0, char::len_utf8);
    let start_of_line = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let line = text[start_of_line..].lines().next().unwrap_or_default();
    let help = if line.contains("${") {
        Some("inside `{…}` and `[…]` a `${NAME}` needs quotes: \"${NAME}\"")
    } else if line.contains('\t') {
        Some("YAML indents with spaces, not with tabs")
    } else {
        None
    };
    let message: String = format!("not YAML: {}", error.info());
    refuse(at..end, &one_line(&message), help)
}

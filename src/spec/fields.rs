//! Walks a tree by the tables of `shape`: notes unknown, repeated and missing keys and values of another type, and goes on.

use super::{
    diagnostic::Problem,
    names::meant,
    report::Report,
    shape::{Form, Key, Need, Rule, Shape},
    single::{entries, first_ones, items, map_shape, name, named, one, word},
    tree::{Entry, Node, Value},
    values::{Bad, quoted},
};
use crate::model::{
    ids::NotAName,
    text::{Localized, nearest},
    time::Span,
};

/// A map that has been compared with its table.
pub(super) struct Fields<'a> {
    pub report: &'a Report<'a>,
    pub node: &'a Node,
    shape: &'static Shape,
    entries: Vec<&'a Entry>,
}

impl<'a> Fields<'a> {
    /// Compares a map with its table. `None` if it is no map.
    pub fn open(report: &'a Report<'a>, node: &'a Node, shape: &'static Shape) -> Option<Self> {
        let entries = entries(report, node, shape.name)?;
        let fields = Self {
            report,
            node,
            shape,
            entries: first_ones(report, entries),
        };
        for entry in &fields.entries {
            fields.check_known(entry);
        }
        for key in shape.keys {
            fields.check_present(key);
        }
        shape.rules.iter().for_each(|rule| fields.check_rule(rule));
        Some(fields)
    }

    /// Whether the file has the key.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// The value of a key, if the file has it and it is not empty.
    pub fn node(&self, key: &str) -> Option<&'a Node> {
        self.entry(key)
            .map(|entry| &entry.value)
            .filter(|node| !matches!(node.value, Value::Null))
    }

    /// Where a key stands; the whole map if the file does not have it.
    pub fn place(&self, key: &str) -> std::ops::Range<usize> {
        self.entry(key)
            .map_or_else(|| self.head(), |entry| entry.key_span.clone())
    }

    /// A single value.
    pub fn one<T>(&self, key: &str, read: impl Fn(&str) -> Result<T, Bad>) -> Option<T> {
        one(self.report, self.node(key)?, &self.form(key), read)
    }

    /// A single value, or the table's default if the file does not have the key.
    pub fn one_or<T>(&self, key: &str, read: impl Fn(&str) -> Result<T, Bad>) -> Option<T> {
        if self.has(key) {
            return self.one(key, read);
        }
        match self.known(key)?.need {
            Need::Default(text) => read(text).ok(),
            Need::Required | Need::Optional => None,
        }
    }

    /// One of the table's words.
    pub fn word(&self, key: &str) -> Option<String> {
        self.one_or(key, |text| word(&self.form(key), text))
    }

    /// A name.
    pub fn name<T>(&self, key: &str, new: impl Fn(&str) -> Result<T, NotAName>) -> Option<T> {
        self.one(key, |text| name(text, &new))
    }

    /// A map, compared with its own table.
    pub fn map(&self, key: &str) -> Option<Fields<'a>> {
        let shape = map_shape(&self.form(key))?;
        Fields::open(self.report, self.node(key)?, shape)
    }

    /// The items of a list.
    pub fn list(&self, key: &str) -> Vec<&'a Node> {
        self.node(key)
            .map(|node| items(self.report, node))
            .unwrap_or_default()
    }

    /// Whether the file has a list there, with nothing in it.
    pub fn is_empty_list(&self, key: &str) -> bool {
        self.node(key)
            .is_some_and(|node| matches!(&node.value, Value::List(items) if items.is_empty()))
    }

    /// The items of a list of single values.
    pub fn ones<T>(&self, key: &str, read: impl Fn(&str) -> Result<T, Bad>) -> Vec<T> {
        let form = match self.form(key) {
            Form::List(item) => *item,
            form => form,
        };
        self.list(key)
            .into_iter()
            .filter_map(|node| one(self.report, node, &form, &read))
            .collect()
    }

    /// The items of a list of maps, compared with their table.
    pub fn maps(&self, key: &str) -> Vec<Fields<'a>> {
        let Form::List(Form::Map(shape)) = self.form(key) else {
            return Vec::new();
        };
        self.list(key)
            .into_iter()
            .filter_map(|node| Fields::open(self.report, node, shape))
            .collect()
    }

    /// The entries of a map of names, each name once.
    pub fn named(&self, key: &str) -> Vec<&'a Entry> {
        self.node(key)
            .map(|node| named(self.report, node))
            .unwrap_or_default()
    }

    /// A text in one or two languages.
    pub fn localized(&self, key: &str) -> Option<Localized> {
        let node = self.node(key)?;
        if matches!(node.value, Value::Map(_)) {
            let languages = Fields::open(self.report, node, &super::shapes::LANGUAGES)?;
            let zh = languages.one("zh", super::values::prose);
            return Some(Localized {
                en: languages.one("en", super::values::prose)?,
                zh,
            });
        }
        one(self.report, node, &self.form(key), super::values::prose).map(Localized::plain)
    }

    /// A duration that is not zero, or the table's default.
    pub fn some_time(&self, key: &str) -> Option<Span> {
        self.one_or(key, super::values::some_time)
    }

    /// Notes an error at a key's value, or at the map if the file does not have the key.
    pub fn wrong(&self, key: &str, problem: Problem, bad: Bad) {
        let span = self
            .node(key)
            .map_or_else(|| self.place(key), |node| node.span.clone());
        self.report.error(&span, problem, bad);
    }

    /// Notes a warning at a key's value.
    pub fn doubtful(&self, key: &str, bad: Bad) {
        let span = self
            .node(key)
            .map_or_else(|| self.place(key), |node| node.span.clone());
        self.report.warn(&span, Problem::Weak, bad);
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        debug_assert!(
            self.shape.key(key).is_some(),
            "`{key}` is not in the table of {}",
            self.shape.name
        );
        self.entries.iter().find(|entry| entry.key == key).copied()
    }

    fn known(&self, key: &str) -> Option<&'static Key> {
        self.shape.key(key)
    }

    fn form(&self, key: &str) -> Form {
        self.known(key).map_or(Form::Any, |key| key.form)
    }

    fn check_known(&self, entry: &Entry) {
        if self.known(&entry.key).is_none() {
            let names = self.shape.keys.iter().map(|key| key.name);
            self.report.hide_unread(&entry.value);
            self.report.error(
                &entry.key_span,
                Problem::UnknownKey,
                Bad::new(format!(
                    "unknown key {} in {}",
                    quoted(&entry.key),
                    self.shape.name
                ))
                .help(meant(&entry.key, "keys here", names)),
            );
        }
    }

    fn check_present(&self, key: &Key) {
        let found = self.entries.iter().find(|entry| entry.key == key.name);
        match (found, key.need) {
            (None, Need::Required) if !self.misspelt(key.name) && !self.chose_another() => self.report.error(
                &self.head(),
                Problem::MissingKey,
                Bad::new(format!("{} lacks `{}`", self.shape.name, key.name))
                    .help(format!("`{}`: {}", key.name, key.doc)),
            ),
            (Some(entry), _)
                if matches!(entry.value.value, Value::Null) && !matches!(key.form, Form::Any) =>
            {
                self.report.error(
                    &entry.key_span,
                    Problem::WrongType,
                    Bad::new(format!("`{}` has no value", key.name)).help(match key.form {
                        Form::Map(shape) if shape.keys.iter().all(|k| matches!(k.need, Need::Optional)) => {
                            format!("write `{}: {{}}` if nothing more is meant", key.name)
                        }
                        form => format!("{} is expected", form.expected()),
                    }),
                );
            }
            _ => {}
        }
    }

    /// Whether the only key of the table was passed over for an unknown one: then that error says enough.
    fn chose_another(&self) -> bool {
        self.shape.keys.len() == 1 && !self.entries.is_empty()
    }

    /// Whether an unknown key looks like this one: then that error says enough.
    fn misspelt(&self, name: &str) -> bool {
        self.entries
            .iter()
            .filter(|entry| self.known(&entry.key).is_none())
            .any(|entry| nearest(&entry.key, self.shape.keys.iter().map(|k| k.name)) == Some(name))
    }

    fn check_rule(&self, rule: &Rule) {
        let (names, least, most) = match rule {
            Rule::Choose(names) => (names, 1, 1),
            Rule::Exclude(names) => (names, 0, 1),
            Rule::NeedSome(names) => (names, 1, names.len()),
        };
        let there: Vec<&&Entry> = self
            .entries
            .iter()
            .filter(|e| names.contains(&e.key.as_str()))
            .collect();
        let listed = || {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        };
        if there.len() < least && !names.iter().any(|name| self.misspelt(name)) {
            self.report.error(
                &self.head(),
                Problem::MissingKey,
                Bad::new(format!("{} needs one of {}", self.shape.name, listed())),
            );
        }
        if there.len() > most {
            let (first, second) = (there[0], there[1]);
            self.report.error(
                &second.key_span,
                Problem::Conflict,
                Bad::new(format!(
                    "`{}` and `{}` exclude each other in {}",
                    first.key, second.key, self.shape.name
                ))
                .help(format!("keep one of {}", listed())),
            );
        }
    }

    /// Where a map begins: its first key, so that the mark is one line at most.
    fn head(&self) -> std::ops::Range<usize> {
        match self.entries.first() {
            Some(entry) if self.node.span.contains(&entry.key_span.start) => entry.key_span.clone(),
            _ => self.node.span.clone(),
        }
    }
}

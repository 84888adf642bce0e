//! JSON as RocketMQ writes it: keys may be numbers or whole objects, which no JSON has. Every value keeps the text it was read
//! from, so that a config can be sent back as it came.

use std::borrow::Cow;

/// How deep values may lie in one another.
const DEEPEST: u32 = 32;
/// Values in one answer: bounds what a text of brackets alone could make us keep.
const MOST: u32 = 1_500_000;

/// What is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Torn(pub(super) &'static str);

/// A value, and the text it was read from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node<'a> {
    pub(super) text: &'a str,
    pub(super) value: Value<'a>,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    /// As it is written: no digit is lost.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    /// In the order of the text.
    Map(Vec<(Node<'a>, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// Reads a whole text.
    pub(super) fn read(text: &'a str) -> Result<Self, Torn> {
        let mut reader = Reader {
            text,
            at: 0,
            left: MOST,
        };
        let node = reader.value(DEEPEST)?;
        reader.blank();
        match reader.at == text.len() {
            true => Ok(node),
            false => Err(Torn("something follows the JSON")),
        }
    }

    pub(super) fn entries(&self) -> &[(Node<'a>, Node<'a>)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn items(&self) -> &[Node<'a>] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// What stands under a key, which no map may have twice.
    pub(super) fn get(&self, key: &str) -> Option<&Node<'a>> {
        let mut found = self.entries().iter().filter(|(k, _)| k.is_named(key));
        let first = found.next();
        match found.next() {
            None => first.map(|(_, value)| value),
            Some(_) => None,
        }
    }

    pub(super) fn text_of(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn number_of(&self, key: &str) -> Option<i64> {
        match &self.get(key)?.value {
            Value::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// Whether a key is this text, or this number: quoted or not.
    pub(super) fn is_named(&self, name: &str) -> bool {
        match &self.value {
            Value::Text(text) => text == name,
            Value::Number(digits) => *digits == name,
            _ => false,
        }
    }

    /// The same value, whatever the order of its keys.
    pub(super) fn same(&self, other: &Node<'_>) -> bool {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(one), Value::Bool(two)) => one == two,
            (Value::Number(one), Value::Number(two)) => one == two,
            (Value::Text(one), Value::Text(two)) => one == two,
            (Value::List(one), Value::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(a, b)| a.same(b))
            }
            (Value::Map(one), Value::Map(two)) => {
                let has =
                    |key: &Node<'_>, value: &Node<'_>| two.iter().any(|(k, v)| k.same(key) && v.same(value));
                one.len() == two.len() && one.iter().all(|(key, value)| has(key, value))
            }
            _ => false,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    left: u32,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.blank();
        let is_next = self.next() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: u32) -> Result<Node<'a>, Torn> {
        self.left = self.left.checked_sub(1).ok_or(Torn("too many values"))?;
        let depth = depth.checked_sub(1).ok_or(Torn("too deep"))?;
        self.blank();
        let begin = self.at;
        let value = match self.next() {
            Some(b'{') => self.map(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => self.word()?,
            None => return Err(Torn("it ends too early")),
        };
        Ok(Node {
            text: &self.text[begin..self.at],
            value,
        })
    }

    fn map(&mut self, depth: u32) -> Result<Value<'a>, Torn> {
        self.at += 1;
        let mut entries = Vec::new();
        if self.takes(b'}') {
            return Ok(Value::Map(entries));
        }
        loop {
            let key = self.value(depth)?;
            if !matches!(key.value, Value::Text(_) | Value::Number(_) | Value::Map(_)) {
                return Err(Torn("a key that is none"));
            }
            if !self.takes(b':') {
                return Err(Torn("a key without a value"));
            }
            entries.push((key, self.value(depth)?));
            if self.takes(b'}') {
                return Ok(Value::Map(entries));
            }
            if !self.takes(b',') {
                return Err(Torn("entries without a comma"));
            }
        }
    }

    fn list(&mut self, depth: u32) -> Result<Value<'a>, Torn> {
        self.at += 1;
        let mut items = Vec::new();
        if self.takes(b']') {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth)?);
            if self.takes(b']') {
                return Ok(Value::List(items));
            }
            if !self.takes(b',') {
                return Err(Torn("items without a comma"));
            }
        }
    }

    fn word(&mut self) -> Result<Value<'a>, Torn> {
        let words = [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ];
        for (word, value) in words {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(Torn("not JSON"))
    }

    fn number(&mut self) -> Result<Value<'a>, Torn> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c))
            .unwrap_or(rest.len());
        let digits = &rest[..end];
        self.at += end;
        match serde_json::from_str::<serde_json::Number>(digits) {
            Ok(_) => Ok(Value::Number(digits)),
            Err(_) => Err(Torn("a number that is none")),
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Torn> {
        let rest = self.rest();
        let mut escaped = false;
        for (at, byte) in rest.bytes().enumerate().skip(1) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    self.at += at + 1;
                    let plain = &rest[1..at];
                    if !plain.contains('\\') && !plain.contains(|c: char| c < ' ') {
                        return Ok(Cow::Borrowed(plain));
                    }
                    let read = serde_json::from_str(&rest[..=at]);
                    return read.map(Cow::Owned).map_err(|_| Torn("a text that is none"));
                }
                _ => {}
            }
        }
        Err(Torn("a text without an end"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_may_be_objects_and_bare_numbers() {
        let text =
            r#"{"table":{{"queue":1,"topic":"a\"b"}:{"offset":12345678901234567890}},"addrs":{0:"x"}}"#;
        let node = Node::read(text).unwrap();
        let (key, value) = &node.get("table").unwrap().entries()[0];
        assert_eq!(key.text, r#"{"queue":1,"topic":"a\"b"}"#);
        assert_eq!(key.text_of("topic"), Some("a\"b"));
        assert_eq!(value.get("offset").unwrap().text, "12345678901234567890");
        assert_eq!(node.get("addrs").unwrap().text_of("0"), Some("x"));
    }

    #[test]
    fn what_is_half_or_doubled_is_refused() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "{1}",
            "[1,]",
            "{true:1}",
            "01",
            "1 2",
            r#""a"#,
            "\"\u{1}\"",
            "nul",
            &deep,
        ] {
            assert!(Node::read(text).is_err(), "{text}");
        }
        assert!(Node::read(r#"{"a":1,"a":2}"#).unwrap().get("a").is_none());
    }

    #[test]
    fn values_are_the_same_whatever_the_order_of_their_keys() {
        let same = |one: &str, two: &str| Node::read(one).unwrap().same(&Node::read(two).unwrap());
        assert!(same(
            r#"{"a":1,"b":[true,null]}"#,
            r#"{ "b":[true,null], "a":1 }"#
        ));
        assert!(!same(r#"{"a":1}"#, r#"{"a":1.0}"#));
        assert!(!same(r#"{"a":1}"#, r#"{"a":1,"b":2}"#));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"[\[\]{}:,"0-9a-z\\ .eE+-]{0,80}"#) {
            let _ = Node::read(&text);
        }

        #[test]
        fn what_is_json_is_read_as_json(value in json()) {
            let text = value.to_string();
            let node = Node::read(&text).unwrap();
            prop_assert_eq!(node.text, text.as_str());
            prop_assert_eq!(back(&node), value);
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value as Json;
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            ".{0,12}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::btree_map("[a-z\"\\\\]{0,4}", inner, 0..4)
                    .prop_map(|map| Json::Object(map.into_iter().collect())),
            ]
        })
    }

    fn back(node: &Node<'_>) -> serde_json::Value {
        use serde_json::Value as Json;
        match &node.value {
            Value::Null => Json::Null,
            Value::Bool(yes) => Json::from(*yes),
            Value::Number(digits) => serde_json::from_str(digits).unwrap(),
            Value::Text(text) => Json::from(text.as_ref()),
            Value::List(items) => items.iter().map(back).collect(),
            Value::Map(entries) => {
                let entry = |(key, value): &(Node<'_>, Node<'_>)| match &key.value {
                    Value::Text(key) => (key.to_string(), back(value)),
                    _ => unreachable!("JSON has texts as keys"),
                };
                Json::Object(entries.iter().map(entry).collect())
            }
        }
    }
}

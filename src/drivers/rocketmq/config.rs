//! A group's config: the broker's own text, of which one word is changed.

use super::json::{Node, Torn, Value};

/// The largest config that is kept.
const LARGEST: usize = 64 << 10;
const SWITCH: &str = "consumeEnable";
const ATTRIBUTES: &str = "attributes";

/// A consumer group's config at one broker, whole, as the broker told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupConfig {
    text: String,
    enabled: bool,
}

impl GroupConfig {
    /// Reads a config: one that does not say whether the group may consume is none.
    ///
    /// # Errors
    /// Why it is none.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let node = Node::read(text).map_err(|Torn(why)| why)?;
        Self::of(&node)
    }

    pub(super) fn of(node: &Node<'_>) -> Result<Self, &'static str> {
        if node.text.len() > LARGEST {
            return Err("a config of more than 64 KiB");
        }
        match node.get(SWITCH).map(|switch| &switch.value) {
            Some(Value::Bool(enabled)) => Ok(Self {
                text: node.text.to_owned(),
                enabled: *enabled,
            }),
            _ => Err("a config that does not say `consumeEnable` once"),
        }
    }

    /// The broker's own text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the group may consume.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The same config with the group switched on or off: every other byte stays.
    pub fn switched(&self, on: bool) -> Self {
        Self {
            text: self.replaced(SWITCH, if on { "true" } else { "false" }),
            enabled: on,
        }
    }

    /// What a broker is sent to come to this config. Attributes are told as changes, so that none is told: what is not named
    /// stays.
    pub fn sent(&self) -> String {
        self.replaced(ATTRIBUTES, "{}")
    }

    /// Whether both say the same, in whatever order.
    pub fn says_the_same(&self, other: &GroupConfig) -> bool {
        match (Node::read(&self.text), Node::read(&other.text)) {
            (Ok(one), Ok(other)) => one.same(&other),
            _ => self.text == other.text,
        }
    }

    fn replaced(&self, key: &str, with: &str) -> String {
        let Ok(node) = Node::read(&self.text) else {
            return self.text.clone();
        };
        let Some(place) = node.get(key).map(|value| value.text) else {
            return self.text.clone();
        };
        let begin = place.as_ptr().addr() - self.text.as_ptr().addr();
        let end = begin + place.len();
        format!("{}{with}{}", &self.text[..begin], &self.text[end..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"attributes":{"a":"b"}, "brokerId":0,"consumeEnable":true,"inner":{"consumeEnable":false},"new":12345678901234567890,"retryMaxTimes":5}"#;

    #[test]
    fn only_the_switch_changes() {
        let config = GroupConfig::read(TEXT).unwrap();
        assert!(config.is_enabled());
        let off = config.switched(false);
        assert_eq!(
            off.text(),
            TEXT.replacen("\"consumeEnable\":true", "\"consumeEnable\":false", 1)
        );
        assert!(!off.is_enabled() && !off.says_the_same(&config));
        assert_eq!(off.switched(true), config);
    }

    #[test]
    fn attributes_are_not_told_again() {
        let sent = GroupConfig::read(TEXT).unwrap().sent();
        assert_eq!(sent, TEXT.replace(r#"{"a":"b"}"#, "{}"));
        let none = r#"{"consumeEnable":true}"#;
        assert_eq!(GroupConfig::read(none).unwrap().sent(), none);
    }

    #[test]
    fn a_config_without_its_switch_is_none() {
        for text in [
            "{}",
            r#"{"consumeEnable":"true"}"#,
            r#"{"consumeEnable":true,"consumeEnable":true}"#,
            "[]",
        ] {
            assert!(GroupConfig::read(text).is_err(), "{text}");
        }
    }
}

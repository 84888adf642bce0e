//! An event as the journal and the socket have it. A warning's body is its English text, for tools; the Chinese one stands beside
//! the body.

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use super::{Body, Event};
use crate::model::{said::Said, time::Moment};

#[derive(Serialize, Deserialize)]
pub(super) struct Record<Body, Text> {
    seq: u64,
    at: Moment,
    wall: Timestamp,
    body: Body,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning_zh: Option<Text>,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Event { seq, at, wall, body } = self;
        let warning_zh = match body {
            Body::Warning(said) => said.zh(),
            _ => None,
        };
        let record = Record {
            seq: *seq,
            at: *at,
            wall: *wall,
            body,
            warning_zh,
        };
        record.serialize(to)
    }
}

impl From<Record<Body, String>> for Event {
    fn from(record: Record<Body, String>) -> Self {
        let body = match record.body {
            Body::Warning(said) => Body::Warning(Said::recorded(said.en().to_owned(), record.warning_zh)),
            body => body,
        };
        Self {
            seq: record.seq,
            at: record.at,
            wall: record.wall,
            body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{said::said, text::Lang};

    #[test]
    fn a_warning_is_its_english_text_and_the_chinese_one_stands_beside_the_body() {
        let event = Event {
            seq: 7,
            at: Moment(3),
            wall: Timestamp::UNIX_EPOCH,
            body: Body::Warning(said!("fault f is gone", "故障 f 已不在")),
        };
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(json["body"]["warning"], "fault f is gone");
        assert_eq!(json["warning_zh"], "故障 f 已不在");
        assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
    }

    #[test]
    fn a_warning_of_a_version_without_chinese_is_read_and_written_as_it_was() {
        let old = r#"{"seq":7,"at":3,"wall":"1970-01-01T00:00:00Z","body":{"warning":"fault f is gone"}}"#;
        let event: Event = serde_json::from_str(old).unwrap();
        let Body::Warning(said) = &event.body else {
            panic!("{event:?}");
        };
        assert_eq!(said.get(Lang::Zh), "fault f is gone");
        assert_eq!(serde_json::to_string(&event).unwrap(), old);
    }
}

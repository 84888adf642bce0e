//! How records of the journal, of JSON and of the socket hold sentences: the English text under the field's own name, for tools, the
//! Chinese one beside it with `_zh`. A record of a version that had English alone is read, and written again, as it was.
//!
//! Each module here is for `#[serde(flatten, with = "…")]` at a field of that name.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::said::Said;

/// A sentence.
macro_rules! sentence {
    ($name:ident, $en:literal, $zh:literal) => {
        pub(crate) mod $name {
            use super::*;

            #[derive(Serialize, Deserialize)]
            struct Record {
                #[serde(rename = $en)]
                en: String,
                #[serde(rename = $zh, default, skip_serializing_if = "Option::is_none")]
                zh: Option<String>,
            }

            pub(crate) fn serialize<S: Serializer>(said: &Said, to: S) -> Result<S::Ok, S::Error> {
                let (en, zh) = said.clone().into_recorded();
                Record { en, zh }.serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Said, D::Error> {
                let Record { en, zh } = Record::deserialize(from)?;
                Ok(Said::recorded(en, zh))
            }
        }
    };
}

sentence!(what, "what", "what_zh");
sentence!(why, "why", "why_zh");
sentence!(text, "text", "text_zh");

/// A sentence of which the English text stands here, and the Chinese one elsewhere in the record.
pub(crate) mod english_alone {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(said: &Said, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(said.en())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Said, D::Error> {
        Ok(Said::recorded(String::deserialize(from)?, None))
    }
}

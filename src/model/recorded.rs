//! How records of the journal, of JSON and of the socket hold sentences: the English text under the field's own name, for tools, the
//! Chinese one beside it with `_zh`. A record of a version that had English alone is read, and written again, as it was.
//!
//! Each module here is for `#[serde(flatten, with = "…")]` at a field of that name.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{said::Said, text::Lang};

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
sentence!(reason, "reason", "reason_zh");
sentence!(before, "before", "before_zh");
sentence!(now, "now", "now_zh");
sentence!(found, "found", "found_zh");
sentence!(detail, "detail", "detail_zh");

/// Several sentences: their texts in each language in the same order.
macro_rules! sentences {
    ($name:ident, $en:literal, $zh:literal $(, $default:ident)?) => {
        pub(crate) mod $name {
            use super::*;

            #[derive(Serialize, Deserialize)]
            struct Record {
                #[serde(rename = $en $(, $default)?)]
                en: Vec<String>,
                #[serde(rename = $zh, default, skip_serializing_if = "Vec::is_empty")]
                zh: Vec<String>,
            }

            pub(crate) fn serialize<S: Serializer>(all: &[Said], to: S) -> Result<S::Ok, S::Error> {
                let texts = |lang| all.iter().map(|said| said.get(lang).to_owned()).collect();
                let english_alone = all.iter().all(|said| said.zh().is_none());
                let record = Record {
                    en: texts(Lang::En),
                    zh: if english_alone { Vec::new() } else { texts(Lang::Zh) },
                };
                record.serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Said>, D::Error> {
                let Record { en, zh } = Record::deserialize(from)?;
                let mut zh = zh.into_iter();
                Ok(en.into_iter().map(|en| Said::recorded(en, zh.next())).collect())
            }
        }
    };
}

sentences!(reasons, "reasons", "reasons_zh");
sentences!(refused, "refused", "refused_zh");
sentences!(cannot_arm, "cannot_arm", "cannot_arm_zh", default);

/// What was looked at, and what was found there: pairs of texts, in each language in the same order.
pub(crate) mod rungs {
    use super::*;

    type Pairs = Vec<(String, String)>;

    #[derive(Serialize, Deserialize)]
    struct Record {
        rungs: Pairs,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rungs_zh: Pairs,
    }

    pub(crate) fn serialize<S: Serializer>(all: &[(Said, Said)], to: S) -> Result<S::Ok, S::Error> {
        let texts = |lang| -> Pairs {
            let both = |(what, found): &(Said, Said)| (what.get(lang).to_owned(), found.get(lang).to_owned());
            all.iter().map(both).collect()
        };
        let english_alone = all
            .iter()
            .all(|(what, found)| what.zh().is_none() && found.zh().is_none());
        let record = Record {
            rungs: texts(Lang::En),
            rungs_zh: if english_alone {
                Vec::new()
            } else {
                texts(Lang::Zh)
            },
        };
        record.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(Said, Said)>, D::Error> {
        let Record { rungs, rungs_zh } = Record::deserialize(from)?;
        let mut zh = rungs_zh.into_iter();
        let both = |(what, found)| {
            let (what_zh, found_zh) = zh.next().unzip();
            (Said::recorded(what, what_zh), Said::recorded(found, found_zh))
        };
        Ok(rungs.into_iter().map(both).collect())
    }
}

/// A sentence of something that may need none.
macro_rules! sentence_if_any {
    ($name:ident, $en:literal, $zh:literal) => {
        pub(crate) mod $name {
            use super::*;

            #[derive(Serialize, Deserialize)]
            struct Record {
                #[serde(rename = $en)]
                en: Option<String>,
                #[serde(rename = $zh, default, skip_serializing_if = "Option::is_none")]
                zh: Option<String>,
            }

            pub(crate) fn serialize<S: Serializer>(said: &Option<Said>, to: S) -> Result<S::Ok, S::Error> {
                let said = said.clone().map(Said::into_recorded);
                let (en, zh) = said.map_or((None, None), |(en, zh)| (Some(en), zh));
                Record { en, zh }.serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Said>, D::Error> {
                let Record { en, zh } = Record::deserialize(from)?;
                Ok(en.map(|en| Said::recorded(en, zh)))
            }
        }
    };
}

sentence_if_any!(why_if_any, "why", "why_zh");
sentence_if_any!(next_if_any, "next", "next_zh");

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::said::said;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Refusal {
        #[serde(flatten, with = "super::reasons")]
        reasons: Vec<Said>,
        #[serde(flatten, with = "super::why_if_any")]
        why: Option<Said>,
        n: u64,
    }

    #[test]
    fn sentences_stand_in_two_lists_of_one_order() {
        let refusal = Refusal {
            reasons: vec![said!("too thin", "数据不足"), Said::as_it_is("HTTP 403")],
            why: Some(said!("it moves", "有变动")),
            n: 7,
        };
        let record = serde_json::to_value(&refusal).unwrap();
        let expected = json!({
            "reasons": ["too thin", "HTTP 403"], "reasons_zh": ["数据不足", "HTTP 403"],
            "why": "it moves", "why_zh": "有变动", "n": 7,
        });
        assert_eq!(record, expected);
        assert_eq!(serde_json::from_value::<Refusal>(record).unwrap(), refusal);
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Ladder {
        #[serde(flatten, with = "super::rungs")]
        rungs: Vec<(Said, Said)>,
    }

    #[test]
    fn pairs_of_sentences_stand_in_two_lists_of_one_order() {
        let ladder = Ladder {
            rungs: vec![(said!("hits", "命中"), Said::as_it_is("0"))],
        };
        let record = serde_json::to_value(&ladder).unwrap();
        let expected = json!({ "rungs": [["hits", "0"]], "rungs_zh": [["命中", "0"]] });
        assert_eq!(record, expected);
        assert_eq!(serde_json::from_value::<Ladder>(record).unwrap(), ladder);
        let old = r#"{"rungs":[["hits","0"]]}"#;
        let ladder: Ladder = serde_json::from_str(old).unwrap();
        assert_eq!(ladder.rungs[0].0.get(Lang::Zh), "hits");
        assert_eq!(serde_json::to_string(&ladder).unwrap(), old);
    }

    #[test]
    fn a_record_of_a_version_without_chinese_is_read_and_written_as_it_was() {
        for old in [
            r#"{"reasons":["too thin"],"why":"it moves","n":7}"#,
            r#"{"reasons":[],"why":null,"n":7}"#,
        ] {
            let refusal: Refusal = serde_json::from_str(old).unwrap();
            let in_chinese = refusal.reasons.first().map(|said| said.get(Lang::Zh));
            assert!(in_chinese.is_none_or(|text| text == "too thin"));
            assert_eq!(serde_json::to_string(&refusal).unwrap(), old);
        }
        assert!(serde_json::from_str::<Refusal>(r#"{"n":7}"#).is_err());
    }
}

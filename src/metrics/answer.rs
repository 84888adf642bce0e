//! What Prometheus' query API answers: <https://prometheus.io/docs/prometheus/latest/querying/api/>.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::exposition::number;
use crate::model::sample::SourceMs;

/// An answer of `/api/v1/query`, good or bad.
#[derive(Debug, Deserialize)]
pub(super) struct Body {
    pub(super) status: String,
    pub(super) data: Option<Data>,
    #[serde(rename = "errorType")]
    pub(super) error_type: Option<String>,
    pub(super) error: Option<String>,
    pub(super) warnings: Option<Vec<String>>,
    pub(super) infos: Option<Vec<String>>,
}

/// The result of a query.
#[derive(Debug, Deserialize)]
pub(super) struct Data {
    /// `vector`, `matrix`, `scalar` or `string`.
    #[serde(rename = "resultType")]
    pub(super) kind: String,
    pub(super) result: Vec<Item>,
}

/// One element of a result: a series of a vector or a matrix, or the time or the text of a scalar or a string.
#[derive(Debug, PartialEq)]
pub(super) enum Item {
    Series(Series),
    Number(f64),
    Text(String),
}

/// A series of a vector or a matrix.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Series {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) samples: Vec<(SourceMs, f64)>,
}

impl Data {
    /// The series, if there are only series.
    pub(super) fn series(self) -> Option<Vec<Series>> {
        let series = self.result.into_iter().map(|item| match item {
            Item::Series(series) => Some(series),
            Item::Number(_) | Item::Text(_) => None,
        });
        series.collect()
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a series, a number or a text")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Item, E> {
        Ok(Item::Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Item, E> {
        Ok(Item::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Item, E> {
        Ok(Item::Number(value as f64))
    }

    fn visit_str<E>(self, text: &str) -> Result<Item, E> {
        Ok(Item::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
        let mut series = Series::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "metric" => series.labels = map.next_value()?,
                "value" => series.samples = vec![map.next_value::<Sample>()?.0],
                "values" => series.samples = map.next_value::<Samples>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Item::Series(series))
    }
}

/// Seconds since the Unix epoch in milliseconds; `None` before 1970 and after the year 9999, which is a broken clock
/// or a broken server.
pub(super) fn millis(seconds: f64) -> Option<SourceMs> {
    let possible = (0.0..253_402_300_800.0).contains(&seconds);
    possible.then(|| (seconds * 1000.0).round() as SourceMs)
}

/// `[1435781430.781, "1"]`
struct Sample((SourceMs, f64));

impl<'de> Deserialize<'de> for Sample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (seconds, text) = <(f64, &'de str)>::deserialize(deserializer)?;
        let value = number(text).ok_or_else(|| de::Error::custom("a sample that is not a number"))?;
        let time = millis(seconds).ok_or_else(|| de::Error::custom("a sample of an impossible time"))?;
        Ok(Self((time, value)))
    }
}

struct Samples(Vec<(SourceMs, f64)>);

impl<'de> Deserialize<'de> for Samples {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(SamplesVisitor).map(Self)
    }
}

struct SamplesVisitor;

impl<'de> Visitor<'de> for SamplesVisitor {
    type Value = Vec<(SourceMs, f64)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("samples")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut out = Vec::new();
        while let Some(Sample(sample)) = seq.next_element()? {
            out.push(sample);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Body {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_matrix_is_read_with_its_times_in_milliseconds() {
        let body = read(
            r#"{"status":"success","data":{"result":[{"metric":{"a":"b"},"values":[[1.001,"1"],[2,"NaN"],[3.5,"+Inf"]]}],"resultType":"matrix"}}"#,
        );
        let series = body.data.unwrap().series().unwrap().remove(0);
        assert_eq!(series.labels["a"], "b");
        assert_eq!(series.samples[0], (1001, 1.0));
        assert!(series.samples[1].1.is_nan());
        assert_eq!(series.samples[2], (3500, f64::INFINITY));
    }

    #[test]
    fn scalars_and_strings_are_no_series() {
        for text in [
            r#"{"resultType":"scalar","result":[1.5,"2"]}"#,
            r#"{"resultType":"string","result":[1,"up"]}"#,
        ] {
            let data: Data = serde_json::from_str(text).unwrap();
            assert_eq!(data.series(), None);
        }
    }

    #[test]
    fn a_native_histogram_is_a_series_without_samples() {
        let text = r#"{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"3","buckets":[[0,"1","2","3"]]}]}]}"#;
        let data: Data = serde_json::from_str(text).unwrap();
        assert_eq!(data.series().unwrap(), [Series::default()]);
    }

    #[test]
    fn a_sample_of_an_impossible_time_is_an_error() {
        for time in ["-1", "1e300", "253402300800"] {
            let text =
                format!(r#"{{"resultType":"vector","result":[{{"metric":{{}},"value":[{time},"1"]}}]}}"#);
            assert!(serde_json::from_str::<Data>(&text).is_err(), "{time}");
        }
    }

    #[test]
    fn a_sample_that_is_no_number_is_an_error() {
        let text = r#"{"resultType":"vector","result":[{"metric":{},"value":[1,"many"]}]}"#;
        assert!(serde_json::from_str::<Data>(text).is_err());
    }
}
